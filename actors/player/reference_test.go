package player

import (
	"fmt"
	"slices"

	"troupe/messages"
)

// The reference is the table of reliability.md 2.8, written a second time in another form: as rows instead of code.

type row struct {
	from State
	on   EventKind
	when cond // nil means always
	to   State
	do   []Effect
	set  func(*Machine) // further changes of the machine; may be nil
}

type cond func(r Rules, m Machine, e Event) bool

// Conditions of rows.
func windowed(r Rules, _ Machine, _ Event) bool   { return r.Window }
func strict(r Rules, _ Machine, _ Event) bool     { return !r.Window }
func takeover(r Rules, _ Machine, _ Event) bool   { return r.Takeover }
func rejoin(r Rules, _ Machine, _ Event) bool     { return r.Rejoin }
func byID(_ Rules, _ Machine, e Event) bool       { return e.Credential == IDOnly }
func byToken(_ Rules, _ Machine, e Event) bool    { return e.Credential == GoodToken }
func expired(_ Rules, m Machine, _ Event) bool    { return m.Reservation == ReservationExpired }
func again(_ Rules, m Machine, _ Event) bool      { return m.Reservation == ReservationNone }
func left(_ Rules, m Machine, _ Event) bool       { return m.Left }
func challenged(_ Rules, m Machine, _ Event) bool { return m.Challenged }

func joins(j Join) cond { return func(_ Rules, _ Machine, e Event) bool { return e.Join == j } }

func no(c cond) cond { return func(r Rules, m Machine, e Event) bool { return !c(r, m, e) } }

func every(cs ...cond) cond {
	return func(r Rules, m Machine, e Event) bool {
		for _, c := range cs {
			if !c(r, m, e) {
				return false
			}
		}
		return true
	}
}

func either(a, b cond) cond { return no(every(no(a), no(b))) }

// Changes of the machine.
func asExpired(m *Machine)    { m.Reservation = ReservationExpired }
func asAsked(m *Machine)      { m.Attempt++ }
func asAccepted(m *Machine)   { m.Epoch, m.Reservation = 1, ReservationValid }
func asNext(m *Machine)       { m.Epoch, m.Challenged = m.Epoch+1, false }
func asChallenged(m *Machine) { m.Challenged = true }
func asAlone(m *Machine)      { m.Challenged = false }
func asLeft(m *Machine)       { m.Left, m.Challenged = true, false }

func do(effects ...Effect) []Effect { return effects }

