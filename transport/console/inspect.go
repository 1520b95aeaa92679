package console

import (
	"context"
	"errors"
	"time"

	"troupe/messages"
)

// answerMax is how long the console waits for a game session's response. A game session whose script never
// returns must not delay the others.
const answerMax = 2 * time.Second

// inspect returns the state of a game session. If the game session does not respond in time, the state is
// empty and silent is true.
func (c *Console) inspect(ctx context.Context, from messages.Doer, id messages.GameSessionID) (state *messages.GameSessionState, silent bool, err error) {
	soon, cancel := context.WithTimeout(ctx, answerMax)
	defer cancel()
	state, err = messages.Do(soon, from, messages.InspectGameSession{ID: id})
	if isSilent(ctx, err) {
		return new(messages.GameSessionState), true, nil
	}
	return state, false, err
}

// isSilent reports whether err means that a game session did not respond, while the request's own ctx is
// still active.
func isSilent(ctx context.Context, err error) bool {
	return errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
}
