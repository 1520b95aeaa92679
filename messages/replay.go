package messages

import "context"

type replayKey struct{}

// WithReplayKey returns a context with a call's key: an SDK that got no answer sends the same call again, with the same key.
func WithReplayKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, replayKey{}, key)
}

// ReplayKey returns the key of the call that a request is an attempt of; "" if it changes nothing, or nobody can send it again.
func ReplayKey(ctx context.Context) string {
	key, _ := ctx.Value(replayKey{}).(string)
	return key
}
