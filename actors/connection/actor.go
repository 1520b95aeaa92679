package connection

import (
	"sync"
	"time"

	"troupe/actors/player"
	"troupe/actors/stage"
	"troupe/messages"
)

// Timeouts limit how long a silent peer keeps its connection.
type Timeouts struct {
	// Login is the time limit from accept to LOGIN. The default is 10 s.
	Login time.Duration
	// SilenceMin is the minimum silence after which a logged-in peer counts as lost. The limit is two ping intervals if
	// that is longer. The default is 6 s.
	SilenceMin time.Duration
}

// DefaultTimeouts returns the default Timeouts.
func DefaultTimeouts() Timeouts {
	return Timeouts{Login: 10 * time.Second, SilenceMin: 6 * time.Second} // D-103, realtime.md 12
}

type (
	loginSeen   struct{}
	loginRead   struct{ login *player.Login }
	refuseLater struct {
		handle *Handle
		wait   time.Duration
	}
	refusalDue struct{}
	attached   struct{ to *player.Attachment }
	gone       struct{}
	loginOver  struct{}
	tick       struct{}
)

// OnDeadLetter implements stage.DeadLetter.
func (m loginRead) OnDeadLetter() { m.login.From.Refuse(player.RetrySoon) }

// OnDeadLetter implements stage.DeadLetter.
func (m refuseLater) OnDeadLetter() { m.handle.refuse() }

type state uint8

const (
	awaitingLogin state = iota
	joining
	serving
	refusing // the refusal is delayed
	finished
)

// lateness is the largest acceptable delay of the host's own timer. If a tick is later than that, the peer's deadline
// is extended by the delay (reliability.md 2.7).
const lateness = time.Second

// Actor supervises one connection.
type Actor struct {
	handle   *Handle
	parent   *Supervisor
	timer    *stage.Timer // login timeout, later the timer for ticks
	interval time.Duration
	grace    time.Duration
	state    state
	stuck    bool   // at the last tick a ping had not yet reached the peer's system
	pinged   bool   // at least one ping has been sent
	acked    uint64 // number of bytes that the peer's system had acknowledged at the last tick

	// Times since the handle was opened. 0 means that the time is not set.
	expected  time.Duration // when the next tick is due
	lastPing  time.Duration
	movedAt   time.Duration // time of the last tick at which the output queued before a ping had advanced
	reachedAt time.Duration // time of the first tick at which a ping had reached the peer's system
	trippedAt time.Duration // time at which the round trip was last measured
}

// payloads are pooled because links receive them through an interface, which would force an allocation.
var payloads = sync.Pool{New: func() any { return new([20]byte) }}

// Started implements stage.Actor.
func (a *Actor) Started(c *stage.Context) {
	a.timer = c.AfterAwake(a.parent.timeouts.Login, loginOver{})
}

// Receive implements stage.Actor.
func (a *Actor) Receive(c *stage.Context, msg any) {
	switch m := msg.(type) {
	case loginSeen:
		a.timer.Stop()
	case loginRead:
		a.onLoginRead(m)
	case refuseLater:
		a.onRefuseLater(c, m)
	case refusalDue:
		a.state = finished
		a.handle.refuse()
	case attached:
		a.onAttached(c, m)
	case tick:
		a.onTick(c)
	case loginOver:
		if a.state == awaitingLogin {
			a.end(messages.CloseLoginTimeout)
		}
	case gone:
		a.state = finished
		c.StopSelf()
	default:
		c.Unknown(msg)
	}
}

// Stopped closes a connection that is still open when its actor stops.
func (a *Actor) Stopped(*stage.Context) {
	switch a.state {
	case finished:
	case refusing:
		a.handle.refuse()
	default:
		a.handle.link.Close(messages.CloseInternalError)
	}
}

// end closes the connection. The actor then accepts no login and waits until the transport reports the end.
func (a *Actor) end(reason messages.CloseReason) {
	a.state = finished
	a.handle.link.Close(reason)
}

// onLoginRead forwards the first LOGIN and ignores later ones.
func (a *Actor) onLoginRead(m loginRead) {
	if a.state != awaitingLogin {
		return
	}
	a.state = joining
	a.timer.Stop()
	a.parent.fleet.Tell(m.login)
}

