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
	Released                  // the game does not wait for a detached player
	ChallengeLost             // the connection that was asked for a sign of life gave none
	ChallengeMet              // it gave one
	HeldLost                  // the login that waited for that has gone
	StateUnsound              // a restarted actor found what it inherited in disorder
	eventKindEnd
)

var eventNames = [...]string{"", "LoginArrived", "ReservationOver", "GateAccepted", "GateRefused", "JoinLost", "ConnectionLost",
	"ConnectionLeft", "WindowOver", "OutboxFull", "Kicked", "GameEnded", "LeaveDone", "Released", "ChallengeLost", "ChallengeMet", "HeldLost", "StateUnsound"}

// String returns the event's name.
func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return "Invalid"
}

// Credential is what a login brings besides the player session's id.
type Credential uint8

// Credentials.
const (
	IDOnly    Credential = iota // no token: a stock client, or another device
	GoodToken                   // the token of this player session
	DeadToken                   // another: nobody gets in with it
)

// Event is one thing that happened. Epoch is the connection's for
// ConnectionLost, ConnectionLeft, WindowOver, Released, ChallengeLost and
// ChallengeMet; Attempt the login's for GateAccepted, GateRefused and JoinLost;
// Credential and Join are of LoginArrived.
type Event struct {
	Kind       EventKind
	Epoch      messages.Epoch
	Attempt    uint64
	Credential Credential
	Join       Join
}

// Join is what a login is to the one of the same player that is before the gate.
type Join uint8

// Joins.
const (
	JoinBehind  Join = iota // that one goes on
	JoinInstead             // it takes the place of that one, and asks the game the same
	JoinAnew                // likewise, but what it asks is something else
)

// ofEpoch reports whether the event belongs to one connection.
func (e Event) ofEpoch() bool {
	switch e.Kind {
	case ConnectionLost, ConnectionLeft, WindowOver, Released, ChallengeLost, ChallengeMet:
		return true
	}
	return false
}

// Effect is one thing the actor is to do. They are carried out in order.
type Effect uint8

// Effects.
const (
	AskGate         Effect = iota + 1 // have the game decide on the waiting login
	RefuseLogin                       // answer the login that just came with no
	RefuseForNow                      // the same, but it may come again soon
	RefuseWaiting                     // answer the login before the gate with no
	DismissWaiting                    // close the connection of the login before the gate: another has its place
	TakePlace                         // the login that just came waits for the gate instead of the one before
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
	CountDeadToken                    // a login brought a token that is not good
	Challenge                         // keep the login that just came, and ask the old connection for a sign of life
	ResumeHeld                        // attach the login that was kept
	RefuseHeld                        // answer the login that was kept with no
	SendBack                          // have the game session bring the login again when the leave is done
	End                               // nothing more will happen: the actor stops
	effectEnd
)

var effectNames = [...]string{"", "AskGate", "RefuseLogin", "RefuseForNow", "RefuseWaiting", "DismissWaiting", "TakePlace", "ReleasePeer", "Accept", "FenceOld", "Resume", "CloseSlow",
	"Drop", "StartWindow", "StopWindow", "StopReservation", "TellDetached", "TellLeaving", "CloseKicked", "CloseEnded",
	"SetActive", "SetCompleted", "SetTimedOut", "CountOldEpoch", "CountDeadToken", "Challenge", "ResumeHeld", "RefuseHeld", "SendBack", "End"}

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
	// Takeover lets a login without a token win at once over a connection that
	// still looks alive (D-3); otherwise that one is asked for a sign of life
	// first (reliability.md 2.6). One with a good token always wins.
	Takeover bool
	// Rejoin lets a player that has left come back as a new one (D-2).
	Rejoin bool
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
	// Again is a player that has left and wants in again: no reservation is held.
	Again bool
	// Left says that the player has left by itself, and may come again.
	Left bool
	// Challenged says that a login waits for the current connection to give a sign
	// of life or not.
	Challenged bool
}

// NewMachine returns the machine of a fresh reservation.
func NewMachine() Machine { return Machine{State: Reserved} }

// NewStay returns the machine of a player that comes again after it has left.
func NewStay() Machine { return Machine{State: Reserved, Again: true} }

