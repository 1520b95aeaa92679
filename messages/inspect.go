package messages

import (
	"net/netip"
	"time"
)

// InspectGameSession requests the state of a running game session, for operators.
type InspectGameSession struct {
	ToGameSession[*GameSessionState]
	ID GameSessionID
}

// DeadLetterError returns an error that says that the game session has ended.
func (q InspectGameSession) DeadLetterError() error {
	return Errorf(InvalidGameSessionStatus, "game session %s has ended", q.ID)
}

// KickPlayer removes a player, as the game could do. The answer is the number of the player's sessions that had not
// ended. It is sent before the players have left.
type KickPlayer struct {
	ToGameSession[int]
	GameSession GameSessionID
	Player      PlayerID
	Reason      string // written to the game's log
}

// DeadLetterError returns an error that says that the game session has ended.
func (q KickPlayer) DeadLetterError() error {
	return Errorf(InvalidGameSessionStatus, "game session %s has ended", q.GameSession)
}

// MomentKind is the kind of a Moment.
type MomentKind uint8

// Values of MomentKind.
const (
	PlayerJoined   MomentKind = iota + 1 // the game accepted the player
	PlayerCut                            // the connection was lost; the player session is kept
	PlayerResumed                        // the player reconnected
	PlayerLeft                           // the player is no longer in the game
	PlayerReserved                       // a player session was reserved
	PlayerRefused                        // a login was refused
)

var momentNames = [...]string{"", "joined", "cut", "resumed", "left", "reserved", "refused"}

// String returns the kind as a single word.
func (k MomentKind) String() string {
	if int(k) < len(momentNames) {
		return momentNames[k]
	}
	return "unknown"
}

// Moment is an entry in a game session's timeline.
type Moment struct {
	At     time.Time
	Kind   MomentKind
	Player PlayerID
	Peer   PeerID // NoPeer before the player's first login
	Text   string // the reason, or further details
}

// GameSessionState is the state of a game session at one moment. It is immutable.
type GameSessionState struct {
	// Players are sorted by creation. They are the players with a player session, and the players that left most
	// recently.
	Players []PlayerState
	Groups  []GroupState // sorted by id; without the group of all players
	// Moments are the latest entries of the timeline, oldest first.
	Moments []Moment
}

// PlayerState is the state of one player at one moment.
type PlayerState struct {
	ID          PlayerSessionID
	PlayerID    PlayerID
	Status      PlayerSessionStatus
	Created     time.Time
	Terminated  time.Time // zero until Status is final
	Peer        PeerID    // NoPeer before the player's first login
	InGame      bool      // the game knows the player; the player may be detached
	Attached    bool      // a connection serves the player
	Transport   string    // transport of the newest connection; empty before the first
	Address     netip.AddrPort
	RTT         time.Duration // round trip as measured by the transport; 0 if unknown
	Fast        bool          // the fast channel is ready
	Waiting     int           // number of messages that no connection has taken yet
	Unconfirmed int           // number of messages that were sent but that the player has not confirmed
	QueueBytes  int           // size of the waiting and the unconfirmed messages
	Slow        bool          // the queue has exceeded 75 % of its budget on this connection
	Received    uint64        // number of in-order messages from the player since it entered the game
	Sent        uint64        // number of messages queued for the player or sent on its fast channel since it entered the game
	Reason      string        // reason why the last connection ended or why the player left; empty if neither has happened
	ReasonAt    time.Time
}

// GroupState is one group of a game session.
type GroupState struct {
	ID      GroupID
	Members []PeerID // in the order in which they joined
}

// PlacementList requests placements: all PENDING ones, and those that ended most recently.
type PlacementList struct {
	ToPlacements[[]PlacementState]
	ID     PlacementID     // empty means any
	Queue  QueueName       // empty means all queues
	Status PlacementStatus // 0 means any
	Limit  int             // maximum number of placements; the newest come first
}

// PlacementState is a placement together with the reason why it waits. It is immutable.
type PlacementState struct {
	*Placement `json:"Placement"` // one JSON member, so that nil stays nil
	// Waits describes why a PENDING placement has no game session yet. For an ended placement it describes why the
	// placement was last waiting.
	Waits string
	// TimesOut is the time at which a PENDING placement times out.
	TimesOut time.Time
}
