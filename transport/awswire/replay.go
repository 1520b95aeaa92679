package awswire

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits of the stored responses (service-api.md 1.5, D-202). Above them, the oldest responses are dropped
// first.
const (
	replayFor      = 5 * time.Minute
	replayMax      = 10_000
	replayBytesMax = 64 << 20
	replayOverhead = 512 // approximate bytes of an entry in addition to its body
	invocationMax  = 128 // maximum characters of an invocation id; SDKs send 36

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
// call if they got no response. Failures are not stored. It is safe for concurrent use.
type replays struct {
	now func() time.Time

	mu      sync.Mutex
	kept    map[replayKey]*list.Element
	order   list.List // *replay values, oldest first
	bytes   int
	running map[replayKey]chan struct{} // closed when the attempt ends
}

type replay struct {
	key  replayKey
	body []byte
	at   time.Time
}

func newReplays(now func() time.Time) *replays {
	return &replays{now: now, kept: make(map[replayKey]*list.Element), running: make(map[replayKey]chan struct{})}
}

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
func (c *replays) do(ctx context.Context, key replayKey, f func() ([]byte, error)) ([]byte, error) {
	for {
		body, wait, done := c.begin(key)
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
	defer c.end(key)
	body, err := f()
	if err == nil {
		c.keep(key, body)
	}
	return body, err
}

// begin returns the stored response, or a channel to wait for. If it returns neither, the caller must run the
// attempt and then call end.
func (c *replays) begin(key replayKey) (body []byte, wait <-chan struct{}, done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(0)
	if e, ok := c.kept[key]; ok {
		return e.Value.(*replay).body, nil, true
	}
	if running, ok := c.running[key]; ok {
		return nil, running, false
	}
	c.running[key] = make(chan struct{})
	return nil, nil, false
}

func (c *replays) end(key replayKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.running[key])
	delete(c.running, key)
}

func (c *replays) keep(key replayKey, body []byte) {
	cost := len(body) + replayOverhead
	if cost > replayBytesMax {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(cost)
	c.kept[key] = c.order.PushBack(&replay{key: key, body: body, at: c.now()})
	c.bytes += cost
}

// forget drops expired responses, and then the oldest ones until need more bytes fit.
func (c *replays) forget(need int) {
	for e := c.order.Front(); e != nil; e = c.order.Front() {
		old := e.Value.(*replay)
		full := c.bytes+need > replayBytesMax || (need > 0 && len(c.kept) >= replayMax)
		if !full && c.now().Sub(old.at) < replayFor {
			return
		}
		c.order.Remove(e)
		delete(c.kept, old.key)
		c.bytes -= len(old.body) + replayOverhead
	}
}
