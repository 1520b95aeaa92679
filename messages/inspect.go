package messages

import (
	"net/netip"
	"time"
)

// InspectGameSession asks a running game session what goes on in it, for operators.
type InspectGameSession struct {
	ToGameSession[*GameSessionState]
	ID GameSessionID
}

// DeadLetterError says that the game session has ended.
func (q InspectGameSession) DeadLetterError() error {
	return Errorf(InvalidGameSessionStatus, "game session %s has ended", q.ID)
}

// KickPlayer removes a player, as the game could. The answer, before the players leave, is how many player sessions had not ended.
type KickPlayer struct {
	ToGameSession[int]
	GameSession GameSessionID
	Player      PlayerID
	Reason      string // told to the game's log
}

// DeadLetterError says that the game session has ended.
func (q KickPlayer) DeadLetterError() error {
	return Errorf(InvalidGameSessionStatus, "game session %s has ended", q.GameSession)
}

// MomentKind is what a Moment is about.
type MomentKind uint8

// Kinds of moments.
const (
	PlayerJoined   MomentKind = iota + 1 // the game has let the player in
	PlayerCut                            // the connection is lost, the seat is kept
	PlayerResumed                        // the player is back
	PlayerLeft                           // the player is out of the game
	PlayerReserved                       // a seat is reserved
	PlayerRefused                        // a login was refused
)

var momentNames = [...]string{"", "joined", "cut", "resumed", "left", "reserved", "refused"}

// String returns the kind as one word.
func (k MomentKind) String() string {
	if int(k) < len(momentNames) {
		return momentNames[k]
	}
	return "unknown"
}

// Moment is an entry of a game session's time line.
type Moment struct {
	At     time.Time
	Kind   MomentKind
	Player PlayerID
	Peer   PeerID // NoPeer before the first login
	Text   string // why, or more about it
}

// GameSessionState is what goes on in a game session at one moment. Immutable.
type GameSessionState struct {
	// Players are its players by creation: those with a seat, and the last who have left.
	Players []PlayerState
	Groups  []GroupState // in order of their ids; without the group of all players
	// Moments are the last entries of its time line, the oldest first.
	Moments []Moment
}

// PlayerState is what goes on with one player at one moment.
type PlayerState struct {
	ID          PlayerSessionID
	PlayerID    PlayerID
	Status      PlayerSessionStatus
	Created     time.Time
	Terminated  time.Time // zero until Status is final
	Peer        PeerID    // NoPeer before the first login
	InGame      bool      // the game knows the player, who may be detached
	Attached    bool      // a connection serves the player
	Transport   string    // of the newest connection; empty before the first
	Address     netip.AddrPort
	RTT         time.Duration // round trip as the transport measures it; 0: not known
	Fast        bool          // the fast channel works
	Waiting     int           // messages that no connection has taken yet
	Unconfirmed int           // messages that the player has not confirmed
	QueueBytes  int           // of both
	Slow        bool          // the queue was over 75 % of its budget on this connection
	Received    uint64        // messages from the player that were in order, since it came into the game
	Sent        uint64        // messages that were queued for the player or handed to its fast channel, since it came into the game
	Reason      string        // why the last connection ended, or why the player has left; empty: neither has happened
	ReasonAt    time.Time
}

// GroupState is one group of a game session.
type GroupState struct {
	ID      GroupID
	Members []PeerID // in order of joining
}

// PlacementList asks for placements: all that wait, and those that ended last.
type PlacementList struct {
	ToPlacements[[]PlacementState]
	ID     PlacementID     // empty: any
	Queue  QueueName       // empty: of all queues
	Status PlacementStatus // 0: any
	Limit  int             // at most so many; the newest first
}

// PlacementState is a placement, and why it waits. Immutable.
type PlacementState struct {
	*Placement `json:"Placement"` // a member, not members: nil stays nil
	// Waits says in a sentence why a PENDING placement has no game session yet, or why one that has ended waited last.
	Waits string
	// TimesOut is when a PENDING placement is given up.
	TimesOut time.Time
}
