package player

import (
	"fmt"
	"slices"

	"troupe/messages"
)

// The reference is the table of reliability.md 2.8, with DESIGN 4 where it wins,
// written a second time and in another shape: rows instead of code.

type row struct {
	from State
	on   EventKind
	when func(r Rules, m Machine) bool // nil: always
	to   State
	do   []Effect
}

func window(r Rules, _ Machine) bool      { return r.Window }
func strict(r Rules, _ Machine) bool      { return !r.Window }
func takesOver(r Rules, _ Machine) bool   { return r.Window && r.Takeover }
func refusesNew(r Rules, _ Machine) bool  { return !r.Window || !r.Takeover }
func inTime(_ Rules, m Machine) bool      { return !m.Expired }
func afterExpiry(_ Rules, m Machine) bool { return m.Expired }

func do(effects ...Effect) []Effect { return effects }

// table has a row for whatever changes or does something; the rest is ignored.
var table = []row{
	{Reserved, LoginArrived, nil, Joining, do(AskGate)},
	{Reserved, ReservationOver, nil, Gone, do(StopReservation, SetTimedOut, End)},
	{Reserved, Kicked, nil, Gone, do(StopReservation, SetTimedOut, End)},
	{Reserved, GameEnded, nil, Gone, do(StopReservation, SetTimedOut, End)},

	{Joining, LoginArrived, nil, Joining, do(RefuseLogin)},
	{Joining, ReservationOver, nil, Joining, do()}, // remembered: Expired
	{Joining, GateAccepted, nil, Attached, do(StopReservation, Accept, SetActive)},
	{Joining, GateRefused, inTime, Reserved, do(RefuseWaiting, ReleasePeer)},
	{Joining, GateRefused, afterExpiry, Gone, do(RefuseWaiting, ReleasePeer, SetTimedOut, End)},
	{Joining, JoinLost, inTime, Reserved, do(RefuseWaiting, ReleasePeer)},
	{Joining, JoinLost, afterExpiry, Gone, do(RefuseWaiting, ReleasePeer, SetTimedOut, End)},
	{Joining, Kicked, nil, Gone, do(StopReservation, RefuseWaiting, ReleasePeer, SetTimedOut, End)},
	{Joining, GameEnded, nil, Gone, do(StopReservation, RefuseWaiting, ReleasePeer, SetTimedOut, End)},

	{Attached, LoginArrived, takesOver, Attached, do(FenceOld, Resume)},
	{Attached, LoginArrived, refusesNew, Attached, do(RefuseLogin)},
	{Attached, ConnectionLost, window, Detached, do(Drop, StartWindow, TellDetached)},
	{Attached, ConnectionLost, strict, Leaving, do(Drop, TellLeaving)},
	{Attached, ConnectionLeft, nil, Leaving, do(Drop, TellLeaving)},
	{Attached, OutboxFull, window, Detached, do(CloseSlow, Drop, StartWindow, TellDetached)},
	{Attached, OutboxFull, strict, Leaving, do(CloseSlow, Drop, TellLeaving)},
	{Attached, Kicked, nil, Leaving, do(CloseKicked, Drop, TellLeaving)},
	{Attached, GameEnded, nil, Gone, do(CloseEnded, Drop, SetCompleted, End)}, // D19: no onPlayerDisconnect

	{Detached, LoginArrived, nil, Attached, do(StopWindow, Resume)},
	{Detached, WindowOver, nil, Leaving, do(StopWindow, TellLeaving)},
	{Detached, OutboxFull, nil, Leaving, do(StopWindow, TellLeaving)},
	{Detached, ConnectionLeft, nil, Leaving, do(StopWindow, TellLeaving)},
	{Detached, Kicked, nil, Leaving, do(StopWindow, TellLeaving)},
	{Detached, GameEnded, nil, Gone, do(StopWindow, SetCompleted, End)},

	{Leaving, LoginArrived, nil, Leaving, do(RefuseLogin)},
	{Leaving, LeaveDone, nil, Gone, do(SetCompleted, End)},
	{Leaving, GameEnded, nil, Gone, do(SetCompleted, End)},

	{Gone, LoginArrived, nil, Gone, do(RefuseLogin)},
}

func hasEpoch(k EventKind) bool {
	return k == ConnectionLost || k == ConnectionLeft || k == WindowOver
}

func hasAttempt(k EventKind) bool { return k == GateAccepted || k == GateRefused || k == JoinLost }

// reference is what Step should do.
func reference(m Machine, r Rules, e Event) (Machine, []Effect) {
	if hasEpoch(e.Kind) && e.Epoch != m.Epoch {
		return m, do(CountOldEpoch)
	}
	if hasAttempt(e.Kind) && e.Attempt != m.Attempt {
		return m, nil
	}
	for _, row := range table {
		if row.from != m.State || row.on != e.Kind || row.when != nil && !row.when(r, m) {
			continue
		}
		if m.State == Joining && e.Kind == ReservationOver {
			m.Expired = true
		}
		for _, effect := range row.do {
			switch effect {
			case AskGate:
				m.Attempt++
			case Accept, Resume:
				m.Epoch++
			}
		}
		m.State = row.to
		return m, row.do
	}
	return m, nil
}

