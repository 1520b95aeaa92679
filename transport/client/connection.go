package client

import (
	"context"
	"sync"
	"time"
)

// connection is one connection of a Client: a link, its fast channel, and their goroutines.
type connection struct {
	// set once
	client    *Client
	transport Transport
	o         *Options // those of the client, with the addresses of the connection's host
	began     time.Time
	silence   time.Duration // how long the host may be silent in a handshake over KCP; 0 for no limit
	fast      *fastChannel  // nil without a fast channel
	login     chan error    // receives the result of LOGIN when the host has answered
	writer    func()        // the method write, bound once so that it allocates nothing
	abandoned chan struct{} // closed, under client.mu, if the connection must not become the current one
	done      chan struct{} // closed when every goroutine has ended
	end       End           // valid after done is closed

	// owned by the caller of onUnit
	answered bool // the first unit has arrived

	// guarded by client.mu
	link   link      // nil until it is opened
	asked  bool      // LOGIN was sent, or may have been sent
	said   uint64    // the highest received number, as sent in LOGIN
	since  time.Time // when it became the current connection; zero if it has not
	writes writerState
	cause  error // why this side dropped the connection; nil if it did not

	alive context.Context // ends when the link has ended
	ended context.CancelFunc

	// mu is held while alive is ended. After that, no helper starts and no datagram is processed.
	mu      sync.Mutex
	helpers sync.WaitGroup
}

// writerState says whether the writer of a connection is running.
type writerState uint8

const (
	writerIdle writerState = iota
	writerRunning
	writerBroken // writing to the link is no longer possible; final
)

func newConnection(c *Client, t Transport, o *Options) *connection {
	cn := &connection{
		client: c, transport: t, o: o, began: time.Now(), login: make(chan error, 1), abandoned: make(chan struct{}), done: make(chan struct{}),
	}
	c.mu.Lock()
	if c.away != nil {
		cn.silence = c.away.silence
	}
	c.mu.Unlock()
	cn.writer = cn.write
	cn.alive, cn.ended = context.WithCancel(context.Background())
	if c.o.Fast || t == KCP { // a host may use the fast channel of KCP even without Options.Fast
		cn.fast = &fastChannel{c: cn, highest: -1, answered: make(chan struct{})}
	}
	return cn
}

// fastUp reports whether the fast channel is up. cn may be nil.
func (cn *connection) fastUp() bool { return cn != nil && cn.fast != nil && cn.fast.up() }

// takeFastDown calls fastChannel.takeDown. cn may be nil.
func (cn *connection) takeFastDown() bool { return cn != nil && cn.fast != nil && cn.fast.takeDown() }

// spawn starts a helper, which must end soon after alive has ended. It does nothing if alive has ended already.
func (cn *connection) spawn(helper func()) {
	cn.mu.Lock()
	defer cn.mu.Unlock()
	if cn.alive.Err() == nil {
		cn.helpers.Go(helper)
	}
}

// ending reports whether the connection has ended, or this side has dropped or replaced it and its reader will end it. The
// caller does not hold client.mu.
func (cn *connection) ending() bool {
	cn.client.mu.Lock()
	defer cn.client.mu.Unlock()
	return cn.alive.Err() != nil || cn.cause != nil || cn.client.current.Load() != cn
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

// onEnd is called once by the link, as its last call.
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
