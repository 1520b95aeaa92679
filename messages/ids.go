package messages

import (
	"strings"

	"github.com/google/uuid"
)

// PeerID names one connected player within a game session. Players are numbered from 1 in
// order of acceptance; a number is never reused within a game session (realtime.md 4.2).
type PeerID int32

const (
	// NoPeer is the absent target or sender.
	NoPeer PeerID = 0
	// ServerPeer is the server itself.
	ServerPeer PeerID = -1
)

// GroupID names a group of players inside one game session. Developer groups
// are positive.
type GroupID int32

const (
	// NoGroup is the absent target.
	NoGroup GroupID = 0
	// AllPlayers is the group that every accepted player is in; it cannot be
	// joined or left.
	AllPlayers GroupID = -1
)

// GameSessionID is the ARN of a game session (service-api.md 2.2).
type GameSessionID string

// PlayerSessionID is the 128-bit secret `psess-<uuid>` with which a player logs in.
// Log it only through Short.
type PlayerSessionID string

// Short returns the first eight characters after the prefix: enough to find a player session
// in a log, too few to log in with (reliability.md 6).
func (id PlayerSessionID) Short() string {
	s := string(id)
	if rest, ok := strings.CutPrefix(s, "psess-"); ok && rest != "" {
		s = rest
	}
	return s[:min(len(s), 8)]
}

// PlayerID is the game's own name for a player. Several player sessions may have the same
// one.
type PlayerID string

// FleetID is `fleet-<name or uuid>`.
type FleetID string

// AliasID is `alias-<name or uuid>`.
type AliasID string

// Epoch numbers the connections of one player session: 1 for the first, one more at every
// attach. Events of an older epoch are ignored. 0 means never attached.
type Epoch uint64

// WithID returns the request with a new id, if it makes something and has none. Who takes a request in calls it, so that a repetition
// on the way to the owner has the same id.
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
