package console

import (
	"strings"
	"testing"
)

// The versions that run are counted by fleet and version, the newest first.
func TestVersionsThatRun(t *testing.T) {
	w := newWorld(t, false)
	w.console.o.Backend = aFew{}
	a := w.want(200, "", "GET", "/admin/v1/scripts", "")
	const want = `"running":[` +
		`{"fleetId":"fleet-dev","scriptVersion":"2 (new)","gameSessions":3,"players":6,"newest":"2027-01-15T08:00:02Z"},` +
		`{"fleetId":"fleet-dev","scriptVersion":"1 (old)","gameSessions":2,"players":4,"newest":"2027-01-15T08:00:01Z"}]`
	if got := strings.TrimSpace(a.Body.String()); !strings.Contains(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}
