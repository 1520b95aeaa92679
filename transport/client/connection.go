package client

import (
	"context"
	"sync"
	"time"
)

// connection is one connection of a Client: a link, the fast channel beside it, and their goroutines.
type connection struct {
	// set once
	client    *Client
	transport Transport
	began     time.Time
	silence   time.Duration // of a host, that a handshake over KCP bears; 0: no limit
	fast      *fastChannel  // nil without a fast channel
	login     chan error    // holds the result of LOGIN, once it is answered
	writer    func()        // write, bound once, so that it allocates nothing
	abandoned chan struct{} // closed under client.mu when the connection must not become the current one
	done      chan struct{} // closed when every goroutine has ended
	end       End           // valid once done is closed

	// owned by the caller of onUnit
	answered bool // the first unit has come

	// guarded by client.mu
	link   link      // nil until it is open
	asked  bool      // LOGIN was sent, or may have been
	said   uint64    // the highest received number, as LOGIN reported it
	since  time.Time // when it became the current one; zero if it did not
	writes writerState
	cause  error // why this side dropped it

	alive context.Context // until the link has ended
	ended context.CancelFunc

	// mu is held to end alive, after which no helper starts and no datagram is processed.
	mu      sync.Mutex
	helpers sync.WaitGroup
}

// writerState says whether the writer of a connection runs.
type writerState uint8

const (
	writerIdle writerState = iota
	writerRunning
	writerBroken // the link can no longer be written to; final
)

func newConnection(c *Client, t Transport) *connection {
	cn := &connection{
		client: c, transport: t, began: time.Now(), login: make(chan error, 1), abandoned: make(chan struct{}), done: make(chan struct{}),
	}
	c.mu.Lock()
	if c.away != nil {
		cn.silence = c.away.silence
	}
	c.mu.Unlock()
	cn.writer = cn.write
	cn.alive, cn.ended = context.WithCancel(context.Background())
	if c.o.Fast || t == KCP { // a host may use the fast channel of KCP even if Options.Fast is not set
		cn.fast = &fastChannel{c: cn, highest: -1, answered: make(chan struct{})}
	}
	return cn
}

// fastUp reports whether there is a fast channel; cn may be nil.
func (cn *connection) fastUp() bool { return cn != nil && cn.fast != nil && cn.fast.up() }

// takeFastDown is fastChannel.takeDown; cn may be nil.
func (cn *connection) takeFastDown() bool { return cn != nil && cn.fast != nil && cn.fast.takeDown() }

// spawn starts a helper that ends soon after alive; none starts after that.
func (cn *connection) spawn(helper func()) {
	cn.mu.Lock()
	defer cn.mu.Unlock()
	if cn.alive.Err() == nil {
		cn.helpers.Go(helper)
	}
}

// drop ends the connection without telling the host.
func (cn *connection) drop(cause error) {
	cn.client.mu.Lock()
	if cn.cause == nil {
		cn.cause = cause
	}
	cn.client.mu.Unlock()
	cn.link.abort()
}

// onEnd is called by the link, last.
func (cn *connection) onEnd(end End) {
	cn.mu.Lock()
	cn.ended()
	cn.mu.Unlock()
	if cn.fast != nil {
		cn.fast.close()
	}
	cn.helpers.Wait()
	cn.client.mu.Lock()
	if cn.cause != nil && end.Code == 0 {
		end.Err = cn.cause
	}
	cn.client.mu.Unlock()
	cn.end = end
	close(cn.done)
	cn.client.lost(cn, end)
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
