package barerelay

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"

	"troupe/bench/loadgen"
)

// The swarm and the bare relay prove each other: everything sent is delivered to the whole room.
func TestRelayDeliversToWholeRooms(t *testing.T) {
	t.Parallel()
	r := newRelay()
	swarm, err := loadgen.New(loadgen.Config{Addr: listen(t, r), Hz: 100, PayloadBytes: 200})
	if err != nil {
		t.Fatal(err)
	}
	for room := range 2 {
		var wave []loadgen.Login
		for i := range 3 {
			wave = append(wave, loadgen.Login{Room: room, PlayerSessionID: "room-" + strconv.Itoa(room) + "-" + strconv.Itoa(i)})
		}
		if err := swarm.Connect(t.Context(), wave); err != nil {
			t.Fatal(err)
		}
	}
	const runs = 2 // each with a result of its own
	var all loadgen.Result
	for range runs {
		res, err := swarm.Run(t.Context(), loadgen.Plan{Measure: 50 * time.Millisecond, Drain: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if res.Sent != 30 || res.Expected != 90 || res.Delivered != 90 || res.Other != 0 || res.SendErrors != 0 {
			t.Errorf("%+v", res)
		}
		all.Add(res)
	}
	if lost, first := swarm.Disconnects(); lost != 0 {
		t.Errorf("%d players lost: %v", lost, first)
	}
	if err := swarm.Close(); err != nil {
		t.Error(err)
	}
	if all.Sent != 30*runs || all.Delivered != 90*runs {
		t.Errorf("all runs: %+v", all)
	}
	if got := r.totals(); got.Inbound != 30*runs || got.Delivered != 90*runs {
		t.Errorf("the relay counted %+v", got)
	}
}

func TestRelayRefusesUnknownIDs(t *testing.T) {
	t.Parallel()
	swarm, err := loadgen.New(loadgen.Config{Addr: listen(t, newRelay())})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"", "psess-1", "room-1", "room-x-1", "room-1-x"} {
		if err := swarm.Connect(t.Context(), []loadgen.Login{{PlayerSessionID: id}}); err == nil {
			t.Errorf("%q logged in", id)
		}
	}
}

func TestStatsOverHTTP(t *testing.T) {
	t.Parallel()
	res, err := http.Get("http://" + listen(t, newRelay()) + "/stats")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var s stats
	if err := json.NewDecoder(res.Body).Decode(&s); err != nil || s.Mallocs == 0 || s.Goroutines == 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

// listen serves r on a free port for the length of the test.
func listen(t *testing.T, r *relay) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- r.serve(ln) }()
	t.Cleanup(func() {
		if err := errors.Join(ln.Close(), <-served); err != nil {
			t.Error(err)
		}
	})
	return ln.Addr().String()
}
