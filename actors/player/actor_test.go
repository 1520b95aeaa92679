package player

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// fakeSession is the game session of one player. It accepts every login, restarts the player's actor and records the
// messages it receives.
type fakeSession struct {
	h     *Handle
	d     *Durable
	rules Rules

	mu   sync.Mutex
	told []string
}

func (s *fakeSession) Started(c *stage.Context) { s.spawn(c) }
func (s *fakeSession) Stopped(*stage.Context)   {}

func (s *fakeSession) spawn(c *stage.Context) {
	ref := c.Stage().NewRefBeside(c.Self(), counters.ActorPlayer, stage.LaneLimits{})
	s.h.SetActor(ref)
	c.Spawn(ref, New(&Options{Session: c.Self(), Rules: s.rules, Window: 30 * time.Second, PingInterval: time.Second}, s.d, nil))
}

func (s *fakeSession) Receive(c *stage.Context, msg any) {
	word := strings.TrimPrefix(fmt.Sprintf("%T", msg), "player.")
	switch m := msg.(type) {
	case GateAsked:
		m.Player.Peer = 1
		m.Player.Tell(GateAnswer{Attempt: m.Attempt, OK: true, Peer: 1})
	case IsLeaving:
		m.Player.Tell(LeaveHandled{})
		word += ": " + m.Reason
	case StatusChanged:
		word = m.Status.String()
	case stage.Exited:
		if word = "exited"; m.Crash != "" {
			word = "crashed"
			s.spawn(c)
		}
	}
	s.mu.Lock()
	s.told = append(s.told, word)
	s.mu.Unlock()
}

func (s *fakeSession) take(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.told, want) {
		t.Errorf("the game session was told\n     %q\nwant %q", s.told, want)
	}
	s.told = nil
}

// loginConn is a connection that may fail during the login.
type loginConn struct {
	fakeLink
	broken  bool
	bound   bool
	refused bool
	gone    bool
}

func (n *loginConn) Link() Link { return &n.fakeLink }
func (n *loginConn) OpenFast(messages.PeerID) FastOffer {
	if n.broken {
		panic("bug in a transport")
	}
	return FastOffer{Port: 1}
}
func (n *loginConn) Bind(*Attachment) bool              { n.bound = true; return true }
func (n *loginConn) SetRefusal(wire.Refusal)            {}
func (n *loginConn) CountRefusal(counters.LoginRefusal) {}
func (n *loginConn) Refuse(time.Duration)               { n.refused = true }
func (n *loginConn) Challenge()                         {}
func (n *loginConn) Gone() bool                         { return n.gone }
func (n *loginConn) Silence() time.Duration             { return time.Hour }
func (n *loginConn) Channel() counters.Channel          { return counters.WS }

func inBubble(t *testing.T, test func(t *testing.T, s *fakeSession)) {
	t.Helper()
	inBubbleWith(t, func(*Durable) {}, test)
}

func inBubbleWith(t *testing.T, prepare func(*Durable), test func(t *testing.T, s *fakeSession)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		var count counters.Set
		st := stage.New(stage.Options{Log: zerolog.Nop(), Counters: &count, Shards: 1})
		time.Sleep(time.Second)
		h := NewHandle("psess-1", messages.NewPlayer{PlayerID: "p"}, time.Now(), &Budget{BytesMax: 1 << 20, MessagesMax: 4}, &count)
		s := &fakeSession{h: h, d: NewDurable(h), rules: Rules{Window: true, Takeover: true}}
		prepare(s.d)
		ref := st.NewRef(counters.ActorGameSession, stage.LaneLimits{})
		st.SpawnRoot(ref, s)
		synctest.Wait()
		test(t, s)
		ref.Stop()
		time.Sleep(2 * time.Second)
		h.Close()
		st.Close()
	})
}

func (s *fakeSession) enter(n *loginConn) *loginConn {
	s.h.Tell(&Login{ID: s.h.ID, From: n, At: time.Now()})
	synctest.Wait()
	return n
}

// RL-8: a report of an overflow is stale if a detach or an attach has ended the overflow in the meantime.
func TestAStaleOverflowChangesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, s *fakeSession) {
		n := s.enter(&loginConn{})
		s.take(t, "GateAsked", "Accepted", "ACTIVE")
		s.h.Tell(outboxFull{})
		s.take(t)
		if len(n.closed) > 0 {
			t.Errorf("a good connection is closed with %v", n.closed)
		}
		s.h.Tell(Ended{Player: s.h, Epoch: 1})
		s.h.Tell(outboxFull{}) // the overflow happened before the loss
		s.take(t, "WentAway")
		if m := s.enter(&loginConn{}); !m.bound || m.refused {
			t.Error("not resumed")
		}
		s.take(t, "CameBack")
	})
}

