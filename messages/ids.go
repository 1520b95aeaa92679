package messages

import (
	"cmp"
	"strings"

	"github.com/google/uuid"
)

// PeerID identifies one connected player of a game session. Peer ids are assigned from 1 in the order of acceptance and
// are never reused in that game session (realtime.md 4.2).
type PeerID int32

const (
	// NoPeer means that there is no target or sender.
	NoPeer PeerID = 0
	// ServerPeer identifies the server itself.
	ServerPeer PeerID = -1
)

// GroupID identifies a group of players in one game session. Groups created by the game have positive ids.
type GroupID int32

const (
	// NoGroup means that there is no target group.
	NoGroup GroupID = 0
	// AllPlayers is the group of all accepted players. Players cannot join or leave it explicitly.
	AllPlayers GroupID = -1
)

// GameSessionID is the ARN of a game session (service-api.md 2.2).
type GameSessionID string

// PlayerSessionID is the secret psess-<uuid> with which a player logs in. Log only its Short form.
type PlayerSessionID string

// Short returns eight characters of the id. They are enough to find the player session in a log, but too few to log in
// with (reliability.md 6).
func (id PlayerSessionID) Short() string {
	s := string(id)
	if rest, ok := strings.CutPrefix(s, "psess-"); ok && rest != "" {
		s = rest
	}
	return s[:min(len(s), 8)]
}

// PlayerID is the game's name for a player. Several player sessions may have the same PlayerID.
type PlayerID string

// FleetID is `fleet-<name or uuid>`.
type FleetID string

// AliasID is `alias-<name or uuid>`.
type AliasID string

// Epoch numbers the connections of a player session; each attach increments it. Events of older epochs are ignored. 0
// means that no connection has been attached yet.
type Epoch uint64

// WithID returns the request with a new id if it creates something and has no id. The first receiver of the request
// calls it, so that a repetition further along the way has the same id. call is a UUID that is the same for all attempts
// of the caller's call, or "" if that is unknown. If it is known, the new id is made from it, and the created resource
// shows by its field Call which call has created it.
func WithID(q Request, call string) Request {
	switch q := q.(type) {
	case CreateFleet:
		q.ID, q.Call = newID(q.ID, "fleet-", call), cmp.Or(q.Call, call)
		return q
	case CreateAlias:
		q.ID, q.Call = newID(q.ID, "alias-", call), cmp.Or(q.Call, call)
		return q
	case CreateScript:
		q.ID, q.Call = newID(q.ID, "script-", call), cmp.Or(q.Call, call)
		return q
	case CreateBuild:
		q.ID, q.Call = newID(q.ID, "build-", call), cmp.Or(q.Call, call)
		return q
	case CreateGameSession:
		q.Tail = newID(q.Tail, "gsess-", call)
		return q
	case CreateLocation:
		q.Location.Call = cmp.Or(q.Location.Call, call)
		return q
	case RegisterCompute:
		q.Compute.Call = cmp.Or(q.Compute.Call, call)
		return q
	case CreateQueue:
		q.Queue.Call = cmp.Or(q.Queue.Call, call)
		return q
	case CreateRuleSet:
		q.RuleSet.Call = cmp.Or(q.RuleSet.Call, call)
		return q
	case CreateMatchmaker:
		q.Matchmaker.Call = cmp.Or(q.Matchmaker.Call, call)
		return q
	case StartPlacement:
		q.Call = cmp.Or(q.Call, call)
		return q
	case StartMatchmaking:
		q.TicketID, q.Call = newID(q.TicketID, "", call), cmp.Or(q.Call, call)
		return q
	case StartMatchBackfill:
		q.TicketID, q.Call = newID(q.TicketID, "", call), cmp.Or(q.Call, call)
		return q
	}
	return q
}

func newID[ID ~string](given ID, prefix, call string) ID {
	switch {
	case given != "":
		return given
	case call != "":
		return ID(prefix + call)
	}
	return ID(prefix + uuid.NewString())
}

// SameCall reports whether a resource was created by an earlier attempt of the call that wants to create it now. Its
// arguments are values of the field Call.
func SameCall(created, now string) bool { return created != "" && created == now }