// table has a row for each event that changes the machine or has an effect. All other events are ignored. The function
// reference contains what is common to all states, and the checks of epochs and attempts.
var table = []row{
	{Reserved, LoginArrived, nil, Joining, do(AskGate), asAsked},
	{Reserved, ReservationOver, nil, Gone, do(StopReservation, SetTimedOut, End), nil},
	{Reserved, Kicked, nil, Gone, do(StopReservation, SetTimedOut, End), nil},
	{Reserved, GameEnded, nil, Gone, do(StopReservation, SetTimedOut, End), nil},

	{Joining, LoginArrived, joins(JoinInstead), Joining, do(DismissWaiting, ReplaceWaiting), nil},
	{Joining, LoginArrived, every(joins(JoinAnew), no(expired)), Joining, do(DismissWaiting, ReleasePeer, AskGate), asAsked},
	{Joining, LoginArrived, either(joins(JoinBehind), every(joins(JoinAnew), expired)), Joining, do(RefuseForNow), nil},
	{Joining, ReservationOver, nil, Joining, do(), asExpired},
	{Joining, GateAccepted, nil, Attached, do(StopReservation, Accept, SetActive), asAccepted},
	{Joining, GateRefused, no(either(expired, again)), Reserved, do(RefuseWaiting, ReleasePeer), nil},
	{Joining, GateRefused, either(expired, again), Gone, do(RefuseWaiting, ReleasePeer, SetTimedOut, End), nil},
	{Joining, JoinLost, no(either(expired, again)), Reserved, do(RefuseWaiting, ReleasePeer), nil},
	{Joining, JoinLost, either(expired, again), Gone, do(RefuseWaiting, ReleasePeer, SetTimedOut, End), nil},
	{Joining, Kicked, nil, Gone, do(StopReservation, RefuseWaiting, ReleasePeer, SetTimedOut, End), nil},
	{Joining, GameEnded, nil, Gone, do(StopReservation, RefuseWaiting, ReleasePeer, SetTimedOut, End), nil},

	// See reliability.md 2.6 and D-3: which login gets the player.
	{Attached, LoginArrived, strict, Attached, do(RefuseLogin), nil},
	{Attached, LoginArrived, every(windowed, byToken, no(challenged)), Attached, do(FenceOld, Resume), asNext},
	{Attached, LoginArrived, every(windowed, byToken, challenged), Attached, do(RefuseChallenger, FenceOld, Resume), asNext},
	{Attached, LoginArrived, every(windowed, byID, challenged), Attached, do(RefuseLogin), nil},
	{Attached, LoginArrived, every(windowed, byID, no(challenged), takeover), Attached, do(FenceOld, Resume), asNext},
	{Attached, LoginArrived, every(windowed, byID, no(challenged), no(takeover)), Attached, do(Challenge), asChallenged},
	{Attached, ChallengeAnswered, challenged, Attached, do(RefuseChallenger), asAlone},
	{Attached, ChallengeUnanswered, challenged, Attached, do(FenceOld, ResumeChallenger), asNext},
	{Attached, ChallengerGone, challenged, Attached, do(), asAlone},

	{Attached, ConnectionLost, every(windowed, no(challenged)), Detached, do(Drop, StartWindow, TellDetached), nil},
	{Attached, ConnectionLost, every(windowed, challenged), Attached, do(Drop, ResumeChallenger), asNext},
	{Attached, ConnectionLost, strict, Leaving, do(Drop, TellLeaving), nil},
	{Attached, ConnectionLeft, no(challenged), Leaving, do(Drop, TellLeaving), asLeft},
	{Attached, ConnectionLeft, challenged, Leaving, do(RefuseChallenger, Drop, TellLeaving), asLeft},
	{Attached, OutboxFull, every(windowed, no(challenged)), Detached, do(CloseSlow, Drop, StartWindow, TellDetached), nil},
	{Attached, OutboxFull, every(windowed, challenged), Detached, do(RefuseChallenger, CloseSlow, Drop, StartWindow, TellDetached), asAlone},
	{Attached, OutboxFull, strict, Leaving, do(CloseSlow, Drop, TellLeaving), nil},
	{Attached, StateInconsistent, no(challenged), Leaving, do(Drop, TellLeaving), nil},
	{Attached, StateInconsistent, challenged, Leaving, do(RefuseChallenger, Drop, TellLeaving), asAlone},
	{Attached, Kicked, no(challenged), Leaving, do(CloseKicked, Drop, TellLeaving), nil},
	{Attached, Kicked, challenged, Leaving, do(RefuseChallenger, CloseKicked, Drop, TellLeaving), asAlone},
	{Attached, GameEnded, no(challenged), Gone, do(CloseEnded, Drop, SetCompleted, End), nil}, // D-119: no onPlayerDisconnect
	{Attached, GameEnded, challenged, Gone, do(RefuseChallenger, CloseEnded, Drop, SetCompleted, End), asAlone},

	{Detached, LoginArrived, nil, Attached, do(StopWindow, Resume), asNext},
	{Detached, WindowOver, nil, Leaving, do(StopWindow, TellLeaving), nil},
	{Detached, OutboxFull, nil, Leaving, do(StopWindow, TellLeaving), nil},
	{Detached, Released, nil, Leaving, do(StopWindow, TellLeaving), nil},
	{Detached, StateInconsistent, nil, Leaving, do(StopWindow, TellLeaving), nil},
	{Detached, ConnectionLeft, nil, Leaving, do(StopWindow, TellLeaving), asLeft},
	{Detached, Kicked, nil, Leaving, do(StopWindow, TellLeaving), nil},
	{Detached, GameEnded, nil, Gone, do(StopWindow, SetCompleted, End), nil},

	// D-2: a player that left may log in again, but not with a token from before the leave
	{Leaving, LoginArrived, every(rejoin, left, byID), Leaving, do(RetryAfterLeave), nil},
	{Leaving, LoginArrived, no(every(rejoin, left, byID)), Leaving, do(RefuseLogin), nil},
	{Leaving, LeaveDone, nil, Gone, do(SetCompleted, End), nil},
	{Leaving, GameEnded, nil, Gone, do(SetCompleted, End), nil},

	{Gone, LoginArrived, nil, Gone, do(RefuseLogin), nil},
}

func hasEpoch(k EventKind) bool {
	return slices.Contains([]EventKind{ConnectionLost, ConnectionLeft, WindowOver, Released, ChallengeUnanswered, ChallengeAnswered}, k)
}

func hasAttempt(k EventKind) bool { return k == GateAccepted || k == GateRefused || k == JoinLost }

// fits reports whether the row applies to an event.
func (row row) fits(m Machine, r Rules, e Event) bool {
	return row.from == m.State && row.on == e.Kind && (row.when == nil || row.when(r, m, e)) &&
		(!hasEpoch(e.Kind) || e.Epoch == m.Epoch) && (!hasAttempt(e.Kind) || e.Attempt == m.Attempt) &&
		(e.Kind != LoginArrived || e.Credential != DeadToken)
}

