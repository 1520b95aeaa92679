package player

import (
	"time"

	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// ReservationTime is how long a reserved seat waits for its login
// (service-api.md 2.7, R17).
const ReservationTime = 60 * time.Second

// Durable is what survives a restart of the player actor.
type Durable struct {
	Handle  *Handle
	machine Machine
	// deadlines on the monotonic clock
	reservedUntil time.Time
	windowUntil   time.Time
	waiting       Newcomer // the login before the gate
	waitingAt     time.Time
	fault         string // why the connection of this epoch is ending
}

// NewDurable returns the state of a fresh reservation.
func NewDurable(h *Handle) *Durable {
	return &Durable{Handle: h, machine: NewMachine(), reservedUntil: time.Now().Add(ReservationTime)}
}

// State returns where the player session stands. For the game session, between
// the player actor's life and its successor's, and for tests.
func (d *Durable) State() State { return d.machine.State }

// Options are what a player actor needs besides its Durable.
type Options struct {
	Session      *stage.Ref // the game session: parent and addressee of all reports
	Rules        Rules
	Window       time.Duration // reconnect.window; 0 is strict mode
	PingInterval time.Duration
	// Activate shows the player session as ACTIVE; called right before the answer
	// to its login (realtime.md 6.1 step 5).
	Activate func()
}

// Actor carries out what the Machine decides.
type Actor struct {
	o           Options
	d           *Durable
	reservation *stage.Timer
	window      *stage.Timer
	login       *Login // the one in hand, for RefuseLogin and Resume
	endReason   messages.CloseReason
	gauge       counters.PlayerState
}

// New returns the actor that rules d from now on.
func New(o Options, d *Durable) *Actor {
	return &Actor{o: o, d: d, endReason: messages.CloseGameEnded}
}

// Started puts a carried state in order: timers go on, and a connection or a
// login that the predecessor left behind is given up (reliability.md 4).
func (a *Actor) Started(c *stage.Context) {
	a.setGauge(c)
	switch a.d.machine.State {
	case Reserved:
		a.reservation = c.After(time.Until(a.d.reservedUntil), reservationOver{})
	case Joining:
		a.reservation = c.After(time.Until(a.d.reservedUntil), reservationOver{})
		a.step(c, Event{Kind: JoinLost, Attempt: a.d.machine.Attempt})
	case Attached:
		a.d.fault = "player actor restarted"
		a.step(c, Event{Kind: ConnectionLost, Epoch: a.d.machine.Epoch})
	case Detached:
		a.window = c.After(time.Until(a.d.windowUntil), windowOver{a.d.machine.Epoch})
	case Leaving:
		a.do(c, TellLeaving)
	case Gone: // the predecessor may not have come to say so
		if a.d.machine.Epoch > 0 {
			a.do(c, SetCompleted)
		} else {
			a.do(c, SetTimedOut)
		}
		a.do(c, End)
	}
	a.onOutboxFull(c) // nobody was there to be told
}

// Receive implements stage.Actor.
func (a *Actor) Receive(c *stage.Context, msg any) {
	switch m := msg.(type) {
	case *Login:
		a.onLogin(c, m)
	case GateAnswer:
		a.onGateAnswer(c, m)
	case Ended:
		a.onEnded(c, m)
	case outboxFull:
		a.onOutboxFull(c)
	case reservationOver:
		a.step(c, Event{Kind: ReservationOver})
	case windowOver:
		a.d.fault = "reconnect window is over"
		a.step(c, Event{Kind: WindowOver, Epoch: m.epoch})
	case Kick:
		a.d.fault = "kicked: " + m.Reason
		a.step(c, Event{Kind: Kicked})
	case EndGame:
		a.endReason = m.Reason
		a.step(c, Event{Kind: GameEnded})
	case LeaveHandled:
		a.step(c, Event{Kind: LeaveDone})
	default:
		c.Counters().ActorMessages.Add(1)
	}
}

// Stopped lets go of the connection. An orderly end has done so already; after a
// crash the successor takes over the Durable.
func (a *Actor) Stopped(c *stage.Context) {
	if a.gauge != 0 {
		c.Counters().Players.Add(a.gauge, -1)
		a.gauge = 0
	}
	if link := a.d.Handle.Out.detach(); link != nil {
		link.Close(messages.CloseInternalError)
	}
	if a.d.waiting != nil {
		if a.d.machine.State == Joining {
			a.d.waiting.Refuse()
		} else { // bound, but the crash came before its answer
			a.d.waiting.Link().Close(messages.CloseInternalError)
		}
		a.d.waiting = nil
	}
	a.d.Handle.dropFast()
}

func (a *Actor) onLogin(c *stage.Context, m *Login) {
	a.login = m
	defer func() { a.login = nil }()
	a.endIfLost(c)
	if a.resumes() {
		// The claim is laid before the machine moves: a connection that has ended
		// meanwhile must not push a live one out.
		if !m.From.Bind(a.attachment(a.d.machine.Epoch + 1)) {
			return
		}
	}
	a.step(c, Event{Kind: LoginArrived})
}

// resumes reports whether a login now would attach at once.
func (a *Actor) resumes() bool {
	s := a.d.machine.State
	return s == Detached || s == Attached && a.o.Rules.Window && a.o.Rules.Takeover
}

func (a *Actor) onGateAnswer(c *stage.Context, m GateAnswer) {
	e := Event{Kind: GateRefused, Attempt: m.Attempt}
	if m.OK && a.d.machine.State == Joining && a.d.machine.Attempt == m.Attempt {
		e.Kind = GateAccepted
		if !a.d.waiting.Bind(a.attachment(a.d.machine.Epoch + 1)) {
			e.Kind = JoinLost
		}
	}
	a.step(c, e)
	a.endIfLost(c) // of what was held before the gate's answer
}

func (a *Actor) onEnded(c *stage.Context, m Ended) {
	kind := ConnectionLost
	if m.Clean {
		kind = ConnectionLeft
	}
	if m.Epoch == a.d.machine.Epoch {
		a.d.fault = m.Reason
	}
	a.step(c, Event{Kind: kind, Epoch: m.Epoch})
}

// onOutboxFull detaches, and ends the player session if something reliable
// could not be kept. It asks the outbox: an attach or a detach may have settled
// the matter since it was reported, which was then one of an older epoch (R8).
func (a *Actor) onOutboxFull(c *stage.Context) {
	full, lost := a.d.Handle.Out.overflow()
	if !full && !lost {
		return
	}
	a.d.fault = "outbound queue full"
	a.step(c, Event{Kind: OutboxFull})
	if lost && a.d.machine.State == Detached {
		a.step(c, Event{Kind: OutboxFull})
	}
}

// endIfLost ends a player session that has lost something reliable before a
// connection can go on with a gap (R2).
func (a *Actor) endIfLost(c *stage.Context) {
	if _, lost := a.d.Handle.Out.overflow(); lost {
		a.onOutboxFull(c)
	}
}

func (a *Actor) attachment(e messages.Epoch) *Attachment {
	return &Attachment{Player: a.d.Handle, Epoch: e, Peer: a.d.Handle.Peer, Session: a.o.Session, PingInterval: a.o.PingInterval}
}

func (a *Actor) step(c *stage.Context, e Event) {
	next, effects := a.d.machine.Step(a.o.Rules, e)
	a.d.machine = next
	a.setGauge(c)
	for _, effect := range effects {
		a.do(c, effect)
	}
}

func (a *Actor) setGauge(c *stage.Context) {
	g := a.d.machine.State.gauge()
	if g == a.gauge {
		return
	}
	if a.gauge != 0 {
		c.Counters().Players.Add(a.gauge, -1)
	}
	if g != 0 {
		c.Counters().Players.Add(g, 1)
	}
	a.gauge = g
}

// do carries out one effect.
func (a *Actor) do(c *stage.Context, effect Effect) {
	h := a.d.Handle
	switch effect {
	case AskGate:
		a.d.waiting, a.d.waitingAt = a.login.From, a.login.At
		a.o.Session.Tell(GateAsked{Player: h, Attempt: a.d.machine.Attempt, Payload: a.login.Payload})
	case RefuseLogin:
		a.login.From.Refuse()
	case RefuseWaiting:
		if a.d.waiting != nil {
			a.d.waiting.Refuse()
			a.d.waiting = nil
		}
	case ReleasePeer:
		a.o.Session.Tell(JoinOver{Player: h})
	case Accept:
		a.o.Session.Tell(Accepted{Player: h}) // before anything the client can send
		if a.o.Activate != nil {
			a.o.Activate()
		}
		a.attach(c, a.d.waiting, a.d.waitingAt, counters.LoginNew)
		a.d.waiting = nil
	case FenceOld:
		if link := h.Out.detach(); link != nil {
			link.Close(messages.CloseTakenOver)
		}
	case Resume:
		a.attach(c, a.login.From, a.login.At, counters.LoginResumed)
		a.o.Session.Tell(CameBack{Player: h, Epoch: a.d.machine.Epoch})
	case CloseSlow:
		a.closeLink(messages.CloseSlowConsumer)
	case CloseKicked:
		h.Out.surrender(messages.CloseKicked)
	case CloseEnded:
		h.Out.surrender(a.endReason)
	case Drop:
		h.Out.detach()
		h.dropFast()
	case StartWindow:
		a.d.windowUntil = time.Now().Add(a.o.Window)
		a.window = c.After(a.o.Window, windowOver{a.d.machine.Epoch})
	case StopWindow:
		a.window.Stop()
	case StopReservation:
		a.reservation.Stop()
		a.reservation = nil
	case TellDetached:
		a.o.Session.Tell(WentAway{Player: h, Reason: a.d.fault})
	case TellLeaving:
		a.o.Session.Tell(IsLeaving{Player: h, Reason: a.d.fault})
	case SetActive:
		a.o.Session.Tell(StatusChanged{Player: h, Status: messages.PlayerSessionActive})
	case SetCompleted:
		a.o.Session.Tell(StatusChanged{Player: h, Status: messages.PlayerSessionCompleted})
	case SetTimedOut:
		a.o.Session.Tell(StatusChanged{Player: h, Status: messages.PlayerSessionTimedOut})
	case CountOldEpoch:
		c.Counters().OldEpochs.Add(1)
	case End:
		h.Out.close()
		c.StopSelf()
	}
}

// attach gives the outbox to a connection, LOGIN_RESPONSE first (check 11). A
// crash on the way must not leave a bound connection without an answer.
func (a *Actor) attach(c *stage.Context, from Newcomer, at time.Time, outcome counters.LoginOutcome) {
	done := false
	defer func() {
		if !done {
			from.Link().Close(messages.CloseInternalError)
		}
	}()
	h := a.d.Handle
	h.dropFast() // frees its place for the next
	fast := from.OpenFast(h.Peer)
	h.setFast(fast)
	h.Out.attach(from.Link(), from.Channel(), wire.NewLoginResult(&wire.LoginResult{
		Success: true, PeerID: int32(h.Peer), FastPort: int32(fast.Port), CACert: fast.Anchors, ConnectToken: fast.Token,
	}))
	h.Out.Flush()
	c.Counters().Logins.Add(outcome, 1)
	c.Counters().LoginLatency.Observe(time.Since(at))
	done = true
}

func (a *Actor) closeLink(reason messages.CloseReason) {
	if link := a.d.Handle.Out.detach(); link != nil {
		link.Close(reason)
	}
}
