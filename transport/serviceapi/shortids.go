package serviceapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"troupe/messages"
	"troupe/transport/awswire"
)

// A player session id takes its player's place. Callers whose key can make no player
// sessions are there to look: they see as much of an id as tells players apart.

// seatOperations are those whose callers must have the ids in full.
var seatOperations = []string{"CreatePlayerSession", "CreatePlayerSessions", "StartGameSessionPlacement", "StartMatchmaking", "StartMatchBackfill"}

// showsShortIDs reports whether the caller of a request may call none of seatOperations.
func showsShortIDs(ctx context.Context) bool {
	return !slices.ContainsFunc(seatOperations, awswire.CallerOf(ctx).Allowed)
}

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