// reference returns what Step should return.
func reference(m Machine, r Rules, e Event) (Machine, []Effect) {
	if hasEpoch(e.Kind) && e.Epoch != m.Epoch {
		return m, do(CountOldEpoch)
	}
	if e.Kind == LoginArrived && e.Credential == DeadToken { // reliability.md 2.2: refuse and count the login, and change nothing else
		return m, do(CountDeadToken, RefuseLogin)
	}
	for _, row := range table {
		if row.fits(m, r, e) {
			if m.State = row.to; row.set != nil {
				row.set(&m)
			}
			return m, row.do
		}
	}
	return m, nil
}

// events returns the events that may happen to a machine: every kind, with the current number and the previous one, and
// with every credential.
func events(m Machine) []Event {
	var all []Event
	for k := LoginArrived; k < eventKindEnd; k++ {
		switch {
		case hasEpoch(k):
			all = append(all, Event{Kind: k, Epoch: m.Epoch}, Event{Kind: k, Epoch: m.Epoch - 1})
		case k == LoginArrived:
			for c := IDOnly; c <= DeadToken; c++ {
				for j := JoinBehind; j <= JoinAnew; j++ {
					all = append(all, Event{Kind: k, Credential: c, Join: j})
				}
			}
		case hasAttempt(k):
			all = append(all, Event{Kind: k, Attempt: m.Attempt}, Event{Kind: k, Attempt: m.Attempt - 1})
		default:
			all = append(all, Event{Kind: k})
		}
	}
	return all
}

// history records what a player session's actor has done so far, as far as the invariants of reliability.md 3 need it.
// It is a comparable value.
type history struct {
	accepts, leavings, ends uint8
	waiting, connected      bool
	held, left              bool
	windowRuns, reserved    bool
	status                  messages.PlayerSessionStatus
}

func newHistory() history {
	return history{reserved: true, status: messages.PlayerSessionReserved}
}

// after checks one step against the invariants and returns the updated history. It does not use the table.
func (h history) after(r Rules, m Machine, e Event, next Machine, effects []Effect) (history, error) {
	broken := func(format string, args ...any) (history, error) {
		return h, fmt.Errorf("%s in %v, %v: %v %v", fmt.Sprintf(format, args...), m, e, next, effects)
	}
	if next.Epoch < m.Epoch || next.Epoch > m.Epoch+1 {
		return broken("RL-8: epoch steps from %d to %d", m.Epoch, next.Epoch)
	}
	if hasEpoch(e.Kind) && e.Epoch < m.Epoch && (next != m || !slices.Equal(effects, do(CountOldEpoch))) {
		return broken("RL-8: an older epoch has an effect")
	}
	if hasAttempt(e.Kind) && e.Attempt < m.Attempt && (next != m || len(effects) > 0) {
		return broken("an answer to an older login has an effect")
	}
	if e.Credential == DeadToken && (next != m || !slices.Equal(effects, do(CountDeadToken, RefuseLogin))) {
		return broken("RL-12: a dead token does something")
	}
	if e.Kind == ConnectionLeft && e.Epoch == m.Epoch && (h.connected || h.windowRuns) {
		h.left = true
	}
	attaches, answers := 0, 0
	for i, effect := range effects {
		if h.ends > 0 && effect != RefuseLogin && effect != CountOldEpoch && effect != CountDeadToken {
			return broken("%v after the end", effect)
		}
		switch effect {
		case AskGate:
			answers++
			if h.waiting || h.accepts > 0 {
				return broken("RL-13: the gate is asked again")
			}
			h.waiting = true
		case RefuseLogin, RefuseForNow:
			answers++
		case ReplaceWaiting:
			answers++
			if h.waiting || i == 0 || effects[i-1] != DismissWaiting {
				return broken("a login takes the place of none")
			}
			h.waiting = true
		case DismissWaiting:
			if !h.waiting || i+1 >= len(effects) || effects[i+1] != ReleasePeer && effects[i+1] != ReplaceWaiting {
				return broken("%v without a login that waits, or nobody follows", effect)
			}
			h.waiting = false
		case RefuseWaiting, Accept:
			if !h.waiting {
				return broken("%v without a login that waits", effect)
			}
			h.waiting = false
			if effect == Accept {
				h.accepts++
				attaches++
				if h.connected {
					return broken("accepted while connected")
				}
				h.connected = true
			} else if i+1 >= len(effects) || effects[i+1] != ReleasePeer {
				return broken("the peer id of a refused login stays taken")
			}
		case ReleasePeer:
			if i == 0 || effects[i-1] != RefuseWaiting && effects[i-1] != DismissWaiting {
				return broken("a peer id is released for nothing")
			}
		case FenceOld:
			// See reliability.md 2.6, D-3.
			may := e.Kind == LoginArrived && (r.Takeover || e.Credential == GoodToken) || e.Kind == ChallengeUnanswered && h.held
			if !h.connected || !may || !r.Window {
				return broken("RL-12: fenced for nothing")
			}
			h.connected = false
		case Resume:
			answers++
			attaches++
			if h.connected || h.accepts == 0 || !r.Window {
				return broken("RL-12: resumed wrongly")
			}
			h.connected = true
		case Challenge:
			answers++
			if h.held || !h.connected || !r.Window {
				return broken("%v without a connection, or a second one", effect)
			}
			h.held = true
		case ResumeChallenger:
			attaches++
			if !h.held || h.connected || e.Kind != ChallengeUnanswered && e.Kind != ConnectionLost {
				return broken("RL-12: resumed wrongly")
			}
			h.held, h.connected = false, true
		case RefuseChallenger:
			if !h.held {
				return broken("%v without a login that waits", effect)
			}
			h.held = false
		case RetryAfterLeave:
			answers++
			if !h.left || !r.Rejoin || e.Credential != IDOnly {
				return broken("sent back for nothing")
			}
		case CountDeadToken:
			if e.Kind != LoginArrived || e.Credential != DeadToken {
				return broken("a good token counts as dead")
			}
		case CloseSlow, CloseKicked, CloseEnded:
			if !h.connected || i+1 >= len(effects) || effects[i+1] != Drop {
				return broken("%v of no connection, or one that is kept", effect)
			}
		case Drop:
			if !h.connected {
				return broken("dropped twice")
			}
			h.connected = false
		case StartWindow, StopWindow:
			if h.windowRuns == (effect == StartWindow) {
				return broken("RL-14: %v out of turn", effect)
			}
			h.windowRuns = effect == StartWindow
		case StopReservation:
			h.reserved = false
		case TellDetached:
			if next.State != Detached {
				return broken("told a loss that is none")
			}
		case TellLeaving:
			h.leavings++
		case SetActive:
			if h.status != messages.PlayerSessionReserved || h.accepts == 0 {
				return broken("RL-16: ACTIVE after %v", h.status)
			}
			h.status = messages.PlayerSessionActive
		case SetCompleted:
			if h.status != messages.PlayerSessionActive {
				return broken("RL-16: COMPLETED after %v", h.status)
			}
			h.status = messages.PlayerSessionCompleted
		case SetTimedOut:
			if h.status != messages.PlayerSessionReserved {
				return broken("RL-16: TIMEDOUT after %v", h.status)
			}
			h.status = messages.PlayerSessionTimedOut
		case End:
			h.ends++
			if i != len(effects)-1 || !h.status.Final() || h.waiting {
				return broken("ended too early")
			}
		}
	}
	if e.Kind == ChallengerGone {
		h.held = false
	}
	return h, h.checkInvariants(r, m, e, next, attaches, answers, broken)
}

