package serviceapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"troupe/messages"
	"troupe/transport/awswire"
)

// A player session id is a secret: whoever has it can take the player's seat. Callers whose key
// may not create player sessions see only as much of an id as tells players apart.

// seatOperations are the operations whose callers need full player session ids.
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

// hiddenID replaces a player session id in page tokens, because anybody can decode those.
func hiddenID(id messages.PlayerSessionID) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}
