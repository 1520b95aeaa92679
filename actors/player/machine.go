package player

import (
	"troupe/messages"
	"troupe/messages/counters"
)

// State is the state of a player session (reliability.md 2.8).
type State uint8

// Values of State.
const (
	Reserved State = iota + 1 // the player session is reserved; nobody has logged in
	Joining                   // a login waits for the game's gate
	Attached                  // a connection serves the player
	Detached                  // the connection is lost; the reconnect window is open
	Leaving                   // the game session is handling the leave
	Gone                      // the player session has ended
)

// gauge returns the metric of a state, or 0 for Gone.
func (s State) gauge() counters.PlayerState {
	if s == Gone {
		return 0
	}
	return counters.PlayerState(s)
}

// EventKind is a kind of Event.
type EventKind uint8

// Kinds of events. An event about a connection carries the connection's epoch.
const (
	LoginArrived        EventKind = iota + 1
	ReservationOver               // 60 s without an accepted login
	GateAccepted                  // the game lets the player in
	GateRefused                   // the game does not let the player in
	JoinLost                      // the connection of the pending login ended
	ConnectionLost                // the connection ended without a clean leave
	ConnectionLeft                // the player left (close code 1000)
	WindowOver                    // the reconnect window has passed
	OutboxFull                    // the outbox has used up its budget
	Kicked                        // the game removed the player
	GameEnded                     // the game session is over
	LeaveDone                     // the game session has handled the leave
	Released                      // the game does not want to wait for a detached player
	ChallengeUnanswered           // the challenged connection gave no sign of life
	ChallengeAnswered             // the challenged connection gave a sign of life
	ChallengerGone                // the connection of the challenger has ended
	StateInconsistent             // a restarted actor found an outbox that contradicts itself
	eventKindEnd
)

// Credential classifies the reconnect token of a login. The token comes in addition to the player session id.
type Credential uint8

// Values of Credential.
const (
	IDOnly    Credential = iota // no token: the login is from a stock client or another device
	GoodToken                   // a valid token of this player session
	DeadToken                   // an invalid token: the login is refused
)

// Event is an input of the Machine. Epoch is set if hasEpoch is true. Attempt is set for GateAccepted, GateRefused and
// JoinLost. Credential and Join are set for LoginArrived.
type Event struct {
	Kind       EventKind
	Epoch      messages.Epoch
	Attempt    uint64
	Credential Credential
	Join       Join
}

// Join says how a new login affects an earlier login of the same player that still waits for the gate.
type Join uint8

// Values of Join.
const (
	JoinBehind  Join = iota // the earlier login keeps waiting; the new one is refused
	JoinInstead             // the new login replaces the earlier one; the payload is the same, so the gate's decision remains valid
	JoinAnew                // the new login replaces the earlier one; the payload differs, so the gate decides again
)

// hasEpoch reports whether the event belongs to one particular connection.
func (e Event) hasEpoch() bool {
	switch e.Kind {
	case ConnectionLost, ConnectionLeft, WindowOver, Released, ChallengeUnanswered, ChallengeAnswered:
		return true
	}
	return false
}

// Effect is one action of the actor. The actor carries out the effects of a step in order.
type Effect uint8

// Values of Effect.
const (
	AskGate          Effect = iota + 1 // ask the game to decide on the new login
	RefuseLogin                        // refuse the new login
	RefuseForNow                       // refuse the new login, but allow a retry soon
	RefuseWaiting                      // refuse the login that waits for the gate
	DismissWaiting                     // close the connection whose login waits for the gate, because a newer login replaces it
	ReplaceWaiting                     // let the new login wait for the gate's decision on the earlier one
	ReleasePeer                        // free the peer id of the login that waited for the gate
	Accept                             // attach the login that waited for the gate (epoch 1), send LOGIN_RESPONSE and tell the game
	FenceOld                           // close the old connection as taken over
	Resume                             // attach the new login: send LOGIN_RESPONSE, then the missed messages
	CloseSlow                          // close the connection as a slow consumer
	Drop                               // detach the outbox from the connection and close its fast channel
	StartWindow                        // start the reconnect window
	StopWindow                         // stop the reconnect window
	StopReservation                    // stop the reservation timer
	TellDetached                       // tell the game session that the player is detached
	TellLeaving                        // have the game session run onPlayerDisconnect and remove the player
	CloseKicked                        // close the connection because the game removed the player
	CloseEnded                         // close the connection because the game session is over
	SetActive                          // set the player session's status to ACTIVE
	SetCompleted                       // set the player session's status to COMPLETED
	SetTimedOut                        // set the player session's status to TIMEDOUT
	CountOldEpoch                      // count an ignored event of an older epoch
	CountDeadToken                     // count a login with an invalid token
	Challenge                          // keep the new login as the challenger and ask the current connection for a sign of life
	ResumeChallenger                   // attach the challenger
	RefuseChallenger                   // refuse the challenger
	RetryAfterLeave                    // make the game session deliver the login again after the leave
	End                                // stop the actor; no more events follow
	effectEnd
)

