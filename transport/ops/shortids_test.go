package ops_test

import (
	"net/http"
	"strings"
	"testing"

	"troupe/actors/script"
	"troupe/messages"
)

// TestLogsForThoseWhoOnlyLook: a game may write the ids of its players; whoever may take no
// seat reads as much of them as tells players apart.
func TestLogsForThoseWhoOnlyLook(t *testing.T) {
	p := newLogPages(t)
	const id, other = "psess-1c8fb791-1d94-724e-ba32-b1392cf40942", "psess-54458D19-B894-0DC6-F8A5-9B831E45576D"
	p.running.Write(script.Line{Text: "welcome " + id + other + ", " + strings.Repeat("x", 3000) + id})
	p.running.Write(script.Line{Text: "psess-not-an-id " + other})
	p.running.Close()
	get := func(short bool, change func(string) string) (int, string) {
		t.Helper()
		u, ok := p.logs.URL(&messages.GameSession{ID: running, Terminated: p.now}, short)
		if !ok {
			t.Fatal("no URL")
		}
		status, body, _ := p.get(change(strings.TrimPrefix(u, "http://base")))
		return status, body
	}
	text := func(u string) string { return u + "&format=text" }
	status, full := get(false, text)
	if status != http.StatusOK || strings.Count(full, id) != 2 || strings.Count(full, other) != 2 {
		t.Fatalf("%d: %q", status, full)
	}
	want := strings.ReplaceAll(strings.ReplaceAll(full, id, id[:14]), other, other[:14])
	if status, short := get(true, text); status != http.StatusOK || short != want {
		t.Errorf("%d: %q\nwant %q", status, short, want)
	}
	zipped := func(u string) string { return u }
	if status, archive := get(true, zipped); status != http.StatusOK || unzipped(t, archive, "running.log") != want {
		t.Errorf("%d: %q\nwant %q", status, unzipped(t, archive, "running.log"), want)
	}
	for _, ids := range []string{"", "&ids=", "&ids=full"} {
		if status, text := get(true, func(u string) string { return strings.Replace(u, "&ids=short", ids, 1) }); status != http.StatusForbidden {
			t.Errorf("with %q instead: %d %q", ids, status, text)
		}
	}
}
