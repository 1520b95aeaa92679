package player

import (
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// Login asks a game session, and then a player, to accept a connection.
type Login struct {
	ID      messages.PlayerSessionID
	Payload []byte // for the game; at most 4096 bytes; owned by the message
	From    LoginConn
	At      time.Time // time at which the LOGIN was read
	// Pause delays the login (set by the login limiter). The delay is shortened if the player could otherwise lose its
	// reservation or its reconnect window.
	Pause time.Duration
	late  bool // the login has already waited for a leave that came before it

	// The following fields belong to the protocol extension. They are zero for stock clients.
	Caps         uint64 // wire.CapNumbers and wire.CapMoves
	Token        string
	LastReceived uint64
}

// RetrySoon is the retry delay for a login whose player actor is restarting or busy with another login.
const RetrySoon = 250 * time.Millisecond

// OnDeadLetter implements stage.DeadLetter.
func (l *Login) OnDeadLetter() { l.From.Refuse(RetrySoon) }

// Ended says that the connection of an epoch has ended.
type Ended struct {
	Player *Handle
	Epoch  messages.Epoch
	Clean  bool // the player left; false if the connection was lost
	Reason string
}

// Messages from the game session to a player.
type (
	// GateAnswer is the game's decision on a login. If OK is true, Peer is set; otherwise Why is set.
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
	// LeaveHandled says that the game session has told the game about the leave.
	LeaveHandled struct{}
	// Release says that the game does not want to wait for the player, which lost the connection of Epoch.
	Release struct{ Epoch messages.Epoch }
	// OutOfOrder says that the connection of Epoch sent an invalid message number.
	OutOfOrder struct{ Epoch messages.Epoch }
	// Renew restarts the reservation timer (ReservationTime) of a player that waits for its first login. It has no
	// effect on other players.
	Renew struct{}
)

// Messages from a player to its game session.
type (
	// GateAsked asks for the game's decision on a login.
	GateAsked struct {
		Player  *Handle
		Attempt uint64
		Payload []byte
	}
	// JoinOver says that a login will not be accepted and that its peer id is free again.
	JoinOver struct {
		Player *Handle
		Again  bool // another login of the player follows at once
	}
	// Accepted says that the login is accepted. LOGIN_RESPONSE is sent next.
	Accepted struct{ Player *Handle }
	// WentAway says that the player is detached.
	WentAway struct {
		Player *Handle
		Epoch  messages.Epoch
		Reason string
	}
	// CameBack says that the player is attached again.
	CameBack struct {
		Player *Handle
		Epoch  messages.Epoch
		Return
	}
	// LoginAgain returns a login that arrived while its player was leaving. The game session delivers it again after
	// the leave.
	LoginAgain struct{ Login *Login }
	// IsLeaving asks the game session to tell the game about the leave and then to send LeaveHandled. Left says that
	// the player left on its own, so that it may rejoin.
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

// Return describes how a player reconnected.
type Return struct {
	From, To counters.Channel
	Away     time.Duration // time since the connection was lost; 0 for a takeover
	Takeover bool          // the old connection still looked alive
	Replay   Replay
	Lost     uint64 // reliable messages dropped because the budget was used up
}

// OnDeadLetter implements stage.DeadLetter.
func (m LoginAgain) OnDeadLetter() { m.Login.From.Refuse(0) }

// Messages that a player actor sends to itself.
type (
	outboxFull      struct{}
	reservationOver struct{}
	windowOver      struct{ epoch messages.Epoch }
	pauseOver       struct{}
	challengeOver   struct{ epoch messages.Epoch }
)

// moment is a time on the monotonic clock, in nanoseconds since the process started. It needs a third of the memory of
// a time.Time. 0 means that the time is not set.
type moment int64

var started = time.Now()

func now() moment { return moment(time.Since(started)) }

func (m moment) add(d time.Duration) moment { return m + moment(d) }

func (m moment) since() time.Duration { return time.Duration(now() - m) }

func (m moment) until() time.Duration { return time.Duration(m - now()) }
