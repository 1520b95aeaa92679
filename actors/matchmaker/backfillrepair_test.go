package matchmaker

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/stage/stagetest"
	"troupe/messages"
)

// stopMatchBackfill of a script ends automatic backfill even while a match with the ticket is in PLACING. The
// match continues, and no other ticket follows.
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

// Seats change while a match with the automatic ticket waits for answers. After a rejection, a new ticket
// matches the current seats.
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

// A seat that becomes free during a drain is filled after the drain was cancelled.
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

// The store refuses the end of a replaced backfill ticket. The Manager tries again, so that only one ticket
// remains active. The two tickets have no player in common, so the replacement does not depend on players.
func TestAReplacedBackfillTicketEndsLater(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.two(nil)
		id := w.game().session.ID
		assert.OK(w.backfill("F1", id, "red:a"))(t)
		w.pass()
		w.store.FailNth(2)
		assert.OK(w.backfill("F2", id, "blue:b"))(t)
		w.want("F1 SEARCHING", "F2 QUEUED")
		time.Sleep(2 * retryAfter)
		w.pass()
		w.want("F1 CANCELLED", "F2 SEARCHING")
	})
}

// A thousand requests for one game session leave one ticket. Requests with too many players match nobody.
func TestManyBackfillRequests(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.two(nil)
		id := w.game().session.ID
		crowd := make([]string, 199)
		for i := range crowd {
			crowd[i] = "red:p" + string(rune('A'+i))
		}
		g := w.game()
		w.placer.set(func() {
			for _, p := range crowd {
				g.seats.Players = append(g.seats.Players, messages.PlayerID(strings.TrimPrefix(p, "red:")))
			}
		})
		g.notify(nil)
		assert.OK(w.backfill("crowd", id, crowd...))(t)
		w.ask("C", "c")
		w.pass()
		w.want("crowd SEARCHING", "C SEARCHING")
		w.placer.set(func() { g.seats.Players = g.seats.Players[:2] })
		g.notify(nil)
		for i := range 1000 {
			assert.OK(w.backfill("F"+string(rune('A'+i)), id, "red:a", "blue:b"))(t)
		}
		w.want("crowd CANCELLED")
		w.wantCount(1)
		w.pass()
		w.want("C COMPLETED")
		w.wantCount(0)
		assert.Equal(t, "seats", len(w.game().seats.Players), 3)
	})
}

// D-324: a seated player searches for a match again, alone or with a friend. Backfill of the same game
// session is the match, and the player keeps the seat.
func TestAPlayerIsMatchedIntoItsOwnGame(t *testing.T) {
	for _, mode := range []string{"automatic", "asked for"} {
		bubble(t, nil, func(w *world) {
			w.two(map[string]func(*messages.Matchmaker){"automatic": automatic}[mode])
			w.ask("A2", "a", "c")
			if mode != "automatic" {
				assert.OK(w.backfill("F", w.game().session.ID, "blue:b"))(t)
			}
			for range 3 { // a new automatic ticket without the player must start before a pass can match it
				w.pass()
			}
			w.want("A2 COMPLETED")
			if g := w.ticket("A2").Game; g.ID != w.game().session.ID || len(g.Placed) != 2 || g.Placed[0].PlayerSessionID != "psess-a" {
				t.Errorf("%+v", g)
			}
			assert.List(t, "seats", w.game().seats.Players, []messages.PlayerID{"a", "b", "c"})
			if d := w.data(); strings.Join(d.players(), " ") != "red:a red:c blue:b" {
				t.Errorf("%v", d.players())
			}
			if mode != "automatic" {
				return
			}
			w.pass()
			w.wantCount(1) // one seat is free
			w.ask("D", "d")
			w.pass()
			w.want("D COMPLETED")
			w.pass()
			w.wantCount(0)
		})
	}
}

// D-325: a backfill request ignores players who are not in the game session. Their own tickets continue, and
// the seats they do not have are filled.
func TestBackfillNamesAPlayerWhoHasLeft(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.two(nil)
		id := w.game().session.ID
		w.leaves("b")
		assert.OK(w.try("B2", "m", "b"))(t)
		f, err := w.backfill("F", id, "blue:b", "red:a", "red:stranger")
		if err != nil || len(f.Players) != 1 || f.Players[0].ID != "a" {
			t.Fatal(f, err)
		}
		w.want("F QUEUED", "B2 QUEUED")
		_, err = w.backfill("G", id, "red:stranger")
		w.wantCode(err, messages.InvalidRequest)
		_, err = w.backfill("G", id, "red:a", "green:stranger")
		w.wantCode(err, messages.InvalidRequest)
		w.ask("C", "c")
		w.pass()
		w.want("F COMPLETED", "B2 COMPLETED", "C COMPLETED")
		w.wantGame("red:a red:c blue:b", "MATCHMAKING_DATA_UPDATED F")
	})
}

// BackfillMode MANUAL cancels a waiting automatic ticket, and AUTOMATIC starts a new one. Tickets of other
// configurations continue.
func TestAConfigurationTurnsAutomaticBackfillOff(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.two(automatic)
		set := func(name messages.MatchmakerName, on bool) {
			t.Helper()
			assert.OK(request[messages.UpdateMatchmaker, *messages.Matchmaker](w, messages.UpdateMatchmaker{Name: name, AutoBackfill: &on}))(t)
			w.pass()
		}
		first := string(*w.data().Ticket)
		w.named("other", squads, automatic)
		set("other", false)
		w.wantCount(1)
		set("m", false)
		w.want(first + " CANCELLED")
		w.wantCount(0)
		w.wantGame("red:a blue:b", "BACKFILL_CANCELLED "+first)
		w.ask("C", "c")
		w.pass()
		w.want("C SEARCHING")
		set("m", true)
		w.pass()
		w.want("C COMPLETED")
		w.pass()
		w.wantCount(1)
	})
}

// The store of the game session refuses new matchmaker data. The Manager sends it again, unless a match has
// sent newer data.
func TestMatchmakerDataIsGivenAgain(t *testing.T) {
	for _, newer := range []bool{false, true} {
		bubble(t, nil, func(w *world) {
			w.two(automatic)
			old := *w.data().Ticket
			w.placer.set(func() { w.placer.noData = true })
			w.leaves("b")
			if d := w.data(); *d.Ticket != old {
				t.Fatalf("%+v", d)
			}
			if newer {
				w.ask("C", "c", "d")
				w.ask("E", "e")
				w.pass()
				w.want("C COMPLETED", "E COMPLETED")
			}
			time.Sleep(3 * retryAfter)
			w.placer.set(func() { w.placer.noData = false })
			stagetest.Pass(2 * retryAfter)
			want := map[bool]string{false: "red:a", true: "red:a red:e blue:c blue:d"}[newer]
			if d := w.data(); strings.Join(d.players(), " ") != want || newer != (d.Ticket == nil) || !newer && (*d.Ticket == old || w.ticket(string(*d.Ticket)).Status.Final()) {
				t.Errorf("%+v, want %s", d, want)
			}
		})
	}
}
