package serviceapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"troupe/messages"
)

// A player session id takes its player's place. Callers whose key can make no player
// sessions are there to look: they see as much of an id as tells players apart.

// seatOperations are those whose callers must have the ids in full.
var seatOperations = []string{"CreatePlayerSession", "CreatePlayerSessions", "StartGameSessionPlacement", "StartMatchmaking", "StartMatchBackfill"}

// makesPlayers reports whether the caller may call one of seatOperations.
func (c Caller) makesPlayers() bool {
	if c.key == nil || c.key.allowed == nil {
		return true
	}
	for _, name := range seatOperations {
		if c.key.allowed[name] {
			return true
		}
	}
	return false
}

type shortIDs struct{}

// withIDsFor says how the answers of a call show player session ids.
func withIDsFor(ctx context.Context, c Caller) context.Context {
	if c.makesPlayers() {
		return ctx
	}
	return context.WithValue(ctx, shortIDs{}, true)
}

func showsShortIDs(ctx context.Context) bool { return ctx.Value(shortIDs{}) != nil }

// shownID is a player session id as the caller may see it.
func shownID(ctx context.Context, id messages.PlayerSessionID) string {
	if showsShortIDs(ctx) {
		return "psess-" + id.Short()
	}
	return string(id)
}

// hiddenID stands for a player session id in page tokens, which anybody can decode.
func hiddenID(id messages.PlayerSessionID) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}