func TestAnOverflowIsHeardByTheActorsSuccessor(t *testing.T) {
	inBubble(t, func(t *testing.T, s *fakeSession) {
		var made frames
		s.enter(&loginConn{}).drain()
		s.h.Tell(stage.Panic{Text: "a test wants it"})
		for range 9 { // the budget of 4 messages and a reserve of 4 are kept; the ninth is too many
			s.h.Out.Push(made.make(1))
		}
		s.take(t, "GateAsked", "Accepted", "ACTIVE", "crashed", "WentAway", "IsLeaving: slow_consumer", "COMPLETED", "exited")
		s.h.Close()
		made.balanced(t)
	})
}

// If the actor crashes between Bind and LOGIN_RESPONSE, the peer must not be left waiting forever.
func TestACrashOnTheWayInClosesTheBoundConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, s *fakeSession) {
		n := s.enter(&loginConn{broken: true}) // the login was accepted
		if !n.bound || len(n.closed) == 0 || n.closed[0] != messages.CloseInternalError {
			t.Errorf("bound %v, closed with %v", n.bound, n.closed)
		}
		s.take(t, "GateAsked", "Accepted", "crashed", "WentAway")
		n = s.enter(&loginConn{broken: true}) // the login would resume
		if !n.bound || len(n.closed) == 0 || n.closed[0] != messages.CloseInternalError {
			t.Errorf("bound %v, closed with %v", n.bound, n.closed)
		}
		s.take(t, "crashed", "WentAway")
		n = s.enter(&loginConn{})
		if n.drain(); len(n.got) != 1 || n.got[0] != -1 {
			t.Errorf("got %v, want one LOGIN_RESPONSE", n.got)
		}
		s.take(t, "CameBack")
	})
}

func TestASuccessorFinishesWhatIsOver(t *testing.T) {
	for _, test := range []struct {
		m    Machine
		want []string
	}{
		{Machine{State: Gone}, []string{"TIMEDOUT", "exited"}},
		{Machine{State: Gone, Epoch: 3}, []string{"COMPLETED", "exited"}},
		{Machine{State: Leaving, Epoch: 1}, []string{"IsLeaving: ", "COMPLETED", "exited"}},
		{Machine{State: Joining, Attempt: 1, Reservation: ReservationExpired}, []string{"JoinOver", "TIMEDOUT", "exited"}},
		{Machine{State: Joining, Attempt: 1}, []string{"JoinOver"}},
		{Machine{State: Attached, Epoch: 1}, []string{"WentAway"}},
	} {
		inBubbleWith(t, func(d *Durable) { d.machine = test.m }, func(t *testing.T, s *fakeSession) {
			s.take(t, test.want...)
		})
	}
}

// reliability.md 4: a restarted actor checks the state that it takes over. Inconsistent state ends the player session
// with a reason.
func TestASuccessorEndsAPlayerSessionWithInconsistentState(t *testing.T) {
	inBubble(t, func(t *testing.T, s *fakeSession) {
		s.enter(&loginConn{})
		s.take(t, "GateAsked", "Accepted", "ACTIVE")
		s.h.Out.mu.Lock()
		s.h.Out.queue.bytes++
		s.h.Out.mu.Unlock()
		s.h.Tell(stage.Panic{Text: "a test wants it"})
		s.take(t, "crashed", "IsLeaving: player state is inconsistent", "COMPLETED", "exited")
	})
}

// Without takeover, a new login is refused in favour of the login that waits for the gate, but only while that login's
// connection exists.
func TestWhatALoginMeansForOneThatWaits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rules   Rules
		gone    bool
		payload string
		want    Join
	}{
		{Rules{Window: true, Takeover: true}, false, "", JoinInstead}, {Rules{Window: true, Takeover: true}, false, "other", JoinAnew},
		{Rules{Window: true}, false, "", JoinBehind}, {Rules{Window: true}, true, "", JoinInstead}, {Rules{Window: true}, true, "other", JoinAnew},
		{Rules{Takeover: true}, false, "", JoinBehind}, {Rules{Takeover: true}, true, "", JoinInstead},
	} {
		a := Actor{o: &Options{Rules: c.rules}, d: &Durable{waiting: &Login{From: &loginConn{gone: c.gone}}}}
		if got := a.joins(&Login{Payload: []byte(c.payload)}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