// Rules are the operator's settings for the machine.
type Rules struct {
	// Window is false in strict mode (reconnect.window = 0). In strict mode a lost connection counts as a leave, and a
	// second login is refused.
	Window bool
	// Takeover lets a login without a token replace a connection at once even if that connection looks alive. If
	// Takeover is false, the connection is first asked for a sign of life (reliability.md 2.6). A login with a good
	// token always replaces it at once.
	Takeover bool
	// Rejoin lets a player that left log in again as a new player.
	Rejoin bool
}

// Reservation says whether the player may try again after the gate has refused its login. If the reservation is no
// longer valid, a refusal ends the player session.
type Reservation uint8

// Values of Reservation. The value has no meaning once the player is attached.
const (
	ReservationValid   Reservation = iota
	ReservationExpired             // it expired while a login waited for the gate
	ReservationNone                // a rejoin after a leave has no reservation
)

// Machine is the state of one player session. It is immutable: Step returns the next state.
type Machine struct {
	// Epoch is the number of the current or last connection. It is 0 before the first connection.
	Epoch messages.Epoch
	// Attempt is the number of the newest login that was submitted to the gate.
	Attempt     uint64
	State       State
	Reservation Reservation
	// Left says that the player left on its own and may rejoin.
	Left bool
	// Challenged says that a login (the challenger) waits while the current connection is asked for a sign of life.
	Challenged bool
}

// Step returns the next state and the effects of one event. It is total: an event that does not fit the state changes
// nothing.
func (m Machine) Step(r Rules, e Event) (Machine, []Effect) {
	if e.hasEpoch() && e.Epoch != m.Epoch {
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
	}
	if e.Kind == LoginArrived {
		return m, []Effect{RefuseLogin}
	}
	return m, nil
}

func (m Machine) to(s State) Machine {
	m.State = s
	return m
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
	case LoginArrived: // the gate decides on only one login per player session at a time
		switch {
		case e.Join == JoinInstead:
			return m, []Effect{DismissWaiting, ReplaceWaiting}
		case e.Join == JoinAnew && m.Reservation != ReservationExpired:
			m.Attempt++
			return m, []Effect{DismissWaiting, ReleasePeer, AskGate}
		}
		return m, []Effect{RefuseForNow}
	case ReservationOver:
		m.Reservation = ReservationExpired
	case GateAccepted:
		m.Epoch++
		m.Reservation = ReservationValid
		return m.to(Attached), []Effect{StopReservation, Accept, SetActive}
	case GateRefused, JoinLost:
		effects := []Effect{RefuseWaiting, ReleasePeer}
		if m.Reservation != ReservationValid {
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
	case ChallengeAnswered:
		return m.unchallenged()
	case ChallengeUnanswered:
		if m.Challenged {
			return m.admitChallenger(FenceOld)
		}
	case ChallengerGone:
		m.Challenged = false
	case ConnectionLost:
		switch {
		case !r.Window:
			return m.to(Leaving), []Effect{Drop, TellLeaving}
		case m.Challenged:
			return m.admitChallenger(Drop)
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
	case StateInconsistent:
		return m.to(Leaving).unchallenged(Drop, TellLeaving)
	case Kicked:
		return m.to(Leaving).unchallenged(CloseKicked, Drop, TellLeaving)
	case GameEnded:
		return m.to(Gone).unchallenged(CloseEnded, Drop, SetCompleted, End)
	}
	return m, nil
}

// unchallenged refuses the challenger, if there is one, and then applies effects.
func (m Machine) unchallenged(effects ...Effect) (Machine, []Effect) {
	if m.Challenged {
		m.Challenged = false
		return m, append([]Effect{RefuseChallenger}, effects...)
	}
	return m, effects
}

// admitChallenger applies the effect first to the old connection, then attaches the challenger.
func (m Machine) admitChallenger(first Effect) (Machine, []Effect) {
	m.Challenged = false
	m.Epoch++
	return m, []Effect{first, ResumeChallenger}
}

func (m Machine) detached(e Event) (Machine, []Effect) {
	switch e.Kind {
	case LoginArrived:
		m.Epoch++
		return m.to(Attached), []Effect{StopWindow, Resume}
	case WindowOver, OutboxFull, Kicked, Released, StateInconsistent:
		return m.to(Leaving), []Effect{StopWindow, TellLeaving}
	case ConnectionLeft: // the host detached the connection before the player's leave arrived
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
			return m, []Effect{RetryAfterLeave}
		}
		return m, []Effect{RefuseLogin}
	case LeaveDone, GameEnded:
		return m.to(Gone), []Effect{SetCompleted, End}
	}
	return m, nil
}