// events lists what may happen to a machine: every kind, with the right number
// and with the one before.
func events(m Machine) []Event {
	var all []Event
	for k := LoginArrived; k < eventKindEnd; k++ {
		switch {
		case hasEpoch(k):
			all = append(all, Event{Kind: k, Epoch: m.Epoch}, Event{Kind: k, Epoch: m.Epoch - 1})
		case hasAttempt(k):
			all = append(all, Event{Kind: k, Attempt: m.Attempt}, Event{Kind: k, Attempt: m.Attempt - 1})
		default:
			all = append(all, Event{Kind: k})
		}
	}
	return all
}

// history is what a player session's actor has done so far: all that the
// invariants of reliability.md 3 speak of. It is a value, and comparable.
type history struct {
	accepts, leavings, ends uint8
	waiting, connected      bool
	windowRuns, reserved    bool
	status                  messages.PlayerSessionStatus
}

func newHistory() history {
	return history{reserved: true, status: messages.PlayerSessionReserved}
}

// after checks one step against the invariants and returns the history with it.
// It does not look at the table.
func (h history) after(r Rules, m Machine, e Event, next Machine, effects []Effect) (history, error) {
	broken := func(format string, args ...any) (history, error) {
		return h, fmt.Errorf("%s in %v, %v: %v %v", fmt.Sprintf(format, args...), m, e, next, effects)
	}
	if next.Epoch < m.Epoch || next.Epoch > m.Epoch+1 {
		return broken("R8: epoch steps from %d to %d", m.Epoch, next.Epoch)
	}
	if hasEpoch(e.Kind) && e.Epoch < m.Epoch && (next != m || !slices.Equal(effects, do(CountOldEpoch))) {
		return broken("R8: an older epoch has an effect")
	}
	if hasAttempt(e.Kind) && e.Attempt < m.Attempt && (next != m || len(effects) > 0) {
		return broken("an answer to an older login has an effect")
	}
	attaches, answers := 0, 0
	for i, effect := range effects {
		if h.ends > 0 && effect != RefuseLogin && effect != CountOldEpoch {
			return broken("%v after the end", effect)
		}
		switch effect {
		case AskGate:
			answers++
			if h.waiting || h.accepts > 0 {
				return broken("R13: the gate is asked again")
			}
			h.waiting = true
		case RefuseLogin:
			answers++
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
			if i == 0 || effects[i-1] != RefuseWaiting {
				return broken("a peer id is released for nothing")
			}
		case FenceOld:
			if !h.connected || !r.Takeover {
				return broken("R12: fenced for nothing")
			}
			h.connected = false
		case Resume:
			answers++
			attaches++
			if h.connected || h.accepts == 0 || !r.Window {
				return broken("R12: resumed wrongly")
			}
			h.connected = true
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
				return broken("R14: %v out of turn", effect)
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
				return broken("R16: ACTIVE after %v", h.status)
			}
			h.status = messages.PlayerSessionActive
		case SetCompleted:
			if h.status != messages.PlayerSessionActive {
				return broken("R16: COMPLETED after %v", h.status)
			}
			h.status = messages.PlayerSessionCompleted
		case SetTimedOut:
			if h.status != messages.PlayerSessionReserved {
				return broken("R16: TIMEDOUT after %v", h.status)
			}
			h.status = messages.PlayerSessionTimedOut
		case End:
			h.ends++
			if i != len(effects)-1 || !h.status.Final() || h.waiting {
				return broken("ended too early")
			}
		}
	}
	return h, h.settled(r, m, e, next, attaches, answers, broken)
}

// settled checks what must hold between steps.
func (h history) settled(r Rules, m Machine, e Event, next Machine, attaches, answers int, broken func(string, ...any) (history, error)) error {
	_, err := history{}, error(nil)
	fail := func(format string, args ...any) { _, err = broken(format, args...) }
	switch {
	case int(next.Epoch-m.Epoch) != attaches:
		fail("R8: %d connections attached", attaches)
	case e.Kind == LoginArrived && answers != 1:
		fail("a login has %d answers", answers)
	case e.Kind != LoginArrived && answers != 0:
		fail("an answer without a login")
	case h.accepts > 1:
		fail("R13: accepted twice")
	case h.leavings > 1 || h.leavings > h.accepts:
		fail("R13: left %d times, accepted %d times", h.leavings, h.accepts)
	case h.ends > 1 || (h.ends == 1) != (next.State == Gone):
		fail("ended %d times", h.ends)
	case h.connected != (next.State == Attached):
		fail("connected is %v", h.connected)
	case h.waiting != (next.State == Joining):
		fail("a login waits: %v", h.waiting)
	case h.windowRuns != (next.State == Detached):
		fail("R14: the window runs: %v", h.windowRuns)
	case next.State == Detached && !r.Window:
		fail("detached in strict mode")
	case (h.leavings == 1) != (next.State == Leaving || next.State == Gone && h.leavings == 1):
		fail("R13: the game was told: %d", h.leavings)
	case (h.status == messages.PlayerSessionActive) != (next.State == Attached || next.State == Detached || next.State == Leaving):
		fail("R16: status %v", h.status)
	case m.State == Gone && next.State != Gone:
		fail("risen from the dead")
	case h.accepts > 0 && h.reserved:
		fail("R17: the reservation goes on")
	}
	return err
}
