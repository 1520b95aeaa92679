package matchmaker

import (
	"time"

	"troupe/actors/stage"
	"troupe/messages/counters"
)

// Supervisor is the parent of the Manager and forwards all requests to it. It replaces a
// Manager that crashes by one that is rebuilt from the store, after 100 ms, or up to 30 s if
// crashes repeat (reliability.md 4).
type Supervisor struct {
	o      Options
	placer Placer

	// owned by the actor
	state   *State // for the next Manager
	manager *stage.Ref
	waiting []any // messages that came while there is no Manager
	crashes int
	since   time.Time
}

const (
	restartMin = 100 * time.Millisecond
	restartMax = 30 * time.Second
	waitingMax = 1000 // messages that wait for a new Manager; more are refused
)

// New returns a Supervisor whose first Manager starts with s, a result of Load. The Placer finds game sessions for matches.
func New(o Options, placer Placer, s *State) *Supervisor {
	if s == nil {
		s = new(State)
	}
	return &Supervisor{o: o.withDefaults(), placer: placer, state: s}
}

type (
	restart struct{}
	reload  struct {
		state *State
		err   error
	}
)

// Started implements stage.Actor.
func (s *Supervisor) Started(c *stage.Context) { s.spawn(c) }

// Stopped implements stage.Actor.
func (s *Supervisor) Stopped(*stage.Context) { s.refuse() }

// Receive implements stage.Actor.
func (s *Supervisor) Receive(c *stage.Context, msg any) {
	switch m := msg.(type) {
	case stage.Exited:
		s.onExited(c, m)
	case restart:
		s.onRestart(c)
	case reload:
		s.onReload(c, m)
	default:
		switch {
		case s.manager != nil:
			s.manager.Tell(msg)
		case len(s.waiting) < waitingMax:
			s.waiting = append(s.waiting, msg)
		default:
			deadLetter(msg)
		}
	}
}

func deadLetter(msg any) {
	if u, ok := msg.(stage.DeadLetter); ok {
		u.OnDeadLetter()
	}
}

func (s *Supervisor) refuse() {
	waiting := s.waiting
	s.waiting = nil
	for _, msg := range waiting {
		deadLetter(msg)
	}
}

func (s *Supervisor) spawn(c *stage.Context) {
	s.manager = c.Stage().NewRefBeside(c.Self(), counters.ActorMatchmaker, stage.LaneLimits{})
	c.Spawn(s.manager, newManager(s.o, s.placer, s.state))
	s.state, s.since = nil, time.Now()
	waiting := s.waiting
	s.waiting = nil
	for _, msg := range waiting {
		s.manager.Tell(msg)
	}
}

func (s *Supervisor) onExited(c *stage.Context, m stage.Exited) {
	if m.Ref != s.manager {
		return
	}
	s.manager = nil
	if time.Since(s.since) > restartMax {
		s.crashes = 0
	}
	pause := min(restartMin<<min(s.crashes, 20), restartMax)
	s.crashes++
	c.Counters().Restarts.Add(counters.ActorMatchmaker, 1)
	c.Log().Error().Str("reason", m.Crash).Dur("pause_ms", pause).Msg("matchmaking is rebuilt from the store")
	c.After(pause, restart{})
}

// onRestart reads the store in a goroutine, after all pending commits.
func (s *Supervisor) onRestart(c *stage.Context) {
	self, from := c.Self(), s.o.Store
	go func() {
		from.Flush()
		state, err := Load(from)
		self.Tell(reload{state, err})
	}()
}

func (s *Supervisor) onReload(c *stage.Context, m reload) {
	if m.err != nil {
		c.Log().Error().Err(m.err).Msg("matchmaking cannot be read")
		c.After(restartMax, restart{})
		return
	}
	if damaged := m.state.Damaged(); len(damaged) > 0 {
		c.Log().Error().Int("records", len(damaged)).Str("first", damaged[0].String()).Msg("stored records of matchmaking are left out: see troupe store check")
	}
	s.state = m.state
	s.spawn(c)
}
