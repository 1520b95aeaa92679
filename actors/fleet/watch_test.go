package fleet_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/actors/gamesession"
	"troupe/messages"
)

// The watcher of a game session is told about the end of the game session and is then released. It must not be kept,
// because an ended game session is kept for weeks.
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
			// Send another request, so that the registry no longer holds the last message about the game session.
			if _, err := h.games(messages.FindGameSessions{FleetID: actorstest.Small}); err != nil {
				h.Error(err)
			}
			runtime.GC()
			if runtime.GC(); kept.Value() != nil {
				h.Errorf("the watcher is kept; late: %v", late)
			}
		})
	}
}

// watch waits for the end of a game session's seats. It returns a pointer to memory that only the watcher holds.
func watch(h *host, id messages.GameSessionID, over *bool) weak.Pointer[[1 << 16]byte] {
	h.Helper()
	held := new([1 << 16]byte)
	var ask func(since uint64)
	ask = func(since uint64) {
		messages.Send(h.registry, messages.AwaitSeats{ID: id, Since: since}, func(r messages.SeatsReport, err error) {
			assert.NoError(h, err)
			held[0]++
			if *over = r.Seats.Over; !*over {
				ask(r.Version)
			}
		})
	}
	ask(0)
	synctest.Wait()
	return weak.Make(held)
}

// A second watcher ends the first one. Requests of a game are kept until there is a watcher.
func TestSeatsAreReportedToOne(t *testing.T) {
	hosted(t, nil, func(h *host) {
		g := assert.Value(launch(h, actorstest.Fleet, ""))(h)
		var got []string
		ask := func(name string, since uint64) {
			messages.Send(h.registry, messages.AwaitSeats{ID: g.ID, Since: since}, func(r messages.SeatsReport, err error) {
				if err != nil { // the host has stopped
					return
				}
				got = append(got, fmt.Sprint(name, " ", r.Version, " ", len(r.Seats.Players), " ", len(r.Asks)))
			})
			synctest.Wait()
		}
		at := assert.Value(request[messages.SeatsReport](h, messages.AwaitSeats{ID: g.ID}))(h).Version
		ask("a", at)
		ask("b", at)
		assert.OK(h.seats(g.ID, "x"))(h)
		for range 40 {
			h.registry.Tell(gamesession.BackfillAsked{Session: g.ID})
		}
		synctest.Wait()
		ask("c", at+1)
		ask("d", at+1)
		assert.List(h, "reports", got, []string{fmt.Sprint("a ", at, " 0 0"), fmt.Sprint("b ", at+1, " 1 0"), fmt.Sprint("c ", at+1, " 1 32")})
		_, err := request[messages.SeatsReport](h, messages.AwaitSeats{ID: "arn:unknown"})
		h.is(err, messages.NotFound)
	})
}
