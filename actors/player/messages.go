package player

import (
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// Login asks a game session, and then a player, to take a connection in.
type Login struct {
	ID      messages.PlayerSessionID
	Payload []byte // the game's own, at most 4096 bytes; owned by the message
	From    Newcomer
	At      time.Time // when the LOGIN was read
	// Pause is how long it is to wait, as there were too many before it; never so long
	// that the player would lose its seat by it.
	Pause time.Duration

	// Of the extension; zero for stock clients.
	Caps         uint64 // wire.CapNumbers
	Token        string
	LastReceived uint64
}

// RetrySoon is what a login is told that met a player between two actors.
const RetrySoon = 250 * time.Millisecond

// OnDeadLetter implements stage.DeadLetter: nobody is there to decide.
func (l *Login) OnDeadLetter() { l.From.Refuse(RetrySoon) }

// Ended tells that the connection of an epoch is gone.
type Ended struct {
	Player *Handle
	Epoch  messages.Epoch
	Clean  bool // a leave, else a loss
	Reason string
}

// Messages from the game session to a player.
type (
	// GateAnswer is what the game said to a login. Peer is set when OK, else Why.
	GateAnswer struct {
		Attempt uint64
		OK      bool
		Peer    messages.PeerID
		Why     wire.Refusal
	}
	// Kick removes the player.
	Kick struct{ Reason string }
	// EndGame says that the game session is over.
	EndGame struct{ Reason messages.CloseReason }
	// LeaveHandled says that the game has been told of the leave.
	LeaveHandled struct{}
	// Release says that the game does not wait for the player that was lost with
	// the connection of Epoch.
	Release struct{ Epoch messages.Epoch }
	// OutOfOrder says that the connection of Epoch sent a number that cannot be.
	OutOfOrder struct{ Epoch messages.Epoch }
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
		Epoch  messages.Epoch
		Reason string
	}
	// CameBack says that the player is attached again, and how.
	CameBack struct {
		Player *Handle
		Epoch  messages.Epoch
		Return
	}
	// LoginAgain brings back a login that came while its player was leaving, to be
	// tried once the player is gone.
	LoginAgain struct{ Login *Login }
	// IsLeaving wants the game to be told, then LeaveHandled. Left says that the
	// player did it by itself, and may come again.
	IsLeaving struct {
		Player *Handle
		Reason string
		Left   bool
	}
	// StatusChanged reports the player session's status to the API.
	StatusChanged struct {
		Player *Handle
		Status messages.PlayerSessionStatus
	}
)

// Return tells how a player came back.
type Return struct {
	From, To counters.Channel
	Away     time.Duration // since the loss; 0 for a takeover
	Takeover bool          // the old connection looked alive
	Replay   Replay        // what was sent again
	Lost     uint64        // reliable messages that the budget could not keep
}

// OnDeadLetter implements stage.DeadLetter.
func (m LoginAgain) OnDeadLetter() { m.Login.From.Refuse(0) }

type outboxFull struct{}

type reservationOver struct{}

type windowOver struct{ epoch messages.Epoch }

type pauseOver struct{}

type challengeOver struct{ epoch messages.Epoch }
