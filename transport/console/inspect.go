package console

import (
	"context"
	"errors"
	"time"

	"troupe/messages"
)

// answerMax is how long a game session may take to answer: one whose script runs without end must not hide all others.
const answerMax = 2 * time.Second

// inspect asks a game session for its state, which is empty if it does not answer in time: it is silent then.
func (c *Console) inspect(ctx context.Context, id messages.GameSessionID) (state *messages.GameSessionState, silent bool, err error) {
	soon, cancel := context.WithTimeout(ctx, answerMax)
	defer cancel()
	state, err = messages.Do(soon, c.o.Backend, messages.InspectGameSession{ID: id})
	if isSilent(ctx, err) {
		return new(messages.GameSessionState), true, nil
	}
	return state, false, err
}

// isSilent reports whether an error says that a game session did not answer, while the request's ctx goes on.
func isSilent(ctx context.Context, err error) bool {
	return errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
}
