package connection

import (
	"troupe/actors/stage"
	"troupe/messages"
)

// Open tells the supervisor to spawn the actor of a new connection.
type Open struct{ Handle *Handle }

// OnDeadLetter implements stage.DeadLetter: the host is stopping.
func (m Open) OnDeadLetter() { m.Handle.link.Close(messages.CloseGoingAway) }

// Supervisor is the parent of all connection actors. A connection that crashes
// is closed by its own Stopped and never replaced (reliability.md 4).
type Supervisor struct {
	fleet    *stage.Ref
	timeouts Timeouts
}

// NewSupervisor returns the parent of all connections. Logins go to fleet.
func NewSupervisor(fleet *stage.Ref, t Timeouts) *Supervisor {
	return &Supervisor{fleet: fleet, timeouts: t}
}

// Started implements stage.Actor.
func (s *Supervisor) Started(*stage.Context) {}

// Stopped implements stage.Actor.
func (s *Supervisor) Stopped(*stage.Context) {}

// Receive implements stage.Actor.
func (s *Supervisor) Receive(c *stage.Context, msg any) {
	switch m := msg.(type) {
	case Open:
		c.Spawn(m.Handle.ref, newActor(m.Handle, s))
	case stage.Exited:
	default:
		c.Unknown(msg)
	}
}
