package messages

import (
	"strings"

	"github.com/google/uuid"
)

// PeerID names one connected player of a game session: from 1 in order of acceptance, never reused there (realtime.md 4.2).
type PeerID int32

const (
	// NoPeer is the absent target or sender.
	NoPeer PeerID = 0
	// ServerPeer is the server itself.
	ServerPeer PeerID = -1
)

// GroupID names a group of players of one game session. Developer groups are positive.
type GroupID int32

const (
	// NoGroup is the absent target.
	NoGroup GroupID = 0
	// AllPlayers is every accepted player's group, not to be joined or left.
	AllPlayers GroupID = -1
)

// GameSessionID is the ARN of a game session (service-api.md 2.2).
type GameSessionID string

// PlayerSessionID is the secret `psess-<uuid>` of a player's login. Log it only through Short.
type PlayerSessionID string

// Short returns eight characters: enough to find a player session in a log, too few to log in with (reliability.md 6).
func (id PlayerSessionID) Short() string {
	s := string(id)
	if rest, ok := strings.CutPrefix(s, "psess-"); ok && rest != "" {
		s = rest
	}
	return s[:min(len(s), 8)]
}

// PlayerID is the game's name for a player, which several player sessions may have.
type PlayerID string

// FleetID is `fleet-<name or uuid>`.
type FleetID string

// AliasID is `alias-<name or uuid>`.
type AliasID string

// Epoch numbers a player session's connections, one more at every attach. Older epochs' events are ignored. 0: never attached.
type Epoch uint64

// WithID returns the request with a new id, if it makes something and has none. Who takes it in calls it: a repetition on the way has the same id.
func WithID(q Request) Request {
	switch q := q.(type) {
	case CreateFleet:
		q.ID = newID(q.ID, "fleet-")
		return q
	case CreateAlias:
		q.ID = newID(q.ID, "alias-")
		return q
	case CreateScript:
		q.ID = newID(q.ID, "script-")
		return q
	case CreateGameSession:
		q.Tail = newID(q.Tail, "gsess-")
		return q
	case StartMatchmaking:
		q.TicketID = newID(q.TicketID, "")
		return q
	case StartMatchBackfill:
		q.TicketID = newID(q.TicketID, "")
		return q
	}
	return q
}

func newID[ID ~string](given ID, prefix string) ID {
	if given != "" {
		return given
	}
	return ID(prefix + uuid.NewString())
}
