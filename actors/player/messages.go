package player

import (
	"time"

	"troupe/messages"
)

// Login asks a game session, and then a player, to take a connection in.
type Login struct {
	ID      messages.PlayerSessionID
	Payload []byte // the game's own, at most 4096 bytes; owned by the message
	From    Newcomer
	At      time.Time // when the LOGIN was read
}

// Undelivered implements stage.Undeliverable: nobody is there to decide.
func (l *Login) Undelivered() { l.From.Refuse() }

// Ended tells that the connection of an epoch is gone.
type Ended struct {
	Player *Handle
	Epoch  messages.Epoch
	Clean  bool // a leave, else a loss
	Reason string
}

// Messages from the game session to a player.
type (
	// GateAnswer is what the game said to a login. Peer is set when OK.
	GateAnswer struct {
		Attempt uint64
		OK      bool
		Peer    messages.PeerID
	}
	// Kick removes the player.
	Kick struct{ Reason string }
	// EndGame says that the game session is over.
	EndGame struct{ Reason messages.CloseReason }
	// LeaveHandled says that the game has been told of the leave.
	LeaveHandled struct{}
)

// Messages from a player to its game session.
type (
	// GateAsked wants the game's decision on a login.
	GateAsked struct {
		Player  *Handle
		Attempt uint64
		Payload []byte
	}
	// JoinOver says that a login will not be accepted: its peer id is free.
	JoinOver struct{ Player *Handle }
	// Accepted says that LOGIN_RESPONSE is on its way.
	Accepted struct{ Player *Handle }
	// WentAway says that the player is detached.
	WentAway struct {
		Player *Handle
		Reason string
	}
	// CameBack says that the player is attached again.
	CameBack struct {
		Player *Handle
		Epoch  messages.Epoch
	}
	// IsLeaving wants the game to be told, then LeaveHandled.
	IsLeaving struct {
		Player *Handle
		Reason string
	}
	// StatusChanged reports the player session's status to the API.
	StatusChanged struct {
		Player *Handle
		Status messages.PlayerSessionStatus
	}
)

type outboxFull struct{}

type reservationOver struct{}

type windowOver struct{ epoch messages.Epoch }
