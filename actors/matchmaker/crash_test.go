package matchmaker

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/ledger"
	"troupe/actors/rebuild"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/actors/store"
	"troupe/messages"
)

// crash makes an actor panic. Its parent replaces it.
func (w *world) crash(ref *stage.Ref) {
	w.Helper()
	ref.Tell(stage.Panic{Text: "the test wants it"})
	w.stage.Panics++
	synctest.Wait()
}

// wantOnce checks that each ticket has succeeded once and each player was placed once.
func (w *world) wantOnce(ids ...string) {
	w.Helper()
	for _, id := range ids {
		w.want(id + " COMPLETED")
		if n := strings.Count(strings.Join(w.told(id), " "), "Succeeded"); n != 1 {
			w.Errorf("%s has succeeded %d times: %v", id, n, w.told(id))
		}
	}
	w.placer.set(func() {
		seats := map[messages.PlayerID]int{}
		for _, r := range w.placer.started {
			for _, p := range r.Players {
				if seats[p.PlayerID]++; seats[p.PlayerID] > 1 {
					w.Errorf("player %s was placed %d times", p.PlayerID, seats[p.PlayerID])
				}
			}
		}
	})
}

// The Manager alone crashes at each step of a match. Acknowledged tickets continue, exactly once. Requests
// that arrive meanwhile wait.
func TestTheManagerCrashes(t *testing.T) {
	for name, step := range map[string]func(w *world){
		"QUEUED":              func(w *world) { w.crash(w.parent.Child()) },
		"SEARCHING":           func(w *world) { w.pass(); w.crash(w.parent.Child()); w.pass() },
		"REQUIRES_ACCEPTANCE": func(w *world) { w.ask("T2", "b"); w.pass(); _ = w.answer(true, "T1", "a"); w.crash(w.parent.Child()) },
		"PLACING": func(w *world) {
			w.placer.set(func() { w.placer.hold = true })
			w.ask("T2", "b")
			w.pass()
			_ = w.answer(true, "T1", "a")
			_ = w.answer(true, "T2", "b")
			w.want("T1 PLACING")
			w.crash(w.parent.Child())
			w.want("T1 PLACING")
			w.placer.release()
			synctest.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(w *world) {
				w.config(accepting)
				w.ask("T1", "a")
				step(w)
				if found, _ := request[messages.TicketQuery, []*messages.Ticket](w, messages.TicketQuery{IDs: []messages.TicketID{"T2"}}); len(found) == 0 {
					w.ask("T2", "b")
					w.pass()
				}
				for id, player := range map[string]string{"T1": "a", "T2": "b"} {
					if w.ticket(id).Status == messages.TicketRequiresAcceptance {
						_ = w.answer(true, id, player)
					}
				}
				synctest.Wait()
				w.wantOnce("T1", "T2")
				w.clean()
			})
		})
	}
}

// A matcher alone crashes repeatedly. Its tickets are in the next pool, and each ends up in one match.
func TestAMatcherCrashes(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.ref.Stop()
		synctest.Wait()
		w.direct = true
		w.open()
		w.config(nil)
		var ids []string
		for i := range 20 {
			id := fmt.Sprintf("T%d", i)
			ids = append(ids, id)
			w.ask(id, id)
			if i%3 == 0 {
				w.crash(w.manager.matchmakers["m"].matcher)
			}
			if i%4 == 0 {
				w.pass()
			}
			stagetest.Pass(rebuild.PauseMax / 10)
		}
		w.pass()
		w.wantOnce(ids...)
		w.clean()
	})
}

// A newer ticket does not affect a ticket in PLACING. If the older ticket returns to the pool, it is
// cancelled. Otherwise passes would try again and again to put both into a match, which cannot be committed.
func TestASupersededTicketComesBack(t *testing.T) {
	for _, newerEnds := range []bool{false, true} {
		bubble(t, nil, func(w *world) {
			w.config(nil)
			w.placer.set(func() {
				w.placer.hold = true
				w.placer.outcomes = []messages.PlacementStatus{messages.PlacementTimedOut}
			})
			w.ask("T1", "a")
			w.ask("T2", "b")
			w.pass()
			w.ask("T3", "a")
			synctest.Wait()
			w.want("T1 PLACING", "T3 QUEUED")
			if newerEnds {
				_ = w.stop("T3")
			}
			w.placer.release()
			synctest.Wait()
			w.pass()
			if newerEnds {
				w.want("T1 COMPLETED", "T2 COMPLETED", "T3 CANCELLED")
				return
			}
			w.want("T1 CANCELLED", "T2 COMPLETED", "T3 COMPLETED")
		})
	}
}

// The store refuses to cancel a superseded ticket. The ticket is cancelled later, and is in no match until
// then.
func TestACancelIsRefused(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.config(nil)
		w.named("other", duel, nil)
		w.ask("T1", "a")
		w.pass()
		w.store.FailNth(2) // after the write of the newer ticket
		assert.OK(w.try("T2", "other", "a"))(t)
		synctest.Wait()
		w.want("T1 SEARCHING", "T2 QUEUED")
		w.ask("T3", "c")
		stagetest.Pass(retryAfter + retryAfter/2)
		w.want("T1 CANCELLED", "T3 SEARCHING")
	})
}

// The ID of an expired ticket can be used again, even before the old record is removed. The removal does not
// affect the new ticket.
func TestAnIDIsUsedAgain(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.config(nil)
		for i := range ledger.ForgetMax + 1 { // one start removes at most ForgetMax records
			w.ask(fmt.Sprintf("T%d", ledger.ForgetMax+1-i), "a")
		}
		_ = w.stop("T1")
		time.Sleep(3*time.Hour + time.Second)
		w.ask("T1", "b")
		w.ask("T2", "c")
		w.pass()
		w.reopen()
		w.wantOnce("T1", "T2")
		assert.Equal(t, "T1 is of", w.ticket("T1").Players[0].ID, "b")
	})
}

// The total size of all tickets is updated as they grow.
func TestBytesOfTickets(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.ref.Stop()
		synctest.Wait()
		w.direct = true
		w.open()
		w.config(nil)
		w.ask("T1", "a")
		w.ask("T2", "b")
		w.pass()
		synctest.Wait()
		want := 0
		_, _ = w.store.Load(store.Ticket, func(_ string, value []byte) error { want += len(value); return nil })
		if k := w.manager.Inspect(); k["bytes"] != fmt.Sprint(want) || k["ended"] != "2" {
			t.Errorf("%v, want %d bytes", k, want)
		}
	})
}
