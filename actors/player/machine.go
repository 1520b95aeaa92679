package player

import (
	"troupe/messages"
	"troupe/messages/counters"
)

// State is where a player session stands (reliability.md 2.8).
type State uint8

// States.
const (
	Reserved State = iota + 1 // a seat is held, nobody has logged in
	Joining                   // a LOGIN is before the game's gate
	Attached                  // a connection serves the player
	Detached                  // the connection is lost, the window runs
	Leaving                   // the game is being told
	Gone                      // over
)

var stateNames = [...]string{"", "RESERVED", "JOINING", "ATTACHED", "DETACHED", "LEAVING", "GONE"}

// String returns the state's name.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "INVALID"
}

// gauge is the metric of a state; 0 for Gone.
func (s State) gauge() counters.PlayerState {
	if s == Gone {
		return 0
	}
	return counters.PlayerState(s)
}

// EventKind is what may happen to a player session.
type EventKind uint8

// Events. Those of a connection carry its epoch.
const (
	LoginArrived    EventKind = iota + 1
	ReservationOver           // 60 s without an accepted login
	GateAccepted              // the game lets the player in
	GateRefused               // it does not
	JoinLost                  // the connection went away before it was accepted
	ConnectionLost            // gone without a clean leave
	ConnectionLeft            // close code 1000
	WindowOver                // the reconnect window has passed
	OutboxFull                // the outbound budget is used up
	Kicked                    // the game removed the player
	GameEnded                 // the game session is over
	LeaveDone                 // the game has been told
	eventKindEnd
)

var eventNames = [...]string{"", "LoginArrived", "ReservationOver", "GateAccepted", "GateRefused", "JoinLost", "ConnectionLost",
	"ConnectionLeft", "WindowOver", "OutboxFull", "Kicked", "GameEnded", "LeaveDone"}

// String returns the event's name.
func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return "Invalid"
}

// Event is one thing that happened. Epoch is the connection's for
// ConnectionLost, ConnectionLeft and WindowOver; Attempt the login's for
// GateAccepted, GateRefused and JoinLost.
type Event struct {
	Kind    EventKind
	Epoch   messages.Epoch
	Attempt uint64
}

// Effect is one thing the actor is to do. They are carried out in order.
type Effect uint8

// Effects.
const (
	AskGate         Effect = iota + 1 // have the game decide on the waiting login
	RefuseLogin                       // answer the login that just came with no
	RefuseWaiting                     // answer the login before the gate with no
	ReleasePeer                       // the waiting login is over: its peer id and place are free
	Accept                            // attach the waiting login: epoch 1, LOGIN_RESPONSE, tell the game
	FenceOld                          // close the old connection as taken over
	Resume                            // attach the login that just came: LOGIN_RESPONSE, then what was missed
	CloseSlow                         // close the connection as slow consumer
	Drop                              // forget the connection and its fast channel
	StartWindow                       // run the reconnect window
	StopWindow                        //
	StopReservation                   // the 60 s no longer run
	TellDetached                      // the game session notes the loss
	TellLeaving                       // the game session runs onPlayerDisconnect and removes the player
	CloseKicked                       // close the connection: removed by the game
	CloseEnded                        // close the connection: game session over
	SetActive                         // status ACTIVE
	SetCompleted                      // status COMPLETED
	SetTimedOut                       // status TIMEDOUT
	CountOldEpoch                     // an event of an older epoch was ignored
	End                               // nothing more will happen: the actor stops
	effectEnd
)

var effectNames = [...]string{"", "AskGate", "RefuseLogin", "RefuseWaiting", "ReleasePeer", "Accept", "FenceOld", "Resume", "CloseSlow",
	"Drop", "StartWindow", "StopWindow", "StopReservation", "TellDetached", "TellLeaving", "CloseKicked", "CloseEnded",
	"SetActive", "SetCompleted", "SetTimedOut", "CountOldEpoch", "End"}

// String returns the effect's name.
func (e Effect) String() string {
	if int(e) < len(effectNames) {
		return effectNames[e]
	}
	return "Invalid"
}

// Rules are the choices of the operator that the machine follows.
type Rules struct {
	// Window is false in strict mode (reconnect.window = 0): a loss is a leave
	// and no second login is taken.
	Window bool
	// Takeover lets a login win over a connection that still looks alive
	// (DESIGN 4.3).
	Takeover bool
}

