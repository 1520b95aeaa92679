package player

import (
	"bytes"
	"time"

	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// ReservationTime is how long a reserved seat waits for its login
// (service-api.md 2.7, RL-17).
const ReservationTime = 60 * time.Second

// Durable is what survives a restart of the player actor.
type Durable struct {
	Handle  *Handle
	machine Machine
	// deadlines on the monotonic clock
	reservedUntil time.Time
	windowUntil   time.Time
	waiting       *Login // before the gate
	held          *Login // waits for the current connection to give no sign of life
	challengedAt  time.Time
	current       Newcomer
	lostAt        time.Time
	tokens        tokens
	admitted      counters.LoginOutcome // what the first login counts as
	fault         string                // why the connection of this epoch is ending
}

// NewDurable returns the state of a fresh reservation.
func NewDurable(h *Handle) *Durable {
	return &Durable{Handle: h, machine: NewMachine(), admitted: counters.LoginNew, reservedUntil: time.Now().Add(ReservationTime)}
}

// NewStayDurable returns the state of a player that comes again after it has
// left: h is new, and its login follows.
func NewStayDurable(h *Handle) *Durable {
	d := NewDurable(h)
	d.machine, d.admitted = NewStay(), counters.LoginRejoined
	return d
}

// State returns where the player session stands. For the game session, between
// the player actor's life and its successor's, and for tests.
func (d *Durable) State() State { return d.machine.State }

// Options are what a player actor needs besides its Durable.
type Options struct {
	Session *stage.Ref // the game session: parent and addressee of all reports
	Rules   Rules
	Window  time.Duration // reconnect.window; 0 is strict mode
	// Acknowledge keeps what was written until the player confirms it
	// (reliability.md 2.4, 2.5). Without it a reconnect may lose what was on its way.
	Acknowledge bool
	// SkipAmbiguous does not send again to a stock client what may have arrived
	// (reconnect.stockAmbiguous = skip).
	SkipAmbiguous bool
	PingInterval  time.Duration
	Inflow        *Inflow // of the game session; nil is no bound
	// Activate shows the player session as ACTIVE; called right before the answer
	// to its login (realtime.md 6.1 step 5).
	Activate func()
}

// surroundings are what a player actor needs of its *stage.Context. The checks of
// every interleaving bring their own.
type surroundings interface {
	Counters() *counters.Set
	Unknown(msg any)
	After(d time.Duration, msg any) *stage.Timer
	AfterAwake(d time.Duration, msg any) *stage.Timer
	StopSelf()
}

// Actor carries out what the Machine decides.
type Actor struct {
	o           Options
	d           *Durable
	tell        func(msg any) bool // the game session
	reservation *stage.Timer
	window      *stage.Timer
	challenge   *stage.Timer
	pause       *stage.Timer
	paused      *Login // waits for no other reason than Login.Pause
	pausedIn    State  // of the machine
	login       *Login // the one in hand
	credential  Credential
	endReason   messages.CloseReason
	gauge       counters.PlayerState
}

// New returns the actor that rules d from now on.
func New(o Options, d *Durable) *Actor {
	return &Actor{o: o, d: d, tell: o.Session.Tell, endReason: messages.CloseGameEnded}
}

// Started puts a carried state in order: timers go on, and a connection or a
// login that the predecessor left behind is given up (reliability.md 4).
func (a *Actor) Started(c *stage.Context) {
	a.setGauge(c)
	if s := a.d.machine.State; (s == Attached || s == Detached) && !a.d.Handle.Out.sound() {
		a.d.fault = "player state is in disorder"
		a.step(c, Event{Kind: StateUnsound})
		return
	}
	switch a.d.machine.State {
	case Reserved:
		a.reservation = c.AfterAwake(time.Until(a.d.reservedUntil), reservationOver{})
	case Joining:
		a.reservation = c.AfterAwake(time.Until(a.d.reservedUntil), reservationOver{})
		a.step(c, Event{Kind: JoinLost, Attempt: a.d.machine.Attempt})
	case Attached:
		a.d.fault = messages.CloseInternalError.String()
		a.d.machine.Challenged = false // the login that waited was sent away
		a.step(c, Event{Kind: ConnectionLost, Epoch: a.d.machine.Epoch})
	case Detached:
		a.window = c.AfterAwake(time.Until(a.d.windowUntil), windowOver{a.d.machine.Epoch})
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
func (a *Actor) Receive(c *stage.Context, msg any) { a.receive(c, msg) }

func (a *Actor) receive(c surroundings, msg any) {
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
	case challengeOver:
		a.onChallengeOver(c, m)
	case pauseOver:
		a.admitPaused(c)
	case Release:
		a.step(c, Event{Kind: Released, Epoch: m.Epoch})
	case OutOfOrder:
		a.onOutOfOrder(c, m)
	case Kick:
		a.d.fault = "kicked: " + m.Reason
		a.step(c, Event{Kind: Kicked})
	case EndGame:
		a.endReason = m.Reason
		a.step(c, Event{Kind: GameEnded})
	case LeaveHandled:
		a.step(c, Event{Kind: LeaveDone})
	default:
		c.Unknown(msg)
	}
	if a.d.machine.State != a.pausedIn {
		a.admitPaused(c)
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
	if w := a.d.waiting; w != nil {
		if a.d.machine.State == Joining {
			w.From.Refuse(RetrySoon)
		} else { // bound, but the crash came before its answer
			w.From.Link().Close(messages.CloseInternalError)
		}
		a.d.waiting = nil
	}
	a.refuseHeld(RetrySoon)
	if a.paused != nil {
		a.paused.From.Refuse(RetrySoon)
		a.paused = nil
	}
	a.d.Handle.dropFast()
}

func (a *Actor) onLogin(c surroundings, m *Login) {
	a.login, a.credential = m, a.check(m)
	if a.credential == DeadToken {
		m.From.Because(wire.RefusedToken)
	}
	defer func() { a.login = nil }()
	if wait := a.pauseOf(m); wait > 0 {
		a.putOff(c, m, wait)
		return
	}
	a.endIfLost(c)
	if a.resumes() {
		// The claim is laid before the machine moves: a connection that has ended
		// meanwhile must not push a live one out.
		if !m.From.Bind(a.attachment(a.d.machine.Epoch+1, m)) {
			return
		}
	}
	a.step(c, Event{Kind: LoginArrived, Credential: a.credential, Join: a.joins(m)})
}

// joins says what a login is to the one before the gate. That one may be cut, and the
// host is often the last to know; so the newer one wins, as it does over a connection
// that serves (D-3).
func (a *Actor) joins(m *Login) Join {
	switch w := a.d.waiting; {
	case w == nil, !(a.o.Rules.Takeover && a.o.Rules.Window) && !w.From.Gone():
		return JoinBehind
	case bytes.Equal(w.Payload, m.Payload):
		return JoinInstead
	}
	return JoinAnew
}

// check says what a login's token is worth. One that claims to have received
// what was never sent is not believed (RL-6).
func (a *Actor) check(m *Login) Credential {
	switch {
	case m.Token == "":
		return IDOnly
	case a.d.tokens.good(m.Token, !a.d.Handle.Out.proven()) && a.d.Handle.Out.plausible(m.LastReceived):
		return GoodToken
	}
	return DeadToken
}

// resumes reports whether the login in hand would attach at once.
func (a *Actor) resumes() bool {
	if a.credential == DeadToken || !a.o.Rules.Window {
		return false
	}
	switch a.d.machine.State {
	case Detached:
		return true
	case Attached:
		return a.credential == GoodToken || a.o.Rules.Takeover && !a.d.machine.Challenged
	}
	return false
}

// numbered reports whether a login's connection will number its packets.
func (a *Actor) numbered(m *Login) bool {
	return a.o.Rules.Window && a.o.Acknowledge && m.Caps&wire.CapNumbers != 0
}

func (a *Actor) confirmation(m *Login) Confirmation {
	switch {
	case !a.o.Rules.Window, !a.o.Acknowledge:
		return ByWriting
	case a.numbered(m):
		return ByAcks
	case !m.From.Link().PongsInOrder(): // a pong confirms no message
		return ByWriting
	}
	return ByMarks
}

// challengeTime is how long a connection that is in a login's way has for a sign
// of life (reliability.md 2.6).
const challengeTime = 2 * time.Second

func (a *Actor) onChallengeOver(c surroundings, m challengeOver) {
	e := Event{Kind: ChallengeMet, Epoch: m.epoch}
	if a.d.current.Silence() > time.Since(a.d.challengedAt) {
		e.Kind = ChallengeLost
		a.bindHeld(c, m.epoch)
	}
	a.step(c, e)
}

// bindHeld lays the claim of the login that waits, before the connection of an
// epoch ends; if it has gone, nobody waits any more.
func (a *Actor) bindHeld(c surroundings, e messages.Epoch) {
	if !a.d.machine.Challenged || e != a.d.machine.Epoch || a.d.held.From.Bind(a.attachment(e+1, a.d.held)) {
		return
	}
	a.d.held = nil
	a.challenge.Stop()
	a.step(c, Event{Kind: HeldLost})
}

func (a *Actor) refuseHeld(after time.Duration) {
	if a.d.held != nil {
		a.d.held.From.Refuse(after)
		a.d.held = nil
	}
}

// onOutOfOrder closes a connection whose client counts wrongly; with its next
// login it hears where both sides stand.
func (a *Actor) onOutOfOrder(c surroundings, m OutOfOrder) {
	if m.Epoch != a.d.machine.Epoch || a.d.machine.State != Attached {
		return
	}
	a.closeLink(messages.CloseOutOfOrder)
	a.onEnded(c, Ended{Epoch: m.Epoch, Reason: messages.CloseOutOfOrder.String()})
}

func (a *Actor) onGateAnswer(c surroundings, m GateAnswer) {
	e := Event{Kind: GateRefused, Attempt: m.Attempt}
	if !m.OK && a.d.waiting != nil && a.d.machine.Attempt == m.Attempt {
		a.d.waiting.From.Because(m.Why)
	}
	if m.OK && a.d.machine.State == Joining && a.d.machine.Attempt == m.Attempt {
		e.Kind = GateAccepted
		if !a.d.waiting.From.Bind(a.attachment(a.d.machine.Epoch+1, a.d.waiting)) {
			e.Kind = JoinLost
		}
	}
	a.step(c, e)
	a.endIfLost(c) // of what was held before the gate's answer
}

func (a *Actor) onEnded(c surroundings, m Ended) {
	kind := ConnectionLost
	if m.Clean {
		kind = ConnectionLeft
	}
	if m.Epoch == a.d.machine.Epoch {
		a.d.fault = m.Reason
		if !m.Clean {
			a.bindHeld(c, m.Epoch)
		}
	}
	a.step(c, Event{Kind: kind, Epoch: m.Epoch})
}

// onOutboxFull detaches, and ends the player session if something reliable
// could not be kept. It asks the outbox: an attach or a detach may have settled
// the matter since it was reported, which was then one of an older epoch (RL-8).
func (a *Actor) onOutboxFull(c surroundings) {
	full, lost := a.d.Handle.Out.overflow()
	if !full && !lost {
		return
	}
	a.d.fault = messages.CloseSlowConsumer.String()
	a.step(c, Event{Kind: OutboxFull})
	if lost && a.d.machine.State == Detached {
		a.step(c, Event{Kind: OutboxFull})
	}
}

// endIfLost ends a player session that has lost something reliable before a
// connection can go on with a gap (RL-2).
func (a *Actor) endIfLost(c surroundings) {
	if _, lost := a.d.Handle.Out.overflow(); lost {
		a.onOutboxFull(c)
	}
}

func (a *Actor) attachment(e messages.Epoch, m *Login) *Attachment {
	return &Attachment{Player: a.d.Handle, Epoch: e, Peer: a.d.Handle.Peer, Session: a.o.Session,
		Numbered: a.numbered(m), PingInterval: a.o.PingInterval, Inflow: a.o.Inflow}
}

func (a *Actor) step(c surroundings, e Event) {
	next, effects := a.d.machine.Step(a.o.Rules, e)
	a.d.machine = next
	a.setGauge(c)
	for _, effect := range effects {
		a.do(c, effect)
	}
}

func (a *Actor) setGauge(c surroundings) {
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
func (a *Actor) do(c surroundings, effect Effect) {
	h := a.d.Handle
	switch effect {
	case AskGate:
		a.d.waiting = a.login
		a.tell(GateAsked{Player: h, Attempt: a.d.machine.Attempt, Payload: a.login.Payload})
	case RefuseLogin:
		a.login.From.Refuse(0)
	case RefuseForNow:
		a.login.From.Refuse(RetrySoon)
	case RefuseWaiting:
		if a.d.waiting != nil {
			a.d.waiting.From.Refuse(0)
			a.d.waiting = nil
		}
	case DismissWaiting:
		a.d.waiting.From.Link().Close(messages.CloseTakenOver)
		a.d.waiting = nil
	case TakePlace:
		a.d.waiting = a.login
	case CountDeadToken:
		c.Counters().DeadTokens.Add(1)
	case Challenge:
		a.d.held, a.d.challengedAt = a.login, time.Now()
		a.d.current.Challenge()
		a.challenge = c.AfterAwake(challengeTime, challengeOver{a.d.machine.Epoch})
	case RefuseHeld:
		a.challenge.Stop()
		if a.d.held != nil {
			a.d.held.From.Because(wire.RefusedInUse)
		}
		a.refuseHeld(0)
	case ResumeHeld:
		a.challenge.Stop()
		a.login, a.credential, a.d.held = a.d.held, IDOnly, nil
		a.resume(c)
	case SendBack:
		a.tell(LoginAgain{Login: a.login})
	case ReleasePeer:
		a.tell(JoinOver{Player: h})
	case Accept:
		a.tell(Accepted{Player: h}) // before anything the client can send
		if a.o.Activate != nil {
			a.o.Activate()
		}
		a.attach(c, a.d.waiting, wire.OutcomeNew, "", 0)
		c.Counters().Logins.Add(a.d.admitted, 1)
		a.d.waiting = nil
	case FenceOld:
		c.Counters().Takeovers.Add(1)
		a.closeLink(messages.CloseTakenOver)
	case Resume:
		a.resume(c)
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
		a.window = c.AfterAwake(a.o.Window, windowOver{a.d.machine.Epoch})
	case StopWindow:
		if a.window != nil { // there is none yet in a restarted actor
			a.window.Stop()
		}
	case StopReservation:
		a.reservation.Stop()
		a.reservation = nil
	case TellDetached:
		a.d.lostAt = time.Now()
		a.tell(WentAway{Player: h, Epoch: a.d.machine.Epoch, Reason: a.d.fault})
	case TellLeaving:
		a.tell(IsLeaving{Player: h, Reason: a.d.fault, Left: a.d.machine.Left})
	case SetActive:
		a.tell(StatusChanged{Player: h, Status: messages.PlayerSessionActive})
	case SetCompleted:
		a.tell(StatusChanged{Player: h, Status: messages.PlayerSessionCompleted})
	case SetTimedOut:
		a.tell(StatusChanged{Player: h, Status: messages.PlayerSessionTimedOut})
	case CountOldEpoch:
		c.Counters().OldEpochs.Add(1)
	case End:
		h.Out.close()
		a.d.current = nil // a finished player session is remembered, its connection is not
		c.StopSelf()
	}
}

// resume attaches the login in hand to a player that has had a connection
// before.
func (a *Actor) resume(c surroundings) {
	h, m := a.d.Handle, a.login
	back := Return{From: a.d.current.Channel(), To: m.From.Channel(), Takeover: a.d.lostAt.IsZero()}
	if !back.Takeover {
		back.Away = time.Since(a.d.lostAt)
	}
	used, has := "", uint64(0)
	switch a.confirmation(m) {
	case ByAcks:
		if a.credential == GoodToken {
			has = m.LastReceived
			h.Out.confirmBeforeAttach(has)
		}
	case ByMarks:
		if a.o.SkipAmbiguous {
			h.Out.skip()
		}
	}
	if a.credential == GoodToken {
		used = m.Token
	}
	back.Lost = h.Out.takeGap(has)
	back.Replay = a.attach(c, m, wire.OutcomeResumed, used, back.Lost)
	count := c.Counters()
	count.Lost.Add(int64(back.Lost))
	how := counters.LoginResumed
	if back.Lost > 0 {
		how = counters.LoginGap
		count.Gaps.Add(1)
	}
	count.Logins.Add(how, 1)
	count.Resumes.Add(counters.PairOf(back.From, back.To), 1)
	count.ResumeLatency.Observe(time.Since(m.At))
	count.Replayed.Add(int64(back.Replay.Messages))
	count.ReplayedBytes.Add(int64(back.Replay.Bytes))
	a.tell(CameBack{Player: h, Epoch: a.d.machine.Epoch, Return: back})
}

// attach gives the outbox to a connection, LOGIN_RESPONSE first (RT-11). A
// crash on the way must not leave a bound connection without an answer.
func (a *Actor) attach(c surroundings, m *Login, outcome uint64, used string, lost uint64) (again Replay) {
	from, done := m.From, false
	defer func() {
		if !done {
			from.Link().Close(messages.CloseInternalError)
		}
	}()
	h := a.d.Handle
	a.d.current, a.d.lostAt = from, time.Time{}
	h.dropFast() // frees its place for the next
	fast := from.OpenFast(h.Peer)
	h.setFast(fast)
	result := wire.LoginResult{
		Success: true, PeerID: int32(h.Peer), FastPort: int32(fast.Port), CACert: fast.Anchors, ConnectToken: fast.Token,
	}
	if a.o.Rules.Window && m.Caps != 0 { // stock clients do nothing with one
		result.ReconnectToken = a.d.tokens.renew(used)
	}
	again = h.Out.attach(terms{
		link: from.Link(), channel: from.Channel(), epoch: a.d.machine.Epoch, confirm: a.confirmation(m),
		greet: func(s standing) *wire.Frame {
			if a.numbered(m) {
				result.Caps, result.Outcome, result.WindowMs = wire.CapNumbers, outcome, uint64(a.o.Window.Milliseconds())
				result.Base, result.LastReceived, result.Lost = s.base, s.received, s.unsent
				if used != "" && (lost > 0 || s.base > max(m.LastReceived, s.confirmed)) {
					result.Outcome = wire.OutcomeReplayLost
				}
			}
			return wire.NewLoginResult(&result)
		},
	})
	h.Out.Flush()
	c.Counters().LoginLatency.Observe(time.Since(m.At))
	done = true
	return again
}

func (a *Actor) closeLink(reason messages.CloseReason) {
	if link := a.d.Handle.Out.detach(); link != nil {
		link.Close(reason)
	}
}
