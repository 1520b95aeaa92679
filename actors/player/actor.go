package player

import (
	"bytes"
	"sync/atomic"
	"time"

	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// ReservationTime is how long a reserved player session waits for its first login.
const ReservationTime = 60 * time.Second // RL-17, service-api.md 2.7

// Durable is the part of the player actor's state that survives a restart of the actor.
type Durable struct {
	Handle  *Handle
	machine Machine
	// The deadlines are on the monotonic clock.
	reservedUntil moment
	windowUntil   moment
	waiting       *Login // the login that waits for the gate's decision
	challenger    *Login // the login that waits while the current connection is challenged
	challengedAt  moment
	current       LoginConn
	lostAt        moment
	tokens        *tokens               // nil until the first token is made
	fault         string                // why the current connection is ending
	admitted      counters.LoginOutcome // the metric label of the first accepted login
}

// NewDurable returns the state of a fresh reservation.
func NewDurable(h *Handle) *Durable {
	return &Durable{Handle: h, machine: Machine{State: Reserved}, admitted: counters.LoginNew, reservedUntil: now().add(ReservationTime)}
}

// NewRejoinDurable returns the state of a player that logs in again after it left. The handle h must be new.
func NewRejoinDurable(h *Handle) *Durable {
	d := NewDurable(h)
	d.machine.Reservation, d.admitted = ReservationNone, counters.LoginRejoined
	return d
}

// Options configure player actors. All players of one game session may share one Options.
type Options struct {
	Session *stage.Ref // the game session: parent of the player actors and receiver of all their reports
	Rules   Rules
	Window  time.Duration // reconnect.window; 0 means strict mode
	// Acknowledge keeps messages until the player confirms them (reliability.md 2.4, 2.5). If it is false, a reconnect
	// may lose messages.
	Acknowledge bool
	// SkipAmbiguous does not resend messages that a stock client may already have received (reconnect.stockAmbiguous =
	// skip).
	SkipAmbiguous bool
	PingInterval  time.Duration
	Inflow        *Inflow // shared by the game session's players; nil means no limit
	// Alternates are the addresses of other nodes of the cluster, for LoginResult.Alternates. Nil means that the host is
	// not part of a cluster. The pointer never changes.
	Alternates *Alternates
}

// Alternates are the texts of LoginResult.Alternates, which change when nodes join or leave. It contains nil until there
// are any. The list must not be modified.
type Alternates = atomic.Pointer[[]string]

// actorContext lists the methods of *stage.Context that a player actor uses. The interleaving tests have their own
// implementation.
type actorContext interface {
	Counters() *counters.Set
	Unknown(msg any)
	After(d time.Duration, msg any) *stage.Timer
	AfterAwake(d time.Duration, msg any) *stage.Timer
	StopSelf()
}

// Actor carries out the effects of the Machine.
type Actor struct {
	o           *Options
	d           *Durable
	activate    func()             // may be nil
	told        func(msg any) bool // only in tests: receives the messages to the game session; otherwise nil
	reservation *stage.Timer
	window      *stage.Timer
	challenge   *stage.Timer
	pause       *stage.Timer
	paused      *Login // the login that waits for its Login.Pause to end
	login       *Login // the login that is being handled
	pausedIn    State  // the machine's state when the login was paused
	credential  Credential
	endReason   messages.CloseReason
	gauge       counters.PlayerState
}

// New returns an actor that takes over d. The actor keeps o, which must not change. If activate is not nil, the actor
// calls it right before LOGIN_RESPONSE, to report the player session as ACTIVE (realtime.md 6.1 step 5).
func New(o *Options, d *Durable, activate func()) *Actor {
	return &Actor{o: o, d: d, activate: activate, endReason: messages.CloseGameEnded}
}

func (a *Actor) tell(msg any) bool {
	if a.told != nil {
		return a.told(msg)
	}
	return a.o.Session.Tell(msg)
}

// Started resumes the state of a crashed predecessor: it restarts the timers, and drops the predecessor's connection
// and pending logins (reliability.md 4).
func (a *Actor) Started(c *stage.Context) {
	a.setGauge(c)
	if s := a.d.machine.State; (s == Attached || s == Detached) && !a.d.Handle.Out.consistent() {
		a.d.fault = "player state is inconsistent"
		a.step(c, Event{Kind: StateInconsistent})
		return
	}
	switch a.d.machine.State {
	case Reserved:
		a.reservation = c.AfterAwake(a.d.reservedUntil.until(), reservationOver{})
	case Joining:
		a.reservation = c.AfterAwake(a.d.reservedUntil.until(), reservationOver{})
		a.step(c, Event{Kind: JoinLost, Attempt: a.d.machine.Attempt})
	case Attached:
		a.d.fault = messages.CloseInternalError.String()
		a.d.machine.Challenged = false // Stopped of the predecessor has already refused the challenger
		kind := ConnectionLost
		if a.hasLeft() { // the predecessor may have crashed while it handled the Ended message of a clean leave
			kind, a.d.fault = ConnectionLeft, "left"
		}
		a.step(c, Event{Kind: kind, Epoch: a.d.machine.Epoch})
	case Detached:
		a.window = c.AfterAwake(a.d.windowUntil.until(), windowOver{a.d.machine.Epoch})
	case Leaving:
		a.do(c, TellLeaving)
	case Gone: // the predecessor may have crashed before it reported the end
		if a.d.machine.Epoch > 0 {
			a.do(c, SetCompleted)
		} else {
			a.do(c, SetTimedOut)
		}
		a.do(c, End)
	}
	a.onOutboxFull(c) // the outbox may have filled up while no actor was running
}

// Receive implements stage.Actor.
func (a *Actor) Receive(c *stage.Context, msg any) { a.receive(c, msg) }

func (a *Actor) receive(c actorContext, msg any) {
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
	case Renew:
		if a.reservation != nil && a.d.machine.Reservation == ReservationValid {
			a.d.reservedUntil = now().add(ReservationTime)
			a.reservation.Reset(ReservationTime)
		}
	case Kick:
		a.d.fault = "kicked: " + m.Reason
		a.d.Handle.removed.Store(&m.Reason)
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

// Stopped closes the connection and refuses waiting logins. After an orderly end there are none. After a crash of the
// player actor, a successor takes over the Durable. After a crash of the game session, there is no successor.
func (a *Actor) Stopped(c *stage.Context) {
	c.Counters().Players.Move(&a.gauge, 0)
	reason := messages.CloseInternalError
	if c.Crash() == "" {
		reason = messages.CloseGameCrashed
	}
	if link := a.d.Handle.Out.detach(); link != nil {
		link.Close(reason)
	}
	if w := a.d.waiting; w != nil {
		if a.d.machine.State == Joining {
			w.From.Refuse(RetrySoon)
		} else { // the connection is bound, but the actor crashed before LOGIN_RESPONSE
			w.From.Link().Close(reason)
		}
		a.d.waiting = nil
	}
	a.refuseChallenger(RetrySoon)
	if a.paused != nil {
		a.paused.From.Refuse(RetrySoon)
		a.paused = nil
	}
	a.d.Handle.dropFast()
}

func (a *Actor) onLogin(c actorContext, m *Login) {
	a.login, a.credential = m, a.check(m)
	if a.credential == DeadToken {
		m.From.SetRefusal(wire.RefusedToken)
	}
	defer func() { a.login = nil }()
	if wait := a.pauseOf(m); wait > 0 {
		a.pauseLogin(c, m, wait)
		return
	}
	a.endIfLost(c)
	if a.resumes() {
		// Bind first, then step the machine: a login whose connection has ended must not replace a live connection.
		if !m.From.Bind(a.attachment(a.d.machine.Epoch+1, m)) {
			return
		}
	}
	a.step(c, Event{Kind: LoginArrived, Credential: a.credential, Join: a.joins(m)})
}

// joins says how a new login affects an earlier login that still waits for the gate. The new login replaces the earlier
// one, as it would replace an attached connection, because the earlier connection may be dead without the host having
// noticed.
func (a *Actor) joins(m *Login) Join {
	switch w := a.d.waiting; {
	case w == nil, !(a.o.Rules.Takeover && a.o.Rules.Window) && !w.From.Gone(): // D-3
		return JoinBehind
	case bytes.Equal(w.Payload, m.Payload):
		return JoinInstead
	}
	return JoinAnew
}

// check classifies a login's token. A login also counts as invalid if it claims to have received messages that were
// never sent.
func (a *Actor) check(m *Login) Credential {
	switch {
	case m.Token == "":
		return IDOnly
	case a.d.tokens.good(m.Token, !a.d.Handle.Out.proven()) && a.d.Handle.Out.plausible(m.LastReceived):
		return GoodToken
	}
	return DeadToken
}

// resumes reports whether the current login would be attached immediately.
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

// numbered reports whether the packets on the login's connection will have numbers.
func (a *Actor) numbered(m *Login) bool {
	return a.o.Rules.Window && a.o.Acknowledge && m.Caps&wire.CapNumbers != 0
}

func (a *Actor) confirmation(m *Login) Confirmation {
	switch {
	case !a.o.Rules.Window, !a.o.Acknowledge:
		return ByWriting
	case a.numbered(m):
		return ByAcks
	case !m.From.Link().PongsInOrder(): // pongs may be out of order, so a pong does not confirm any message
		return ByWriting
	}
	return ByMarks
}

// onOutOfOrder closes a connection that sent an invalid message number. The next LOGIN_RESPONSE resynchronizes the
// numbers of both directions.
func (a *Actor) onOutOfOrder(c actorContext, m OutOfOrder) {
	if m.Epoch != a.d.machine.Epoch || a.d.machine.State != Attached {
		return
	}
	a.closeLink(messages.CloseOutOfOrder)
	a.onEnded(c, Ended{Epoch: m.Epoch, Reason: messages.CloseOutOfOrder.String()})
}

func (a *Actor) onGateAnswer(c actorContext, m GateAnswer) {
	e := Event{Kind: GateRefused, Attempt: m.Attempt}
	if !m.OK && a.d.waiting != nil && a.d.machine.Attempt == m.Attempt {
		a.d.waiting.From.SetRefusal(m.Why)
	}
	if m.OK && a.d.machine.State == Joining && a.d.machine.Attempt == m.Attempt {
		e.Kind = GateAccepted
		if !a.d.waiting.From.Bind(a.attachment(a.d.machine.Epoch+1, a.d.waiting)) {
			e.Kind = JoinLost
		}
	}
	a.step(c, e)
	a.endIfLost(c) // a reliable message may have been refused among those queued before the gate's answer
}

func (a *Actor) onEnded(c actorContext, m Ended) {
	kind := ConnectionLost
	if m.Clean {
		kind = ConnectionLeft
	}
	if m.Epoch == a.d.machine.Epoch {
		a.d.fault = m.Reason
		if !m.Clean {
			a.bindChallenger(c, m.Epoch)
		}
	}
	a.step(c, Event{Kind: kind, Epoch: m.Epoch})
}

// onOutboxFull detaches the connection. It ends the player session if the outbox has refused a reliable message. It
// reads the outbox's state again, because an attach or a detach since the report may have ended the overflow.
func (a *Actor) onOutboxFull(c actorContext) {
	full, refused := a.d.Handle.Out.exhausted()
	if !full && !refused {
		return
	}
	a.d.fault = messages.CloseSlowConsumer.String()
	a.step(c, Event{Kind: OutboxFull})
	if refused && a.d.machine.State == Detached {
		a.step(c, Event{Kind: OutboxFull})
	}
}

// endIfLost ends the player session if a reliable message was refused. It runs before a connection is attached, so that
// no connection continues after a gap.
func (a *Actor) endIfLost(c actorContext) {
	if _, refused := a.d.Handle.Out.exhausted(); refused { // RL-2
		a.onOutboxFull(c)
	}
}

func (a *Actor) attachment(e messages.Epoch, m *Login) *Attachment {
	return &Attachment{Player: a.d.Handle, Epoch: e, Peer: a.d.Handle.Peer, Session: a.o.Session,
		Numbered: a.numbered(m), PingInterval: a.o.PingInterval, Inflow: a.o.Inflow}
}

func (a *Actor) step(c actorContext, e Event) {
	next, effects := a.d.machine.Step(a.o.Rules, e)
	a.d.machine = next
	a.setGauge(c)
	for _, effect := range effects {
		a.do(c, effect)
	}
}

func (a *Actor) setGauge(c actorContext) {
	c.Counters().Players.Move(&a.gauge, a.d.machine.State.gauge())
}

func (a *Actor) do(c actorContext, effect Effect) {
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
	case ReplaceWaiting:
		a.d.waiting = a.login
	case CountDeadToken:
		c.Counters().DeadTokens.Add(1)
	case Challenge:
		a.d.challenger, a.d.challengedAt = a.login, now()
		a.d.current.Challenge()
		a.challenge = c.AfterAwake(challengeTime, challengeOver{a.d.machine.Epoch})
	case RefuseChallenger:
		a.challenge.Stop()
		if a.d.challenger != nil {
			a.d.challenger.From.SetRefusal(wire.RefusedInUse)
		}
		a.refuseChallenger(0)
	case ResumeChallenger:
		a.challenge.Stop()
		a.login, a.credential, a.d.challenger = a.d.challenger, IDOnly, nil
		a.resume(c)
	case RetryAfterLeave:
		a.tell(LoginAgain{Login: a.login})
	case ReleasePeer:
		a.tell(JoinOver{Player: h, Again: a.d.machine.State == Joining})
	case Accept:
		a.tell(Accepted{Player: h}) // sent first, so it arrives before any message of the client
		if a.activate != nil {
			a.activate()
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
		a.d.windowUntil = now().add(a.o.Window)
		a.window = c.AfterAwake(a.o.Window, windowOver{a.d.machine.Epoch})
	case StopWindow:
		if a.window != nil { // nil after a restart of the actor
			a.window.Stop()
		}
	case StopReservation:
		a.reservation.Stop()
		a.reservation = nil
	case TellDetached:
		a.d.lostAt = now()
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
		a.d.current = nil // the player session's record outlives the actor; it must not keep the connection alive
		c.StopSelf()
	}
}

// resume attaches the current login to a player that had a connection before.
func (a *Actor) resume(c actorContext) {
	h, m := a.d.Handle, a.login
	back := Return{From: a.d.current.Channel(), To: m.From.Channel(), Takeover: a.d.lostAt == 0}
	if !back.Takeover {
		back.Away = a.d.lostAt.since()
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

// attach attaches a connection to the outbox, which sends LOGIN_RESPONSE first. The connection is already bound, so
// attach closes it if it panics.
func (a *Actor) attach(c actorContext, m *Login, outcome uint64, used string, lost uint64) (again Replay) {
	from, done := m.From, false
	defer func() {
		if !done {
			from.Link().Close(messages.CloseInternalError)
		}
	}()
	h := a.d.Handle
	a.d.current, a.d.lostAt = from, 0
	h.dropFast() // before OpenFast, because the number of DTLS associations is limited
	fast := from.OpenFast(h.Peer)
	if fast.Link != nil {
		h.fast.Store(&fastChannel{link: fast.Link, channel: fast.Channel})
	}
	result := wire.LoginResult{
		Success: true, PeerID: int32(h.Peer), FastPort: int32(fast.Port), CACert: fast.Anchors, ConnectToken: fast.Token,
	}
	if a.o.Rules.Window && m.Caps != 0 { // stock clients do not use a token
		if a.d.tokens == nil {
			a.d.tokens = new(tokens)
		}
		result.ReconnectToken = a.d.tokens.renew(used)
	}
	again = h.Out.attach(attachOptions{
		link: from.Link(), channel: from.Channel(), epoch: a.d.machine.Epoch, confirm: a.confirmation(m),
		loginResponse: func(s resumePoint) *wire.Frame {
			if a.numbered(m) {
				result.Caps, result.Outcome, result.WindowMs = wire.CapNumbers, outcome, uint64(a.o.Window.Milliseconds())
				result.Base, result.LastReceived, result.Lost = s.base, s.received, s.unsent
				result.Alternates = a.alternates(m)
				if used != "" && (lost > 0 || s.untold > 0 || s.base > max(m.LastReceived, s.confirmed)) {
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

// alternates returns the addresses of other nodes that the answer to a login contains.
func (a *Actor) alternates(m *Login) []string {
	if a.o.Alternates == nil || m.Caps&wire.CapMoves == 0 {
		return nil
	}
	if all := a.o.Alternates.Load(); all != nil {
		return *all
	}
	return nil
}

func (a *Actor) closeLink(reason messages.CloseReason) {
	if link := a.d.Handle.Out.detach(); link != nil {
		link.Close(reason)
	}
}
