package player

import (
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/messages"
	"troupe/messages/wire"
)

// play makes moves on a stand.
func (s *stand) play(t *testing.T, moves ...move) {
	t.Helper()
	for _, m := range moves {
		if err := try(func() { s.make(m) }); err != nil {
			t.Fatalf("%v: %v", m, err)
		}
	}
}

// rest lets everything that is on its way arrive.
func (s *stand) rest(t *testing.T) {
	t.Helper()
	for {
		moves, live := s.moves(nil)
		if !live {
			assert.NoError(t, try(s.checkQuiet))
			return
		}
		for _, m := range moves {
			if m.soon() {
				s.play(t, m)
				break
			}
		}
	}
}

func onStand(kinds ...client) *stand {
	s := newStand()
	s.begin(&plan{devices: kinds, rules: holds, budget: budget{dials: 8, pushes: 60, sends: 60, cuts: 8, pings: 60, fasts: 9, windows: 9, leaves: 9}})
	return s
}

func TestADeadTokenIsRefusedAndTheLiveConnectionUntouched(t *testing.T) {
	s := onStand(extended)
	s.play(t, move{dials, 0})
	s.rest(t)
	s.play(t, move{pushes, 0}, move{sends, 0})
	s.rest(t)
	before := s.hostKey()
	s.conns = append(s.conns, wireup{})
	s.tell(&Login{From: s.links[1], At: time.Now(), Caps: wire.CapNumbers, Token: "guessed"})
	if c := s.conns[1]; !c.closed || c.bound != nil || c.down[0].after != 0 {
		t.Errorf("the guess was answered with %+v", c)
	}
	if s.hostKey() != before || s.count.DeadTokens.Load() != 1 {
		t.Error("the guess changed something, or was not counted")
	}
}

func TestALoginThatClaimsWhatWasNeverSentIsNotBelieved(t *testing.T) {
	s := onStand(extended)
	s.play(t, move{dials, 0})
	s.rest(t)
	s.conns = append(s.conns, wireup{})
	s.tell(&Login{From: s.links[1], At: time.Now(), Caps: wire.CapNumbers, Token: s.devices[0].token, LastReceived: 1})
	if !s.conns[1].closed || !s.conns[0].source {
		t.Error("it was let in")
	}
}

// A connection that has ended by the time its login is decided pushes nobody out.
func TestALoginWhoseConnectionHasEndedChangesNothing(t *testing.T) {
	s := onStand(extended)
	s.play(t, move{dials, 0})
	s.rest(t)
	before := s.hostKey()
	s.conns = append(s.conns, wireup{cut: true, ended: true})
	s.tell(&Login{From: s.links[1], At: time.Now(), Caps: wire.CapNumbers, Token: s.devices[0].token})
	if s.hostKey() != before || !s.conns[0].source {
		t.Error("it took the player over")
	}
}

// The answer with the new token is lost, again and again.
func TestALostLoginResponseLeavesTheOldTokenGood(t *testing.T) {
	s := onStand(extended)
	s.play(t, move{dials, 0})
	s.rest(t)
	for i := range int8(3) {
		s.play(t, move{pushes, 0}, move{sends, 0}, move{cuts, i}, move{dials, 0}, move{arrivesUp, i + 1}, move{writes, i + 1})
	}
	s.play(t, move{cuts, 3}, move{dials, 0})
	s.rest(t)
	if d := s.devices[0]; !d.live || d.received != 3 || s.app[0] != 3 || s.actor.d.machine.Epoch != 5 {
		t.Errorf("%+v, the game got %d", d, s.app[0])
	}
}

func TestAResumeBeforeTheLossIsNoticedAndALateClose(t *testing.T) {
	s := onStand(extended)
	s.play(t, move{dials, 0})
	s.rest(t)
	s.play(t, move{pushes, 0}, move{sends, 0}, move{cuts, 0}, move{dials, 0}, move{arrivesUp, 1})
	if m := s.actor.d.machine; m.State != Attached || m.Epoch != 2 {
		t.Fatalf("%+v", m)
	}
	s.rest(t) // also the end of connection 0
	if m := s.actor.d.machine; m.State != Attached || m.Epoch != 2 || s.count.OldEpochs.Load() != 1 {
		t.Errorf("%+v, %d late events", m, s.count.OldEpochs.Load())
	}
	if s.devices[0].received != 1 || s.app[0] != 1 {
		t.Errorf("the client got %d, the game %d", s.devices[0].received, s.app[0])
	}
}

func TestAPlayerMayComeBackManyTimesWithoutAWordBetween(t *testing.T) {
	s := onStand(extended)
	for i := range int8(6) {
		s.play(t, move{dials, 0})
		s.rest(t)
		s.play(t, move{cuts, i})
		s.rest(t)
	}
	s.play(t, move{pushes, 0}, move{dials, 0}, move{sends, 0})
	s.rest(t)
	if s.devices[0].received != 1 || s.app[0] != 1 {
		t.Errorf("the client got %d, the game %d", s.devices[0].received, s.app[0])
	}
}

// The window's end and a login may wait in the same mailbox: one of them wins.
func TestExactlyOneOfResumeAndLeaveWinsATie(t *testing.T) {
	for _, loginFirst := range []bool{true, false} {
		s := onStand(extended)
		s.play(t, move{dials, 0})
		s.rest(t)
		s.play(t, move{cuts, 0})
		s.rest(t)
		s.play(t, move{dials, 0})
		if loginFirst {
			s.play(t, move{arrivesUp, 1}, move{windowIsOver, 0})
			if m := s.actor.d.machine; m.State != Attached || s.leavings != 0 {
				t.Errorf("%+v after a resume", m)
			}
			continue
		}
		s.play(t, move{windowIsOver, 0}, move{arrivesUp, 1})
		if m := s.actor.d.machine; m.State != Gone || s.leavings != 1 || !s.conns[1].closed {
			t.Errorf("%+v after the window", m)
		}
	}
}

// A client whose numbers have a gap is closed with 4008 and may resume.
func TestANumberOutOfOrderIsALoss(t *testing.T) {
	s := onStand(extended)
	s.play(t, move{dials, 0})
	s.rest(t)
	if r := s.out.Receive(1, 2); r != Violation {
		t.Fatalf("number 2 is %d", r)
	}
	s.tell(OutOfOrder{Epoch: 1})
	if c := s.conns[0]; c.down[len(c.down)-1].reason != messages.CloseOutOfOrder || s.actor.d.machine.State != Detached {
		t.Errorf("%v, closed with %v", s.actor.d.machine.State, c.down)
	}
	s.rest(t)
	s.tell(OutOfOrder{Epoch: 1})
	s.play(t, move{dials, 0})
	s.rest(t)
	s.tell(OutOfOrder{Epoch: 1}) // late
	assert.Equal(t, "not resumed", s.actor.d.machine.State, Attached)
}