// Machine is the state of one player session. It is a value: Step returns the
// next one.
type Machine struct {
	State State
	// Epoch is the number of the current or last connection, 0 before the first.
	Epoch messages.Epoch
	// Attempt numbers the logins that came before the gate.
	Attempt uint64
	// Expired says that the reservation ran out while a login was before the gate.
	Expired bool
}

// NewMachine returns the machine of a fresh reservation.
func NewMachine() Machine { return Machine{State: Reserved} }

// Step takes one event and returns the next machine and what is to be done. It
// is total: an event that does not fit the state changes nothing.
func (m Machine) Step(r Rules, e Event) (Machine, []Effect) {
	if e.Kind == ConnectionLost || e.Kind == ConnectionLeft || e.Kind == WindowOver {
		if e.Epoch != m.Epoch {
			return m, []Effect{CountOldEpoch}
		}
	}
	if (e.Kind == GateAccepted || e.Kind == GateRefused || e.Kind == JoinLost) && (m.State != Joining || e.Attempt != m.Attempt) {
		return m, nil
	}
	switch m.State {
	case Reserved:
		return m.reserved(e)
	case Joining:
		return m.joining(e)
	case Attached:
		return m.attached(r, e)
	case Detached:
		return m.detached(e)
	case Leaving:
		return m.leaving(e)
	default:
		return m.refuseOnly(e)
	}
}

func (m Machine) to(s State) Machine {
	m.State = s
	return m
}

func (m Machine) refuseOnly(e Event) (Machine, []Effect) {
	if e.Kind == LoginArrived {
		return m, []Effect{RefuseLogin}
	}
	return m, nil
}

func (m Machine) reserved(e Event) (Machine, []Effect) {
	switch e.Kind {
	case LoginArrived:
		m.Attempt++
		return m.to(Joining), []Effect{AskGate}
	case ReservationOver, GameEnded, Kicked:
		return m.to(Gone), []Effect{StopReservation, SetTimedOut, End}
	}
	return m, nil
}

func (m Machine) joining(e Event) (Machine, []Effect) {
	switch e.Kind {
	case LoginArrived:
		return m, []Effect{RefuseLogin} // one login per player session is decided at a time
	case ReservationOver:
		m.Expired = true
	case GateAccepted:
		m.Epoch++
		return m.to(Attached), []Effect{StopReservation, Accept, SetActive}
	case GateRefused, JoinLost:
		effects := []Effect{RefuseWaiting, ReleasePeer}
		if m.Expired {
			return m.to(Gone), append(effects, SetTimedOut, End)
		}
		return m.to(Reserved), effects
	case GameEnded, Kicked:
		return m.to(Gone), []Effect{StopReservation, RefuseWaiting, ReleasePeer, SetTimedOut, End}
	}
	return m, nil
}

func (m Machine) attached(r Rules, e Event) (Machine, []Effect) {
	switch e.Kind {
	case LoginArrived:
		if !r.Window || !r.Takeover {
			return m, []Effect{RefuseLogin}
		}
		m.Epoch++
		return m, []Effect{FenceOld, Resume}
	case ConnectionLost:
		if !r.Window {
			return m.to(Leaving), []Effect{Drop, TellLeaving}
		}
		return m.to(Detached), []Effect{Drop, StartWindow, TellDetached}
	case ConnectionLeft:
		return m.to(Leaving), []Effect{Drop, TellLeaving}
	case OutboxFull:
		if !r.Window {
			return m.to(Leaving), []Effect{CloseSlow, Drop, TellLeaving}
		}
		return m.to(Detached), []Effect{CloseSlow, Drop, StartWindow, TellDetached}
	case Kicked:
		return m.to(Leaving), []Effect{CloseKicked, Drop, TellLeaving}
	case GameEnded:
		return m.to(Gone), []Effect{CloseEnded, Drop, SetCompleted, End}
	}
	return m, nil
}

func (m Machine) detached(e Event) (Machine, []Effect) {
	switch e.Kind {
	case LoginArrived:
		m.Epoch++
		return m.to(Attached), []Effect{StopWindow, Resume}
	case WindowOver, OutboxFull, Kicked, ConnectionLeft: // the last: the host let go first, but the player left
		return m.to(Leaving), []Effect{StopWindow, TellLeaving}
	case GameEnded:
		return m.to(Gone), []Effect{StopWindow, SetCompleted, End}
	}
	return m, nil
}

func (m Machine) leaving(e Event) (Machine, []Effect) {
	switch e.Kind {
	case LoginArrived:
		return m, []Effect{RefuseLogin}
	case LeaveDone, GameEnded:
		return m.to(Gone), []Effect{SetCompleted, End}
	}
	return m, nil
}
