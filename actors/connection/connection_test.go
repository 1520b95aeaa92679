package connection_test

import (
	"testing"
	"time"

	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/actors/connection"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
)

type (
	world = actorstest.World
	game  = actorstest.Game
)

func run(t *testing.T, test func(w *world)) { t.Helper(); actorstest.Run(t, nil, test) }

func closedAt(w *world, c *actorstest.Client, reason messages.CloseReason, at time.Duration) {
	w.Helper()
	if r, d := c.Closed(); r != reason || r != 0 && d != at {
		w.Errorf("closed with %v after %v, want %v after %v", r, d, reason, at)
	}
}

// RT-8.
func TestWithoutALoginTheConnectionIsClosedAfterExactlyTenSeconds(t *testing.T) {
	run(t, func(w *world) {
		seat := w.Seat(w.Create(nil))
		c := w.Open()
		w.Pass(5 * time.Second)
		c.Handle.Alive() // received bytes alone do not extend the time limit
		w.Pass(5*time.Second - time.Millisecond)
		closedAt(w, c, 0, 0)
		w.Pass(time.Millisecond)
		closedAt(w, c, messages.CloseLoginTimeout, 10*time.Second)
		c.LogIn(seat, "") // read before the end, but still too late
		w.Want(seat, messages.PlayerSessionReserved, 1)
		assert.Equal(w, "connection actors are left", w.System.Live(counters.ActorConnection), 0)
	})
}

func TestALoginBehindTheTimeoutIsIgnoredWhileTheConnectionCloses(t *testing.T) {
	run(t, func(w *world) {
		seat := w.Seat(w.Create(nil))
		c := w.Open()
		c.Linger()
		w.Pass(10 * time.Second)
		c.LogIn(seat, "")
		w.Want(seat, messages.PlayerSessionReserved, 1)
		closedAt(w, c, messages.CloseLoginTimeout, 10*time.Second)
		c.Lose()
		assert.Equal(w, "connection actors are left", w.System.Live(counters.ActorConnection), 0)
	})
}

func TestALoginInTimeStopsTheLoginTimer(t *testing.T) {
	run(t, func(w *world) {
		seat := w.Seat(w.Create(nil))
		c := w.Open()
		w.Pass(10*time.Second - time.Millisecond)
		c.LogIn(seat, "")
		w.Pass(time.Minute)
		closedAt(w, c, 0, 0)
		assert.Equal(w, "not logged in", len(c.Take()), 1)
	})
}

func TestPingsAreSentAtTheGamesInterval(t *testing.T) {
	for _, interval := range []time.Duration{time.Second, 3 * time.Second, 30 * time.Second} {
		run(t, func(w *world) {
			c := w.Player(w.Create(&game{Conf: script.Configuration{PingInterval: interval}}))
			w.Pass(4 * interval)
			actorstest.Equal(w, "pings", c.Pings(), interval, 2*interval, 3*interval, 4*interval)
			closedAt(w, c, 0, 0)
		})
	}
}

// Pings to idle players are sent together. Pings to busy players are sent when they are due.
func TestPingsOfIdlePlayersLeaveTogether(t *testing.T) {
	run(t, func(w *world) {
		id, interval := w.Create(&game{Conf: script.Configuration{PingInterval: time.Second}}), time.Second
		w.Pass(100 * time.Millisecond)
		idle, busy := w.Player(id), w.Player(id)
		for range 40 {
			w.Pass(100 * time.Millisecond)
			busy.Handle.Alive()
		}
		actorstest.Equal(w, "pings of one that is busy", busy.Pings(), interval, 2*interval, 3*interval, 4*interval)
		late := 150 * time.Millisecond // time until the next point of the grid
		actorstest.Equal(w, "pings of one that is idle", idle.Pings(), interval, 2*interval+late, 3*interval+late)
	})
}

// RT-55.
func TestASilentPeerIsDroppedAfterTwoIntervalsAndAtLeastSixSeconds(t *testing.T) {
	for interval, want := range map[time.Duration]time.Duration{
		time.Second: 6 * time.Second, 2500 * time.Millisecond: 6 * time.Second, 3 * time.Second: 6 * time.Second,
		3100 * time.Millisecond: 6250 * time.Millisecond, 30 * time.Second: time.Minute,
	} {
		run(t, func(w *world) {
			c := w.Player(w.Create(&game{Conf: script.Configuration{PingInterval: interval}}))
			c.Silence()
			w.Pass(want - time.Millisecond)
			closedAt(w, c, 0, 0)
			w.Pass(time.Millisecond)
			closedAt(w, c, messages.ClosePingTimeout, want)
			w.Want(c.ID, messages.PlayerSessionActive, 1) // the connection counts as lost, so the player is detached
			w.Pass(30 * time.Second)
			w.Want(c.ID, messages.PlayerSessionCompleted, 0)
		})
	}
}

