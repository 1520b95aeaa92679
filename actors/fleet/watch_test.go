package fleet_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/actors/fleet"
	"troupe/actors/gamesession"
	"troupe/messages"
)

// The watcher of a game session is told of its end, and is then let go: an ended game session is kept for weeks.
func TestTheWatcherIsLetGoWithTheGameSession(t *testing.T) {
	for _, late := range []bool{false, true} {
		hosted(t, nil, func(h *host) {
			g, err := launch(h, actorstest.Fleet, "")
			assert.NoError(h, err)
			if late {
				h.stop(g.ID)
			}
			over := new(bool)
			kept := watch(h, g.ID, over)
			if !late {
				if *over {
					h.Error("told before the end")
				}
				h.stop(g.ID)
			}
			if time.Sleep(time.Second); !*over {
				h.Error("not told of the end")
			}
			synctest.Wait()
			if _, err := h.games(messages.FindGameSessions{FleetID: actorstest.Small}); err != nil { // the registry has no message of it at hand
				h.Error(err)
			}
			runtime.GC()
			if runtime.GC(); kept.Value() != nil {
				h.Errorf("the watcher is kept; late: %v", late)
			}
		})
	}
}

// watch watches a game session, and returns a pointer to what its watcher holds.
func watch(h *host, id messages.GameSessionID, over *bool) weak.Pointer[[1 << 16]byte] {
	h.Helper()
	held := new([1 << 16]byte)
	var view *gamesession.Published
	view, err := request[*gamesession.Published](h, fleet.Watch{Session: id, Notify: func(*messages.AskBackfill) {
		held[0]++
		*over = view.Seats().Over
	}})
	assert.NoError(h, err)
	*over = view.Seats().Over
	return weak.Make(held)
}
