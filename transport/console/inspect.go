package console

import (
	"context"
	"errors"
	"time"

	"troupe/messages"
)

// answerMax is how long a game session may take to answer. One whose script runs without end is
// silent until the host ends it, by default after 30 s: that must not hide all others.
const answerMax = 2 * time.Second

// inspect asks a game session for its state. It is silent if it does not answer in time; the state
// is empty then. The error is another one.
func (c *Console) inspect(ctx context.Context, id messages.GameSessionID) (state *messages.GameSessionState, silent bool, err error) {
	soon, cancel := context.WithTimeout(ctx, answerMax)
	defer cancel()
	state, err = messages.Do(soon, c.o.Backend, messages.InspectGameSession{ID: id})
	if isSilent(ctx, err) {
		return new(messages.GameSessionState), true, nil
	}
	return state, false, err
}

// isSilent reports whether an error says that a game session did not answer, while ctx, which is
// that of the request, goes on.
func isSilent(ctx context.Context, err error) bool {
	return errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
}
