package matchmaker

import (
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/stage/stagetest"
	"troupe/messages"
)

// A seated player searches for another match and cancels that search. The game session's automatic ticket
// then contains the player again.
func TestPlayersComeBackFromAnotherSearch(t *testing.T) {
	for _, both := range []bool{false, true} {
		bubble(t, nil, func(w *world) {
			w.two(func(r *messages.Matchmaker) { r.AutoBackfill, r.RequestTimeout = true, time.Hour })
			w.named("other", squads, nil)
			w.pass()
			w.wantCount(1)
			assert.OK(w.try("A2", "other", "a"))(t)
			if both {
				if _, err := w.try("B2", "m", "b"); err != nil { // b's ticket is in configuration m, a's in other
					t.Fatal(err)
				}
			}
			time.Sleep(10 * time.Second)
			for _, id := range []string{"A2", "B2"}[:map[bool]int{false: 1, true: 2}[both]] {
				assert.NoError(t, w.stop(id))
			}
			stagetest.Pass(5 * time.Minute)
			var listed []string
			w.each(func(r *messages.Ticket) {
				if r.Backfill != nil && !r.Status.Final() {
					for _, p := range r.Players {
						listed = append(listed, string(p.ID))
					}
				}
			})
			if len(listed) != 2 {
				t.Errorf("both %v: after 5 min the backfill ticket of the game session lists %v, want a and b", both, listed)
			}
		})
	}
}

// While a seated player searches for another match, the seat stays reserved.
func TestAPlayerWhoSearchesKeepsThePlace(t *testing.T) {
	body := `{"ruleLanguageVersion":"1.0","teams":[{"name":"red","minPlayers":1,"maxPlayers":1},{"name":"blue","minPlayers":1,"maxPlayers":3}]}`
	bubble(t, nil, func(w *world) {
		w.named("m", body, func(r *messages.Matchmaker) { r.AutoBackfill, r.RequestTimeout = true, time.Hour })
		w.named("other", squads, nil)
		w.ask("A", "a")
		w.ask("B", "b")
		w.pass()
		w.want("A COMPLETED", "B COMPLETED")
		red := ""
		for _, id := range []string{"A", "B"} {
			if p := w.ticket(id).Players[0]; p.Team == "red" {
				red = string(p.ID)
			}
		}
		assert.OK(w.try("X", "other", red))(t)
		time.Sleep(10 * time.Second)
		assert.NoError(t, w.stop("X"))
		time.Sleep(5 * time.Minute)
		w.ask("C", "c")
		w.pass()
		w.pass()
		w.want("C COMPLETED")
		if team := w.ticket("C").Players[0].Team; team != "blue" {
			t.Errorf("c plays in team %s, which takes one player and has %s", team, red)
		}
	})
}

// After an automatic ticket has failed, the next one waits for failedPause, even if the seats have changed
// just before.
func TestPauseAfterAFailureWithAReviewDue(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.two(automatic)
		w.pass()
		id := string(*w.data().Ticket)
		w.want(id + " SEARCHING")
		w.placer.set(func() { w.placer.full = messages.Errorf(messages.GameSessionFull, "full") })
		w.ask("C", "c")
		w.game().notify(nil) // schedules a review after an interval
		w.pass()
		w.pass()
		w.want(id + " FAILED")
		for range 20 {
			w.pass()
		}
		assert.Equal(t, "attempts within 20 s", w.placer.fills, 1)
	})
}

// The end of a game session is noticed even during failedPause.
func TestEndOfTheGameDuringThePauseAfterAFailure(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.two(automatic)
		w.pass()
		id := string(*w.data().Ticket)
		w.placer.set(func() { w.placer.full = messages.Errorf(messages.GameSessionFull, "full") })
		w.ask("C", "c")
		w.pass()
		w.pass()
		w.want(id + " FAILED")
		w.placer.set(func() { w.placer.full = nil })
		assert.NoError(t, w.stop("C"))
		assert.OK(w.backfill("F", w.game().session.ID, "red:a", "blue:b"))(t)
		w.pass()
		w.want("F SEARCHING")
		w.change(func(g *stubGame) { g.seats.Live, g.seats.Over, g.seats.Players = false, true, nil })
		w.pass()
		w.want("F CANCELLED")
	})
}

// StopMatchmaking with the announced ID ends automatic backfill even if that ticket has ended: it was
// cancelled because no player may join, or it failed.
func TestStopOfATicketThatHasEndedEndsAutomaticBackfill(t *testing.T) {
	for status, c := range map[string]struct{ end, after func(w *world) }{
		"CANCELLED": {
			func(w *world) { w.change(func(g *stubGame) { g.seats.Accepts = false }) },
			func(w *world) { w.change(func(g *stubGame) { g.seats.Accepts = true }) },
		},
		"FAILED": {
			func(w *world) {
				w.placer.set(func() { w.placer.full = messages.Errorf(messages.GameSessionFull, "full") })
				w.ask("C", "c")
				w.pass()
			},
			func(w *world) { w.placer.set(func() { w.placer.full = nil }) },
		},
	} {
		bubble(t, nil, func(w *world) {
			w.two(automatic)
			w.pass()
			id := string(*w.data().Ticket)
			w.want(id + " SEARCHING")
			c.end(w)
			w.pass()
			w.want(id + " " + status)
			if now := w.data().Ticket; now == nil || string(*now) != id {
				t.Fatalf("the game session announces %v, not %s", now, id)
			}
			if err := w.stop(id); err != nil {
				t.Errorf("StopMatchmaking with the announced id: %v", err)
			}
			c.after(w)
			stagetest.Pass(time.Minute)
			if now := w.data().Ticket; now != nil && string(*now) != id {
				t.Errorf("automatic backfill goes on with %s", *now)
			}
		})
	}
}

// A caller requests backfill for a game session, and an automatic ticket starts before the request is
// committed. The request takes precedence.
func TestManualBackfillMeetsAutomaticStart(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.named("m", squads, func(r *messages.Matchmaker) { r.AutoBackfill = true })
		w.ask("T1", "a")
		w.ask("T2", "b")
		w.placer.set(func() { w.placer.hold = false })
		w.pass()
		w.want("T1 COMPLETED", "T2 COMPLETED")
		// The game session accepts no players for now, so there is no automatic ticket.
		w.change(func(g *stubGame) { g.seats.Accepts = false })
		w.pass()
		g := w.game()
		// The game session accepts players again. Just before its review, a caller requests backfill.
		w.placer.set(func() { g.seats.Accepts = true })
		g.notify(nil) // schedules a review after an interval
		stagetest.Pass(w.options.withDefaults().Interval - time.Millisecond)
		w.store.Hold()
		done := make(chan error, 1)
		go func() {
			_, err := request[messages.StartMatchBackfill, *messages.Ticket](w, backfillOf("B1", g.session.ID, "red:a", "blue:b"))
			done <- err
		}()
		synctest.Wait()
		stagetest.Pass(2 * time.Millisecond) // the review happens now
		w.store.Release()
		assert.NoError(t, <-done)
		w.pass()
		w.pass()
		w.want("B1 SEARCHING")
		// The game session ends: its backfill ticket is CANCELLED (flexmatch.md 16.3).
		w.change(func(g *stubGame) { g.seats.Live, g.seats.Over, g.seats.Players = false, true, nil })
		w.pass()
		w.want("B1 CANCELLED")
	})
}
