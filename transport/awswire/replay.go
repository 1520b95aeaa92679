package awswire

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"troupe/messages/replay"
)

const (
	invocationMax = 128 // maximum characters of an invocation id; SDKs send 36

	detachedFor = 30 * time.Second // maximum time for a call to continue after its caller has disconnected
)

// replayKey identifies a call. All its attempts have the same key.
type replayKey struct {
	accessKey, operation, invocation string
	codec                            codec
	body                             [sha256.Size]byte
}

// String returns 64 hexadecimal digits, which are the same on every host for the same call.
func (k replayKey) String() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %x", k.accessKey, k.operation, k.invocation, k.codec.contentType(), k.body))
	return hex.EncodeToString(sum[:])
}

// isRead reports whether an operation changes nothing, so that repeating it is harmless. For all other
// operations, responses are replayed: a repeated create would create a second resource, and a repeated delete
// would be refused because the first attempt has succeeded.
func isRead(operation string) bool {
	return slices.ContainsFunc([]string{"Describe", "List", "Search", "Get", "Resolve", "Validate"}, func(verb string) bool {
		return strings.HasPrefix(operation, verb)
	})
}

// replays stores the first successful response of each call that changes something, because SDKs repeat a
// call if they got no response. It is safe for concurrent use.
type replays struct{ *replay.Answers[replayKey] }

func newReplays(now func() time.Time) replays { return replays{replay.New[replayKey](now)} }

// once runs an operation. An operation that changes something runs once per invocation id. It continues if
// its caller disconnects, so that the next attempt gets the response.
func (s *Server) once(r *http.Request, op *Operation, c codec, caller Caller, body []byte) ([]byte, error) {
	invocation := r.Header.Get(headerInvocation)
	if isRead(op.Name) || invocation == "" || len(invocation) > invocationMax {
		return op.serve(r.Context(), c, body)
	}
	// Clone the strings, because they may be parts of larger headers.
	key := replayKey{strings.Clone(caller.AccessKey), op.Name, strings.Clone(invocation), c, sha256.Sum256(body)}
	return s.replays.do(r.Context(), key, func() ([]byte, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), detachedFor)
		defer cancel()
		if s.options.WithReplayKey != nil {
			ctx = s.options.WithReplayKey(ctx, key.String())
		}
		return op.serve(ctx, c, body)
	})
}

// do returns the stored response of key. If there is none, it runs f and stores the response. Concurrent
// attempts with the same key wait for that response.
func (c replays) do(ctx context.Context, key replayKey, f func() ([]byte, error)) (body []byte, err error) {
	for {
		body, wait, done := c.Begin(key)
		if done {
			return body, nil
		}
		if wait == nil {
			break
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	succeeded := false // stays so if f panics
	defer func() { c.End(key, body, succeeded) }()
	body, err = f()
	succeeded = err == nil
	return body, err
}
