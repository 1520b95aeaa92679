package serviceapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"troupe/messages"
	"troupe/transport/awswire"
)

// A player session id is a secret: whoever has it can log in as the player. Callers whose key does not allow
// creating player sessions see a shortened id, which only tells players apart.

// seatOperations are the operations whose callers need full player session ids.
var seatOperations = []string{"CreatePlayerSession", "CreatePlayerSessions", "StartGameSessionPlacement", "StartMatchmaking", "StartMatchBackfill"}

// showsShortIDs reports whether the caller of ctx may call none of the seatOperations.
func showsShortIDs(ctx context.Context) bool {
	return !slices.ContainsFunc(seatOperations, awswire.CallerOf(ctx).Allowed)
}

// shownID returns a player session id, shortened if the caller of ctx must not see it.
func shownID(ctx context.Context, id messages.PlayerSessionID) string {
	if showsShortIDs(ctx) {
		return "psess-" + id.Short()
	}
	return string(id)
}

// hiddenID returns a hash that replaces a player session id in page tokens, because anybody can decode a
// token.
func hiddenID(id messages.PlayerSessionID) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}
