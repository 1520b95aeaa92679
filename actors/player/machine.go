package player

import (
	"troupe/messages"
	"troupe/messages/counters"
)

// State is the state of a player session (reliability.md 2.8).
type State uint8

// States.
const (
	Reserved State = iota + 1 // a seat is reserved, nobody has logged in
	Joining                   // a LOGIN waits for the game's gate
	Attached                  // a connection serves the player
	Detached                  // the connection is lost, the reconnect window runs
	Leaving                   // the game is being told
	Gone                      // the player session has ended
)

// gauge is the metric of a state; 0 for Gone.
func (s State) gauge() counters.PlayerState {
	if s == Gone {
		return 0
	}
	return counters.PlayerState(s)
}

// EventKind is a kind of Event.
type EventKind uint8

// Kinds of events. Events of a connection carry its epoch.
const (
	LoginArrived        EventKind = iota + 1
	ReservationOver               // 60 s without an accepted login
	GateAccepted                  // the game lets the player in
	GateRefused                   // the game does not let the player in
	JoinLost                      // the connection ended before the login was accepted
	ConnectionLost                // the connection ended without a clean leave
	ConnectionLeft                // the player left: close code 1000
	WindowOver                    // the reconnect window has passed
	OutboxFull                    // the outbox has used up its budget
	Kicked                        // the game removed the player
	GameEnded                     // the game session is over
	LeaveDone                     // the game has been told of the leave
	Released                      // the game does not wait for a detached player
	ChallengeUnanswered           // the challenged connection gave no sign of life
	ChallengeAnswered             // the challenged connection gave a sign of life
	ChallengerGone                // the connection of the challenger has ended
	StateInconsistent             // a restarted actor found an outbox that contradicts itself
	eventKindEnd
)

// Credential says which reconnect token a login brings besides the player session's id.
type Credential uint8

// Credentials.
const (
	IDOnly    Credential = iota // no token: a stock client, or another device
	GoodToken                   // a valid token of this player session
	DeadToken                   // an invalid token: the login is refused
)

// Event is an input of the Machine. Epoch is set for one connection's events (hasEpoch),
// Attempt for GateAccepted, GateRefused and JoinLost, Credential and Join for LoginArrived.
type Event struct {
	Kind       EventKind
	Epoch      messages.Epoch
	Attempt    uint64
	Credential Credential
	Join       Join
}

// Join is what a login means for an earlier one of the player that waits for the gate.
type Join uint8

// Joins.
const (
	JoinBehind  Join = iota // the earlier login goes on
	JoinInstead             // the new login replaces it; the payload is the same, so the gate's decision stays valid
	JoinAnew                // the new login replaces it; the payload differs, so the gate is asked again
)

// hasEpoch reports whether the event belongs to one connection.
func (e Event) hasEpoch() bool {
	switch e.Kind {
	case ConnectionLost, ConnectionLeft, WindowOver, Released, ChallengeUnanswered, ChallengeAnswered:
		return true
	}
	return false
}

// Effect is one action of the actor, which carries out the effects of a step in order.
type Effect uint8

// Effects.
const (
	AskGate          Effect = iota + 1 // have the game decide on the new login
	RefuseLogin                        // refuse the new login
	RefuseForNow                       // refuse the new login, but let it retry soon
	RefuseWaiting                      // refuse the login that waits for the gate
	DismissWaiting                     // close the connection whose login waits for the gate: a newer one replaces it
	ReplaceWaiting                     // the new login waits for the gate's decision on the old one
	ReleasePeer                        // free the peer id of the login that waited for the gate
	Accept                             // attach the login that waited: epoch 1, LOGIN_RESPONSE, tell the game
	FenceOld                           // close the old connection as taken over
	Resume                             // attach the new login: LOGIN_RESPONSE, then the missed messages
	CloseSlow                          // close the connection as a slow consumer
	Drop                               // detach the outbox from the connection and close its fast channel
	StartWindow                        // start the reconnect window
	StopWindow                         // stop the reconnect window
	StopReservation                    // stop the 60 s of the reservation
	TellDetached                       // tell the game session that the player is detached
	TellLeaving                        // have the game session run onPlayerDisconnect and remove the player
	CloseKicked                        // close the connection: removed by the game
	CloseEnded                         // close the connection: game session over
	SetActive                          // status ACTIVE
	SetCompleted                       // status COMPLETED
	SetTimedOut                        // status TIMEDOUT
	CountOldEpoch                      // count an ignored event of an older epoch
	CountDeadToken                     // count a login with an invalid token
	Challenge                          // keep the new login as challenger, and ask the current connection for a sign of life
	ResumeChallenger                   // attach the challenger
	RefuseChallenger                   // refuse the challenger
	RetryAfterLeave                    // have the game session deliver the login again when the leave is done
	End                                // stop the actor: no event follows
	effectEnd
)

// Rules are the operator's settings that the machine follows.
type Rules struct {
	// Window is false in strict mode (reconnect.window = 0): a lost connection is a leave, a second login is refused.
	Window bool
	// Takeover lets a login without a token replace a connection that looks alive at once; without it,
	// that one is asked for a sign of life (reliability.md 2.6). With a good token it always does.
	Takeover bool
	// Rejoin lets a player that has left log in again as a new player.
	Rejoin bool
}

// Reservation: while it is valid, a player whose login the gate refuses may try again; otherwise its player session ends.
type Reservation uint8

// Reservations. The value means nothing once the player is attached.
const (
	ReservationValid   Reservation = iota
	ReservationExpired             // ran out while a login waited for the gate
	ReservationNone                // a rejoin after a leave has none
)

// Machine is the state of one player session, a value: Step returns the next one.
type Machine struct {
	// Epoch is the number of the current or last connection, 0 before the first.
	Epoch messages.Epoch
	// Attempt is the number of the newest login that was submitted to the gate.
	Attempt     uint64
	State       State
	Reservation Reservation
	// Left says that the player has left by itself, and may rejoin.
	Left bool
	// Challenged says that a login (the challenger) waits while the connection is asked for a sign of life.
	Challenged bool
}

// Step returns the next machine and the effects of one event. It is total: an event that does not fit changes nothing.
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
	case LoginArrived: // the gate decides on one login per player session at a time
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

// unchallenged refuses the challenger, if there is one, before effects.
func (m Machine) unchallenged(effects ...Effect) (Machine, []Effect) {
	if m.Challenged {
		m.Challenged = false
		return m, append([]Effect{RefuseChallenger}, effects...)
	}
	return m, effects
}

// admitChallenger attaches the challenger after first has dealt with the old connection.
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
	case ConnectionLeft: // the host detached first, then the player's leave arrived
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
