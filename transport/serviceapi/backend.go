package serviceapi

import (
	"context"
	"iter"

	"troupe/messages"
)

// Backend is the host as the API uses it. Errors are *messages.Error or context errors; any other error is answered as an internal
// fault. All methods may be called from any goroutine, and return records that do not change afterwards.
//
// The API has checked lengths, patterns and all rules that need no state. Ids arrive without the ARN around them, game session ids as
// ARNs in the form the host mints (service-api.md 2.2).
type Backend interface {
	messages.Doer

	// ActiveGameSessions returns game sessions in no order. Each comes with the number of its RESERVED and ACTIVE player sessions, which
	// its record does not contain. The sequence may be read several times.
	ActiveGameSessions(ctx context.Context, q messages.ActiveGameSessionQuery) (iter.Seq2[*messages.GameSession, int], error)
}