// Step takes one event and returns the next machine and what is to be done. It
// is total: an event that does not fit the state changes nothing.
func (m Machine) Step(r Rules, e Event) (Machine, []Effect) {
	if e.ofEpoch() && e.Epoch != m.Epoch {
		return m, []Effect{CountOldEpoch}
	}
	if e.Kind == LoginArrived && e.Credential == DeadToken {
		return m, []Effect{CountDeadToken, RefuseLogin}
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
		return m.leaving(r, e)
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
	case LoginArrived: // one login per player session is decided at a time
		switch {
		case e.Join == JoinInstead:
			return m, []Effect{DismissWaiting, TakePlace}
		case e.Join == JoinAnew && !m.Expired:
			m.Attempt++
			return m, []Effect{DismissWaiting, ReleasePeer, AskGate}
		}
		return m, []Effect{RefuseForNow}
	case ReservationOver:
		m.Expired = true
	case GateAccepted:
		m.Epoch++
		m.Again = false
		return m.to(Attached), []Effect{StopReservation, Accept, SetActive}
	case GateRefused, JoinLost:
		effects := []Effect{RefuseWaiting, ReleasePeer}
		if m.Expired || m.Again {
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
		switch {
		case !r.Window, m.Challenged && e.Credential != GoodToken:
			return m, []Effect{RefuseLogin}
		case !r.Takeover && e.Credential != GoodToken:
			m.Challenged = true
			return m, []Effect{Challenge}
		}
		m.Epoch++
		return m.unchallenged(FenceOld, Resume)
	case ChallengeMet:
		return m.unchallenged()
	case ChallengeLost:
		if m.Challenged {
			return m.admitHeld(FenceOld)
		}
	case HeldLost:
		m.Challenged = false
	case ConnectionLost:
		switch {
		case !r.Window:
			return m.to(Leaving), []Effect{Drop, TellLeaving}
		case m.Challenged:
			return m.admitHeld(Drop)
		}
		return m.to(Detached), []Effect{Drop, StartWindow, TellDetached}
	case ConnectionLeft:
		m.Left = true
		return m.to(Leaving).unchallenged(Drop, TellLeaving)
	case OutboxFull:
		if !r.Window {
			return m.to(Leaving), []Effect{CloseSlow, Drop, TellLeaving}
		}
		return m.to(Detached).unchallenged(CloseSlow, Drop, StartWindow, TellDetached)
	case StateUnsound:
		return m.to(Leaving).unchallenged(Drop, TellLeaving)
	case Kicked:
		return m.to(Leaving).unchallenged(CloseKicked, Drop, TellLeaving)
	case GameEnded:
		return m.to(Gone).unchallenged(CloseEnded, Drop, SetCompleted, End)
	}
	return m, nil
}

// unchallenged refuses the login that waits, if there is one, before effects.
func (m Machine) unchallenged(effects ...Effect) (Machine, []Effect) {
	if m.Challenged {
		m.Challenged = false
		return m, append([]Effect{RefuseHeld}, effects...)
	}
	return m, effects
}

// admitHeld lets the login that waits have the player, once first is done with
// the old connection.
func (m Machine) admitHeld(first Effect) (Machine, []Effect) {
	m.Challenged = false
	m.Epoch++
	return m, []Effect{first, ResumeHeld}
}

func (m Machine) detached(e Event) (Machine, []Effect) {
	switch e.Kind {
	case LoginArrived:
		m.Epoch++
		return m.to(Attached), []Effect{StopWindow, Resume}
	case WindowOver, OutboxFull, Kicked, Released, StateUnsound:
		return m.to(Leaving), []Effect{StopWindow, TellLeaving}
	case ConnectionLeft: // the host let go first, but the player left
		m.Left = true
		return m.to(Leaving), []Effect{StopWindow, TellLeaving}
	case GameEnded:
		return m.to(Gone), []Effect{StopWindow, SetCompleted, End}
	}
	return m, nil
}

func (m Machine) leaving(r Rules, e Event) (Machine, []Effect) {
	switch e.Kind {
	case LoginArrived:
		if r.Rejoin && m.Left && e.Credential == IDOnly {
			return m, []Effect{SendBack}
		}
		return m, []Effect{RefuseLogin}
	case LeaveDone, GameEnded:
		return m.to(Gone), []Effect{SetCompleted, End}
	}
	return m, nil
}
