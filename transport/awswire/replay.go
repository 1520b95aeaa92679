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

// Bounds of the replay memory (service-api.md 1.5, D-202). Over them the oldest responses are forgotten first.
const (
	replayFor      = 5 * time.Minute
	replayMax      = 10_000
	replayBytesMax = 64 << 20
	replayOverhead = 512 // bytes an entry costs beside its body, about
	invocationMax  = 128 // characters of an invocation id; SDKs send 36

	detachedFor = 30 * time.Second // bounds a call that goes on after its caller hung up
)

// replayKey names all attempts of one call.
type replayKey struct {
	accessKey, operation, invocation string
	codec                            codec
	body                             [sha256.Size]byte
}

// String returns 64 hexadecimal digits, on every host the same for the same call.
func (k replayKey) String() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %x", k.accessKey, k.operation, k.invocation, k.codec.contentType(), k.body))
	return hex.EncodeToString(sum[:])
}

// isRead reports whether an operation changes nothing, so that it can be repeated. Responses of others are replayed: a repeated create
// would create a second resource, and the rest would be refused because of their first attempt.
func isRead(operation string) bool {
	return slices.ContainsFunc([]string{"Describe", "List", "Search", "Get", "Resolve", "Validate"}, func(verb string) bool {
		return strings.HasPrefix(operation, verb)
	})
}

// replays remembers the first successful response of each call that changes something: SDKs repeat a call that they got no answer to.
// Failures are not remembered. Safe for concurrent use.
type replays struct {
	now func() time.Time

	mu      sync.Mutex
	kept    map[replayKey]*list.Element
	order   list.List // of *replay, oldest first
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

// once runs an operation; one that changes something once per invocation, and on when its caller disconnects, for the next attempt.
func (s *Server) once(r *http.Request, op *Operation, c codec, caller Caller, body []byte) ([]byte, error) {
	invocation := r.Header.Get(headerInvocation)
	if isRead(op.Name) || invocation == "" || len(invocation) > invocationMax {
		return op.serve(r.Context(), c, body)
	}
	// Clones, because both may be pieces of larger headers.
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

// do returns the kept response of key, or runs f and keeps its response. Other attempts of the same key wait for it.
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

// begin returns the kept response, or a channel to wait for, or neither: then the caller runs the attempt and must call end.
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

// forget drops expired responses, and then the oldest until need more bytes fit.
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
