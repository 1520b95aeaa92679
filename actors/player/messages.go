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
	From    LoginConn
	At      time.Time // when the LOGIN was read
	// Pause delays the login (the login limiter), less where the player would lose its seat by it.
	Pause time.Duration
	late  bool // it has waited for the leave before it

	// The rest belongs to the extension and is zero for stock clients.
	Caps         uint64 // wire.CapNumbers
	Token        string
	LastReceived uint64
}

// RetrySoon is how soon to retry a login whose player actor is being restarted, or busy with another login.
const RetrySoon = 250 * time.Millisecond

// OnDeadLetter implements stage.DeadLetter.
func (l *Login) OnDeadLetter() { l.From.Refuse(RetrySoon) }

// Ended says that the connection of an epoch has ended.
type Ended struct {
	Player *Handle
	Epoch  messages.Epoch
	Clean  bool // the player left; false for a lost connection
	Reason string
}

// Messages from the game session to a player.
type (
	// GateAnswer is the game's decision on a login. Peer is set if OK, otherwise Why.
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
	// Release says that the game does not wait for the player, which lost the connection of Epoch.
	Release struct{ Epoch messages.Epoch }
	// OutOfOrder says that the connection of Epoch sent an invalid message number.
	OutOfOrder struct{ Epoch messages.Epoch }
	// Renew lets a seat that waits for its first login wait for ReservationTime from now on. It is nothing for another seat.
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
	// JoinOver says that a login will not be accepted: its peer id is free.
	JoinOver struct {
		Player *Handle
		Again  bool // another login of the player follows at once
	}
	// Accepted says that LOGIN_RESPONSE is on its way.
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
	// LoginAgain returns a login that came while its player was leaving, to be delivered once that is gone.
	LoginAgain struct{ Login *Login }
	// IsLeaving asks the game session to tell the game, then to send LeaveHandled. Left: by itself, so it may rejoin.
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

// Return describes how a player came back.
type Return struct {
	From, To counters.Channel
	Away     time.Duration // since the loss; 0 for a takeover
	Takeover bool          // the old connection looked alive
	Replay   Replay
	Lost     uint64 // reliable messages dropped because the budget was used up
}

// OnDeadLetter implements stage.DeadLetter.
func (m LoginAgain) OnDeadLetter() { m.Login.From.Refuse(0) }

// Messages of a player to itself.
type (
	outboxFull      struct{}
	reservationOver struct{}
	windowOver      struct{ epoch messages.Epoch }
	pauseOver       struct{}
	challengeOver   struct{ epoch messages.Epoch }
)

// moment is a time on the monotonic clock, a third of a time.Time: nanoseconds since the process started. 0 is no time.
type moment int64

var started = time.Now()

func now() moment { return moment(time.Since(started)) }

func (m moment) add(d time.Duration) moment { return m + moment(d) }

func (m moment) since() time.Duration { return time.Duration(now() - m) }

func (m moment) until() time.Duration { return time.Duration(m - now()) }
