package gamesession_test

import (
	"testing"
	"time"

	"troupe/actors/actorstest"
	"troupe/actors/player"
	"troupe/messages"
)

// logInPaused sends a LOGIN with a pause of one second.
func logInPaused(w *world, id messages.PlayerSessionID) *actorstest.Client {
	c := w.Open()
	c.ID = id
	c.Handle.LoginSeen()
	c.Handle.Login(&player.Login{ID: id, From: c.Handle, At: time.Now(), Pause: time.Second})
	w.WaitIdle()
	return c
}

func in(w *world, c *actorstest.Client, want bool) {
	w.Helper()
	if got := c.Handle.Attachment() != nil; got != want {
		w.Fatalf("logged in: %v, want %v", got, want)
	}
}

func TestALoginOverTheLimitWaits(t *testing.T) {
	run(t, func(w *world) {
		p := w.Player(w.Create(&game{}))
		second := logInPaused(w, p.ID)
		w.Pass(time.Second - time.Millisecond)
		in(w, second, false)
		in(w, p, true)
		w.Pass(time.Millisecond)
		in(w, second, true)
		closed(w, p, messages.CloseTakenOver)
	})
}

// If a player logs in repeatedly with different payloads, the game is not asked each time.
func TestALoginOverTheLimitAsksTheGameLater(t *testing.T) {
	run(t, func(w *world) {
		g, game := begun(w)
		g.quiet["connect"] = false
		id, before := w.Seat(game), len(g.asked)
		w.Open().LogIn(id, "me")
		w.WaitIdle()
		next := logInPaused(w, id)
		w.Pass(time.Second - time.Millisecond)
		if n := len(g.asked) - before; n != 1 {
			w.Fatalf("the game was asked %d times", n)
		}
		w.Pass(time.Millisecond)
		g.decide(w, false) // this decision is about the replaced login
		g.decide(w, true)
		in(w, next, true)
	})
}

// A pause never ends the player session, no matter how little is left of its reservation.
func TestAPauseIsShorterThanTheRestOfTheReservation(t *testing.T) {
	run(t, func(w *world) {
		id := w.Create(&game{})
		p, seat := w.Player(id), w.Seat(id)
		p.Lose()
		w.Pass(windowDefault - 100*time.Millisecond)
		back := logInPaused(w, p.ID)
		in(w, back, false)
		w.Pass(50 * time.Millisecond)
		in(w, back, true)
		w.Want(p.ID, messages.PlayerSessionActive, 2)

		w.Pass(player.ReservationTime - windowDefault - 50*time.Millisecond) // 100 ms of the reservation are left
		fresh := logInPaused(w, seat)
		w.Pass(50 * time.Millisecond)
		in(w, fresh, true)
	})
}

func TestAPauseEndsWithTheOldConnection(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		p := w.Player(w.Create(g))
		second := logInPaused(w, p.ID)
		p.Lose()
		in(w, second, true)
		closed(w, second, 0)
		w.Pass(time.Minute)
		in(w, second, true)
	})
}

func TestOfTwoWaitingLoginsTheNewerIsKept(t *testing.T) {
	run(t, func(w *world) {
		p := w.Player(w.Create(&game{}))
		first := logInPaused(w, p.ID)
		w.Pass(600 * time.Millisecond)
		second := logInPaused(w, p.ID)
		closed(w, first, messages.CloseTryLater)
		w.Pass(400 * time.Millisecond)
		in(w, second, true)
	})
}

func TestAWaitingLoginIsAnsweredWhenTheGameEnds(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		second := logInPaused(w, w.Player(w.Create(g)).ID)
		g.Session.Do(func() { g.Session.ProcessEnding(); g.Session.Exit(0) })
		refused(w, second)
	})
}

func TestAWaitingLoginThatIsGoneTakesNothingOver(t *testing.T) {
	run(t, func(w *world) {
		p := w.Player(w.Create(&game{}))
		logInPaused(w, p.ID).Lose()
		w.Pass(2 * time.Second)
		in(w, p, true)
		closed(w, p, 0)
	})
}
