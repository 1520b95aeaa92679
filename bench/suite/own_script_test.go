package suite

import (
	"net/http"
	"strings"
	"testing"

	"troupe/bench/loadgen"
	"troupe/bench/server"
)

// A player that cannot connect gets an error that suggests the limit of connections per address. A rejected login does
// not (testdata/script/bench_own.txtar of cmd/troupe).
func TestWhoCannotConnectIsToldOfTheAddress(t *testing.T) {
	t.Parallel()
	swarm, err := loadgen.New(loadgen.Config{Addr: "127.0.0.1:none"})
	if err != nil {
		t.Fatal(err)
	}
	r := &run{o: Options{Against: &server.Remote{Client: http.DefaultClient}}}
	err = r.told(swarm.Connect(t.Context(), []loadgen.Login{{PlayerSessionID: "psess-1"}}), server.Attach(*r.o.Against))
	if err == nil || !strings.Contains(err.Error(), `the players of one address: see "A running host"`) || strings.Contains(err.Error(), "onPlayerConnect") {
		t.Errorf("%v", err)
	}
}

// The failure of a script is reported in one line.
func TestFailureOfAScript(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]server.ScriptErrors{
		"your script failed once, the first: game.js:1: gone": {Count: 1, First: "game.js:1: gone"},
		"your script failed 12 times":                         {Count: 12},
	} {
		if got := failure(e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
