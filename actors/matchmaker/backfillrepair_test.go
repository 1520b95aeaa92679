package matchmaker

import (
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
)

// stopMatchBackfill of a script ends automatic backfill also while a match of it is PLACING: the match goes on, and no other follows.
func TestAutomaticBackfillIsStoppedWhilePlacing(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.two(automatic)
		first := string(*w.data().Ticket)
		w.placer.set(func() { w.placer.full = messages.Errorf(messages.Unavailable, "not now") })
		w.ask("C", "c")
		w.pass()
		w.want(first+" PLACING", "C PLACING")
		w.game().notify(&messages.AskBackfill{Stop: true})
		synctest.Wait()
		w.placer.set(func() { w.placer.full = nil })
		time.Sleep(2 * retryAfter)
		w.pass()
		w.want(first+" COMPLETED", "C COMPLETED")
		w.change(func(*stubGame) {})
		w.wantCount(0)
		w.reopen()
		w.change(func(*stubGame) {})
		w.wantCount(0)
	})
}

// Seats change while a match of the automatic ticket waits for answers: after a rejection, a new ticket has the seats as they are.
func TestSeatsChangeDuringAcceptance(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.named("m", squads, func(r *messages.Matchmaker) { accepting(r); automatic(r) })
		w.ask("A", "a")
		w.ask("B", "b")
		w.pass()
		_, _ = w.answer(true, "A", "a"), w.answer(true, "B", "b")
		w.pass()
		first := string(*w.data().Ticket)
		w.ask("C", "c")
		w.pass()
		w.want(first+" REQUIRES_ACCEPTANCE", "C REQUIRES_ACCEPTANCE")
		w.leaves("b")
		_ = w.answer(false, "C", "c")
		w.pass()
		w.want(first+" CANCELLED", "C CANCELLED")
		if f := w.ticket(string(*w.data().Ticket)); f.Status.Final() || len(f.Players) != 1 || f.Backfill.Room != 3 {
			t.Errorf("%+v %+v", f, f.Backfill)
		}
		w.wantCount(1)
	})
}

// A seat that becomes free during a drain that is cancelled is filled all the same.
func TestAutomaticBackfillGoesOnAfterADrain(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.two(automatic)
		w.change(func(g *stubGame) { g.seats.Accepts = false })
		w.wantCount(0)
		w.ref.Tell(Drain{})
		w.change(func(g *stubGame) { g.seats.Accepts = true })
		w.wantCount(0)
		w.ref.Tell(CancelDrain{})
		w.pass()
		w.wantCount(1)
	})
}

// The store refuses the end of a replaced backfill ticket: it is tried again, so that one is active. The players have no part in it.
func TestAReplacedBackfillTicketEndsLater(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.two(nil)
		id := w.game().session.ID
		if _, err := w.backfill("F1", id, "red:a"); err != nil {
			t.Fatal(err)
		}
		w.pass()
		w.store.pass.Store(2)
		if _, err := w.backfill("F2", id, "blue:b"); err != nil {
			t.Fatal(err)
		}
		w.want("F1 SEARCHING", "F2 QUEUED")
		time.Sleep(2 * retryAfter)
		w.pass()
		w.want("F1 CANCELLED", "F2 SEARCHING")
	})
}

// A thousand requests for one game session leave one ticket. Players who are in no team's reach, and more than fit, match nobody.
func TestManyBackfillRequests(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.two(nil)
		id := w.game().session.ID
		crowd := make([]string, 199)
		for i := range crowd {
			crowd[i] = "red:p" + string(rune('A'+i))
		}
		if _, err := w.backfill("crowd", id, crowd...); err != nil {
			t.Fatal(err)
		}
		w.ask("C", "c")
		w.pass()
		w.want("crowd SEARCHING", "C SEARCHING")
		for i := range 1000 {
			if _, err := w.backfill("F"+string(rune('A'+i)), id, "red:a", "blue:b"); err != nil {
				t.Fatal(err)
			}
		}
		w.want("crowd CANCELLED")
		w.wantCount(1)
		w.pass()
		w.want("C COMPLETED")
		w.wantCount(0)
		if n := len(w.game().seats.Players); n != 3 {
			t.Errorf("%d seats", n)
		}
	})
}
