package websocket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport"
	"troupe/transport/internal/openset"
)

// Listener accepts WebSocket connections on one address. Its life is Listen, Serve, Close and CloseAll.
// All methods are safe for concurrent use.
type Listener struct {
	openset.Set[*Conn]

	opt     Options
	channel counters.Channel
	started time.Time
	ln      net.Listener
	tuned   bool      // accepted sockets inherit their options
	readers sync.Pool // of *headerReader

	handshakes sync.WaitGroup // handshakes with a running goroutine

	mu          sync.Mutex
	handshaking map[*handshakingConn]struct{}
	acceptor    transport.Acceptor // set by Serve
	closed      bool
	served      chan struct{} // closed when Serve has returned; nil before Serve
}

// Listen opens the socket. Until Serve is called, connections wait in the kernel's accept queue.
func Listen(opt Options) (*Listener, error) {
	opt = opt.withDefaults()
	if opt.WriteTimeout < 0 || opt.CloseLinger < 0 {
		return nil, errors.New("websocket: negative timeout")
	}
	l := newListener(opt)
	if l.ln = opt.Listener; l.ln == nil {
		// Keep-alive probes are off, because the pings of the layer above detect a silent peer sooner.
		lc := net.ListenConfig{KeepAlive: -1, Control: l.tuneListener}
		ln, err := lc.Listen(context.Background(), "tcp", cmp.Or(opt.Addr, ":0"))
		if err != nil {
			return nil, err // it names the operation and the address
		}
		l.ln = ln
	}
	if opt.TLS != nil {
		l.channel = counters.WSS
		l.ln = &tlsListener{Listener: l.ln, config: opt.TLS, timeout: opt.WriteTimeout}
	}
	return l, nil
}

func newListener(opt Options) *Listener {
	l := &Listener{opt: opt, channel: counters.WS, started: time.Now(), handshaking: make(map[*handshakingConn]struct{})}
	l.readers.New = newHeaderReader
	return l
}

// clock returns the time since the listener was made. It is monotonic.
func (l *Listener) clock() time.Duration { return time.Since(l.started) }

// Addr returns the listening address, with the actual port.
func (l *Listener) Addr() net.Addr { return l.ln.Addr() }

// Serve accepts connections. It returns nil after Close, otherwise the socket's error. It may be called only once.
func (l *Listener) Serve(acceptor transport.Acceptor) error {
	served := make(chan struct{})
	l.mu.Lock()
	closed := l.closed
	if !closed {
		l.acceptor, l.served = acceptor, served
	}
	l.mu.Unlock()
	if closed {
		return nil
	}
	defer close(served)

	err := l.accept()
	l.handshakes.Wait() // Close ends the handshakes
	if l.closing() {
		return nil
	}
	return fmt.Errorf("websocket: serve: %w", err)
}

// Close stops accepting, aborts handshakes, and waits until Serve returns or ctx ends. Open connections stay open; see CloseAll.
func (l *Listener) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	served := l.served
	var cut []net.Conn
	for v := range l.handshaking {
		if v.serving {
			cut = append(cut, v.Conn) // the goroutine of serve cleans up
		} else {
			cut = append(cut, v)
			delete(l.handshaking, v)
		}
	}
	l.mu.Unlock()
	err := l.ln.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	for _, nc := range cut {
		_ = nc.Close()
	}
	if served != nil {
		select {
		case <-served:
		case <-ctx.Done():
			return fmt.Errorf("websocket: close: %w", context.Cause(ctx))
		}
	}
	if err != nil {
		return fmt.Errorf("websocket: close: %w", err)
	}
	return nil
}

func (l *Listener) closing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// leave removes a connection from the list after its handshake has succeeded or failed.
func (l *Listener) leave(v *handshakingConn) {
	l.strike(v)
	l.handshakes.Done()
}

func (l *Listener) strike(v *handshakingConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.handshaking, v)
}

// open starts the Conn of an upgraded connection. It first removes the connection from the
// handshaking ones, so that Close no longer cuts it.
func (l *Listener) open(v *handshakingConn, early []byte) {
	v.done.Store(true)
	l.strike(v)
	l.tune(v.Conn)
	c := l.newConn(v.Conn, v.remote, v.ticket, early)
	v.ticket.OnEvict(func() { c.Close(messages.CloseTryLater) })
	l.start(c)
}

// start runs c in a new goroutine, because the goroutine of the handshake has a large stack.
func (l *Listener) start(c *Conn) {
	openset.Add(&l.Set, c)
	l.mu.Lock()
	acceptor, closed := l.acceptor, l.closed
	l.mu.Unlock()
	if closed {
		c.Close(messages.CloseGoingAway) // the listener was closed during the handshake
	}
	go c.run(acceptor)
}

// tuneListener sets the send buffer of a listening socket. Accepted sockets inherit it.
func (l *Listener) tuneListener(_, _ string, raw syscall.RawConn) error {
	return raw.Control(func(fd uintptr) {
		l.tuned = setSendBuffer(fd, sendBufferBytes) == nil
	})
}

// tune sets the options of a socket that did not inherit them. A failure affects performance only.
func (l *Listener) tune(nc net.Conn) {
	tcp := tcpOf(nc)
	if tcp == nil || l.tuned {
		return
	}
	if err := errors.Join(tcp.SetNoDelay(true), tcp.SetKeepAlive(false), tcp.SetWriteBuffer(sendBufferBytes)); err != nil {
		l.opt.Log.Debug().Err(err).Msg("socket options not set")
	}
}
