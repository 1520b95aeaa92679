package messages

import "context"

type replayKey struct{}

// WithReplayKey returns a context that carries the key of a call. An SDK that got no answer repeats the call with the
// same key.
func WithReplayKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, replayKey{}, key)
}

// ReplayKey returns the key of the call to which a request belongs. It returns "" if the call changes nothing or cannot
// be repeated.
func ReplayKey(ctx context.Context) string {
	key, _ := ctx.Value(replayKey{}).(string)
	return key
}
