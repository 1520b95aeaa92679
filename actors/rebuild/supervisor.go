package rebuild

import (
	"time"

	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages/counters"
)

const (
	// PauseMin and PauseMax limit the pause between a crash and the next start (reliability.md 4). An actor that has
	// run for longer than PauseMax counts as healthy again.
	PauseMin = 100 * time.Millisecond
	PauseMax = 30 * time.Second

	waitingMax = 1000 // maximum number of messages that wait for the next actor; further messages are refused
)

// Pause returns the pause before the next start. crashes is the number of earlier crashes.
func Pause(crashes int) time.Duration { return min(PauseMin<<min(crashes, 20), PauseMax) }

// State is the state with which the actor starts.
type State interface {
	// Damaged returns the stored records that were skipped because they are damaged.
	Damaged() []store.Damage
}

// Options describe the supervised actor. All fields except Store are required.
type Options[S State] struct {
	// What the actor manages, in the plural, for log messages.
	What string
	Kind counters.ActorKind
	// Store is the store of the first term, which then begins when the Supervisor starts. If Store is nil, the first
	// term begins with a Begin.
	Store store.Store
	// Load reads the state. It runs in its own goroutine, after all pending commits have ended.
	Load func(store.Store) (S, error)
	// New creates the actor with a state that was read from the given store. The Supervisor calls it.
	New func(S, store.Store) stage.Actor
}

// Supervisor is the parent of the actor and forwards all requests to it. If the actor crashes, the Supervisor replaces
// it by one that is rebuilt from the store. It waits PauseMin before that, and up to PauseMax if crashes repeat.
type Supervisor[S State] struct {
	o Options[S]

	// The actor owns the following fields.
	store   store.Store // store of the current or last term
	state   S           // state for the next child
	child   *stage.Ref
	leaving *stage.Ref // the child of an ended term that has not stopped yet
	off     bool       // no term is in progress
	loading bool       // the store is being read or is about to be read
	term    int        // number of ended terms
	waiting []any      // messages that arrived while there is no child
	crashes int
	since   time.Time
}

// New returns a Supervisor. Its first actor starts with the state first.
func New[S State](o Options[S], first S) *Supervisor[S] {
	return &Supervisor[S]{o: o, store: o.Store, state: first, off: o.Store == nil}
}

type (
	// Begin begins a term: an actor starts with the contents of Store. If Store is nil, the previous term's store is
	// used.
	Begin struct{ Store store.Store }
	// End ends a term: the actor stops, and all messages become dead letters until the next term.
	End           struct{}
	restart       struct{ term int }
	reload[S any] struct {
		term  int
		state S
		err   error
	}
)

// Child returns the actor, or nil if there is none. It is only for tests that know that no message is being processed.
func (s *Supervisor[S]) Child() *stage.Ref { return s.child }

// Started implements stage.Actor.
func (s *Supervisor[S]) Started(c *stage.Context) {
	if !s.off {
		s.spawn(c)
	}
}

// Stopped implements stage.Actor.
func (s *Supervisor[S]) Stopped(*stage.Context) {
	for _, msg := range s.takeWaiting() {
		deadLetter(msg)
	}
}

// Receive implements stage.Actor.
func (s *Supervisor[S]) Receive(c *stage.Context, msg any) {
	switch m := msg.(type) {
	case stage.Exited:
		s.onExited(c, m)
	case Begin:
		if s.off = false; m.Store != nil {
			s.store = m.Store
		}
		s.load(c)
	case End:
		s.end()
	case restart:
		if m.term == s.term {
			s.onRestart(c)
		}
	case reload[S]:
		s.onReload(c, m)
	default:
		switch {
		case s.off:
			deadLetter(msg)
		case s.child != nil:
			s.child.Tell(msg)
		case len(s.waiting) < waitingMax:
			s.waiting = append(s.waiting, msg)
		default:
			deadLetter(msg)
		}
	}
}

// end ends the term and stops the actor. Requests that the actor has not completed by then are refused.
func (s *Supervisor[S]) end() {
	s.off, s.loading = true, false
	s.term++
	if s.child != nil {
		s.leaving, s.child = s.child, nil
		s.leaving.Stop()
	}
	for _, msg := range s.takeWaiting() {
		deadLetter(msg)
	}
}

// load reads the store and starts an actor. It does nothing if there is an actor, if one is about to start, or if one
// is still stopping.
func (s *Supervisor[S]) load(c *stage.Context) {
	if s.child == nil && s.leaving == nil && !s.loading && !s.off {
		s.loading = true
		c.Self().Tell(restart{s.term})
	}
}

func deadLetter(msg any) {
	if u, ok := msg.(stage.DeadLetter); ok {
		u.OnDeadLetter()
	}
}

func (s *Supervisor[S]) takeWaiting() []any {
	waiting := s.waiting
	s.waiting = nil
	return waiting
}

func (s *Supervisor[S]) spawn(c *stage.Context) {
	var none S
	s.child = c.Stage().NewRefBeside(c.Self(), s.o.Kind, stage.LaneLimits{})
	c.Spawn(s.child, s.o.New(s.state, s.store))
	s.state, s.since = none, time.Now()
	for _, msg := range s.takeWaiting() {
		s.child.Tell(msg)
	}
}

func (s *Supervisor[S]) onExited(c *stage.Context, m stage.Exited) {
	switch m.Ref {
	case s.leaving:
		s.leaving = nil
		s.load(c)
		return
	default:
		return
	case s.child:
	}
	s.child, s.loading = nil, true
	if time.Since(s.since) > PauseMax {
		s.crashes = 0
	}
	pause := Pause(s.crashes)
	s.crashes++
	c.Counters().Restarts.Add(s.o.Kind, 1)
	c.Log().Error().Str("reason", m.Crash).Dur("pause_ms", pause).Msg(s.o.What + " are rebuilt from the store")
	c.After(pause, restart{s.term})
}

// onRestart reads the store in a goroutine, after all pending commits have ended.
func (s *Supervisor[S]) onRestart(c *stage.Context) {
	self, load, from, term := c.Self(), s.o.Load, s.store, s.term
	go func() {
		from.Flush()
		state, err := load(from)
		self.Tell(reload[S]{term, state, err})
	}()
}

func (s *Supervisor[S]) onReload(c *stage.Context, m reload[S]) {
	if m.term != s.term {
		return
	}
	if m.err != nil {
		c.Log().Error().Err(m.err).Msg(s.o.What + " cannot be read")
		c.After(PauseMax, restart{s.term})
		return
	}
	if damaged := m.state.Damaged(); len(damaged) > 0 {
		c.Log().Error().Int("records", len(damaged)).Str("first", damaged[0].String()).Msg(s.o.What + ": stored records are left out: see troupe store check")
	}
	s.state, s.loading = m.state, false
	s.spawn(c)
}