// checkInvariants checks the invariants that must hold between steps.
func (h history) checkInvariants(r Rules, m Machine, e Event, next Machine, attaches, answers int, broken func(string, ...any) (history, error)) error {
	_, err := history{}, error(nil)
	fail := func(format string, args ...any) { _, err = broken(format, args...) }
	switch {
	case int(next.Epoch-m.Epoch) != attaches:
		fail("RL-8: %d connections attached", attaches)
	case e.Kind == LoginArrived && answers != 1:
		fail("a login has %d answers", answers)
	case e.Kind != LoginArrived && answers != 0:
		fail("an answer without a login")
	case h.accepts > 1:
		fail("RL-13: accepted twice")
	case h.leavings > 1 || h.leavings > h.accepts:
		fail("RL-13: left %d times, accepted %d times", h.leavings, h.accepts)
	case h.ends > 1 || (h.ends == 1) != (next.State == Gone):
		fail("ended %d times", h.ends)
	case h.connected != (next.State == Attached):
		fail("connected is %v", h.connected)
	case h.waiting != (next.State == Joining):
		fail("a login waits: %v", h.waiting)
	case h.held != next.Challenged:
		fail("a login waits for the connection: %v", h.held)
	case h.left != next.Left:
		fail("left by itself: %v", h.left)
	case h.windowRuns != (next.State == Detached):
		fail("RL-14: the window runs: %v", h.windowRuns)
	case next.State == Detached && !r.Window:
		fail("detached in strict mode")
	case (h.leavings == 1) != (next.State == Leaving || next.State == Gone && h.leavings == 1):
		fail("RL-13: the game was told: %d", h.leavings)
	case (h.status == messages.PlayerSessionActive) != (next.State == Attached || next.State == Detached || next.State == Leaving):
		fail("RL-16: status %v", h.status)
	case m.State == Gone && next.State != Gone:
		fail("risen from the dead")
	case h.accepts > 0 && h.reserved:
		fail("RL-17: the reservation goes on")
	}
	return err
}