func (a *Actor) onRefuseLater(c *stage.Context, m refuseLater) {
	if a.state == finished {
		return
	}
	a.state = refusing
	a.timer.Stop()
	a.timer = c.After(m.wait, refusalDue{})
}

func (a *Actor) onAttached(c *stage.Context, m attached) {
	if a.state == finished {
		return
	}
	a.state = serving
	a.interval = m.to.PingInterval
	a.timer.Stop()
	a.handle.Alive()
	now := a.handle.age()
	a.lastPing, a.expected = now, now+a.interval
	a.timer = c.After(a.interval, tick{})
}

// beat is the grid on which idle connections tick. Connections that are due together wake the process only once, and
// their pings are sent and answered together. A thousand idle players then cause four wake-ups per second instead of
// three hundred, and the wake-up is most of the cost of a ping. The ticks of busy players are spread instead: each of
// their pongs may confirm hundreds of messages, which would delay other work.
const beat = 250 * time.Millisecond

// together returns the shortest wait of at least d that ends on the grid.
func together(now time.Time, d time.Duration) time.Duration {
	return d + (beat-time.Duration(now.Add(d).UnixNano())%beat)%beat
}

// silence returns for how long the peer has not answered. It does not count the time in which a ping waits behind other
// output, as long as that output advances.
func (a *Actor) silence(now time.Duration) time.Duration {
	acked, reached := a.handle.link.Reached()
	if (!reached || a.stuck) && acked != a.acked {
		a.movedAt = now
	}
	a.acked, a.stuck = acked, !reached
	if reached && a.pinged && a.reachedAt == 0 {
		a.reachedAt = now
	}
	silence := a.handle.Silence()
	if a.movedAt != 0 {
		silence = min(silence, now-a.movedAt)
	}
	return silence
}

// onTick sends a ping if one is due. It ends the connection if the peer has been silent for too long (realtime.md 12).
func (a *Actor) onTick(c *stage.Context) {
	now := a.handle.age()
	if late := now - a.expected; late > lateness {
		a.grace += late
	}
	limit := max(2*a.interval, a.parent.timeouts.SilenceMin) + a.grace
	silence := a.silence(now)
	if silence >= limit {
		a.end(messages.ClosePingTimeout)
		return
	}
	if silence < a.interval {
		a.grace = 0
	}
	if now-a.lastPing >= a.interval {
		a.lastPing, a.pinged = now, true
		payload := payloads.Get().(*[20]byte)
		a.handle.link.Ping(a.handle.mark(payload[:0], a.handle.at(a.reachedAt)))
		payloads.Put(payload)
		a.countRoundTrip(c, now)
	}
	next := max(min(a.interval-(now-a.lastPing), limit-silence), time.Millisecond)
	if silence >= beat {
		next = together(a.handle.opened.Add(now), next)
	}
	a.expected = now + next
	a.timer.Reset(next)
}

// roundTripEvery is the time between two measurements of a connection's round trip. Over TCP a measurement costs two
// system calls.
const roundTripEvery = 15 * time.Second

// countRoundTrip records the transport's estimate of the round trip to the peer.
func (a *Actor) countRoundTrip(c *stage.Context, now time.Duration) {
	if a.trippedAt != 0 && now-a.trippedAt < roundTripEvery {
		return
	}
	a.trippedAt = now
	if link, ok := a.handle.link.(interface{ RoundTrip() time.Duration }); ok {
		if d := link.RoundTrip(); d > 0 {
			c.Counters().RoundTrip.Observe(d)
		}
	}
}

// Open asks the supervisor to spawn the actor of a new connection.
type Open struct{ Handle *Handle }

// OnDeadLetter implements stage.DeadLetter. It closes the connection, because the host is stopping.
func (m Open) OnDeadLetter() { m.Handle.link.Close(messages.CloseGoingAway) }

// Supervisor is the parent of all connection actors. It never replaces an actor that crashes; the actor's Stopped
// closes the connection (reliability.md 4).
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
		c.Spawn(m.Handle.ref, &Actor{handle: m.Handle, parent: s})
	case stage.Exited:
	default:
		c.Unknown(msg)
	}
}
