package player

import (
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/messages"
	"troupe/messages/wire"
)

// play makes the given moves on a stand.
func (s *stand) play(t *testing.T, moves ...move) {
	t.Helper()
	for _, m := range moves {
		if err := try(func() { s.make(m) }); err != nil {
			t.Fatalf("%v: %v", m, err)
		}
	}
}

// rest lets everything in transit arrive.
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

// A login must not take over the player if its token is invalid, if it claims messages that were never sent, or if its
// connection has ended by the time of the decision.
func TestALoginThatIsNotBelievedLeavesTheLiveConnectionUntouched(t *testing.T) {
	for name, test := range map[string]struct {
		login   Login
		from    wireup
		refused bool
		dead    int64
	}{
		"a dead token":                {login: Login{Token: "guessed"}, refused: true, dead: 1},
		"a claim":                     {login: Login{LastReceived: 2}, refused: true, dead: 1},
		"a connection that has ended": {from: wireup{cut: true, ended: true}},
	} {
		s := onStand(extended)
		s.play(t, move{dials, 0})
		s.rest(t)
		s.play(t, move{pushes, 0}, move{sends, 0})
		s.rest(t)
		before := s.hostKey()
		s.conns = append(s.conns, test.from)
		q := test.login
		q.From, q.At, q.Caps = s.links[1], time.Now(), wire.CapNumbers
		if q.Token == "" {
			q.Token = s.devices[0].token
		}
		s.tell(&q)
		if c := s.conns[1]; c.closed != test.refused || c.bound != nil || test.refused && c.down[0].after != 0 {
			t.Errorf("%s is answered with %+v", name, c)
		}
		if s.hostKey() != before || !s.conns[0].source || s.count.DeadTokens.Load() != test.dead {
			t.Errorf("%s changed something, or was not counted", name)
		}
	}
}

// If a client's message numbers have a gap, its connection is closed with 4008, and the client may resume.
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
	s.tell(OutOfOrder{Epoch: 1}) // this report is late
	assert.Equal(t, "not resumed", s.actor.d.machine.State, Attached)
}