func TestAnySignOfLifeCounts(t *testing.T) {
	run(t, func(w *world) {
		c := w.Player(w.Create(nil))
		c.Silence() // the peer sends data but never a pong
		for range 20 {
			w.Pass(5 * time.Second)
			c.Handle.Alive()
		}
		closedAt(w, c, 0, 0)
		w.Pass(6*time.Second - time.Millisecond)
		closedAt(w, c, 0, 0)
		w.Pass(time.Millisecond)
		closedAt(w, c, messages.ClosePingTimeout, 106*time.Second)
	})
}

// D-129: while the host keeps a reader from reading, pongs stay unread. The peer must not count as silent.
func TestAPeerIsNotSilentWhileTheHostHoldsItsReaderUp(t *testing.T) {
	run(t, func(w *world) {
		c := w.Player(w.Create(nil))
		c.Silence()
		c.Handle.Busy(true)
		w.Pass(time.Minute)
		closedAt(w, c, 0, 0)
		c.Handle.Busy(false)
		w.Pass(6*time.Second - time.Millisecond)
		closedAt(w, c, 0, 0)
		w.Pass(3 * time.Second)
		if reason, _ := c.Closed(); reason != messages.ClosePingTimeout {
			w.Errorf("closed with %v", reason)
		}
	})
}

func TestASecondLoginOnOneConnectionIsIgnored(t *testing.T) {
	run(t, func(w *world) {
		id := w.Create(nil)
		c, other := w.Player(id), w.Seat(id)
		first := c.ID
		c.LogIn(other, "")
		c.LogIn(first, "")
		actorstest.Equal(w, "answers", c.Take())
		closedAt(w, c, 0, 0)
		w.Want(other, messages.PlayerSessionReserved, 2)
	})
	run(t, func(w *world) { // also directly after the first LOGIN, and after a refusal
		id := w.Create(nil)
		seat := w.Seat(id)
		c := w.Open()
		c.LogIn("psess-unknown", "")
		c.LogIn(seat, "")
		actorstest.Equal(w, "answers", c.Take(), "refused")
		w.Want(seat, messages.PlayerSessionReserved, 1)
	})
}

func TestACrashedConnectionActorIsALossForItsPlayer(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		c := w.Player(w.Create(g))
		g.Take()
		w.Panics++
		c.Handle.Ref().Tell(stage.Panic{Text: "a test wants it"})
		w.WaitIdle()
		if r, _ := c.Closed(); r != messages.CloseInternalError {
			w.Errorf("closed with %v", r)
		}
		actorstest.Equal(w, "answer", w.Enter(c.ID).Take(), "login 1")
		actorstest.Equal(w, "callbacks", g.Take())
	})
}

func TestAnEndIsToldOnceAndAConnectionThatHasEndedBindsNothing(t *testing.T) {
	run(t, func(w *world) {
		g := &game{}
		c := w.Player(w.Create(g))
		a := c.Handle.Attachment()
		g.Take()
		c.Handle.Ended(false, "reset")
		c.Handle.Ended(true, "a second word")
		w.Want(c.ID, messages.PlayerSessionActive, 1)
		if c.Handle.Attachment() != nil || c.Handle.Bind(a) {
			w.Error("an ended connection serves a player")
		}
		assert.Equal(w, "connection actors are left", w.System.Live(counters.ActorConnection), 0)
	})
}

func TestConnectionsAfterTheHostsEndAreSentAway(t *testing.T) {
	run(t, func(w *world) {
		w.System.Close()
		c := w.Open()
		closedAt(w, c, messages.CloseGoingAway, 0)
		c.LogIn("psess-x", "")
		w.WaitIdle()
	})
}

func TestTheDefaultsAreThoseOfTheSpecification(t *testing.T) {
	assert.Equal(t, "default timeouts", connection.DefaultTimeouts(), (connection.Timeouts{Login: 10 * time.Second, SilenceMin: 6 * time.Second}))
}

// A peer on a slow path is not silent. A ping that is still in transit behind other output cannot be answered yet; the
// time limit starts when the ping has arrived. A peer whose system accepts no more data is detected as fast as any
// other.
func TestASlowPeerIsNotASilentOne(t *testing.T) {
	run(t, func(w *world) {
		c := w.Player(w.Create(nil))
		c.Silence()
		acked := uint64(0)
		for range 120 { // one minute
			w.Pass(500 * time.Millisecond)
			acked += 2000
			c.Slow(acked, true)
		}
		closedAt(w, c, 0, 0)
		c.Slow(acked+10, false) // now the peer's system has the ping
		w.Pass(6*time.Second - time.Millisecond)
		closedAt(w, c, 0, 0)
		w.Pass(3*time.Second + time.Millisecond)
		if reason, _ := c.Closed(); reason != messages.ClosePingTimeout {
			w.Errorf("closed with %v", reason)
		}
	})
	run(t, func(w *world) { // the peer is gone while much data is in transit
		c := w.Player(w.Create(nil))
		c.Silence()
		c.Slow(1000, true)
		w.Pass(6 * time.Second)
		c.Slow(1000, true)
		w.Pass(3 * time.Second)
		if reason, at := c.Closed(); reason != messages.ClosePingTimeout || at > 9*time.Second {
			w.Errorf("closed with %v after %v", reason, at)
		}
	})
}
