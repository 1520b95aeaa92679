package websocket

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync"

	"github.com/rs/zerolog"

	"troupe/messages"
	"troupe/transport"
)

// Listener accepts WebSocket connections on one address. Make it with Listen,
// run it with Serve, end it with Close and CloseAll. All methods are safe for
// concurrent use.
type Listener struct {
	opt  Options
	ln   net.Listener
	http *http.Server

	mu       sync.Mutex
	acceptor transport.Acceptor // set by Serve
	closed   bool
	conns    map[*Conn]struct{}
	served   chan struct{} // closed when Serve has returned; nil before Serve
	empty    chan struct{} // closed when conns is empty; made by who waits
}

// Listen opens the socket. Connections wait in the kernel's queue until Serve.
func Listen(opt Options) (*Listener, error) {
	opt = opt.withDefaults()
	if err := opt.validate(); err != nil {
		return nil, err
	}
	l := newListener(opt)
	if l.ln = opt.Listener; l.ln == nil {
		addr := opt.Addr
		if addr == "" {
			addr = ":0"
		}
		// Keep-alive probes are off: the layer above pings, and TCP_USER_TIMEOUT and
		// the write timeout find a silent peer long before a probe would.
		lc := net.ListenConfig{KeepAlive: -1}
		ln, err := lc.Listen(context.Background(), "tcp", addr)
		if err != nil {
			return nil, fmt.Errorf("websocket: listen: %w", err)
		}
		l.ln = ln
	}
	return l, nil
}

func newListener(opt Options) *Listener {
	l := &Listener{opt: opt, conns: make(map[*Conn]struct{})}
	l.http = &http.Server{
		Handler:                      newDoor(l),
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            opt.HeaderTimeout,
		WriteTimeout:                 2 * opt.HeaderTimeout, // of answers that refuse; hijacking lifts it
		MaxHeaderBytes:               opt.HeaderBytesMax - headerSlop,
		ErrorLog:                     log.New(httpLog{opt.Log}, "", 0),
		ConnContext: func(ctx context.Context, nc net.Conn) context.Context {
			return context.WithValue(ctx, visitorKey{}, nc)
		},
	}
	l.http.SetKeepAlivesEnabled(false) // one request each
	return l
}

// Addr returns the address that is listened on, with the real port.
func (l *Listener) Addr() net.Addr { return l.ln.Addr() }

// Serve accepts connections until Close and returns nil then, otherwise the
// error of the socket. It may be called once.
func (l *Listener) Serve(acceptor transport.Acceptor) error {
	l.mu.Lock()
	switch {
	case l.closed:
		l.mu.Unlock()
		return nil
	case l.served != nil:
		l.mu.Unlock()
		return errors.New("websocket: Serve called twice")
	}
	l.acceptor = acceptor
	l.served = make(chan struct{})
	served := l.served
	l.mu.Unlock()
	defer close(served)

	err := l.http.Serve(gate{Listener: l.ln, l: l})
	if l.closing() {
		return nil
	}
	return fmt.Errorf("websocket: serve: %w", err)
}

// Close stops accepting, cuts handshakes that are not done yet, and waits for
// Serve to return or ctx to end. Open connections stay; see CloseAll. Further
// calls wait as well.
func (l *Listener) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	served := l.served
	l.mu.Unlock()
	err := l.http.Close()
	if cerr := l.ln.Close(); err == nil && !errors.Is(cerr, net.ErrClosed) {
		err = cerr
	}
	if errors.Is(err, net.ErrClosed) {
		err = nil
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

// CloseAll closes every open connection with a reason, each as Conn.Close does,
// and returns at once.
func (l *Listener) CloseAll(reason messages.CloseReason) {
	l.mu.Lock()
	all := make([]*Conn, 0, len(l.conns))
	for c := range l.conns {
		all = append(all, c)
	}
	l.mu.Unlock()
	for _, c := range all {
		c.Close(reason)
	}
}

// Wait returns once no connection is open, or with an error when ctx ends
// before. It is meant for after Close and CloseAll.
func (l *Listener) Wait(ctx context.Context) error {
	for {
		l.mu.Lock()
		left := len(l.conns)
		if left == 0 {
			l.mu.Unlock()
			return nil
		}
		if l.empty == nil {
			l.empty = make(chan struct{})
		}
		empty := l.empty
		l.mu.Unlock()
		select {
		case <-empty:
		case <-ctx.Done():
			return fmt.Errorf("websocket: %d connections open: %w", left, context.Cause(ctx))
		}
	}
}

// Len returns the number of open connections.
func (l *Listener) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

func (l *Listener) closing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// open starts the connection of an upgraded visitor.
func (l *Listener) open(v *visitor, early []byte) {
	v.done.Store(true)
	l.tune(v.Conn)
	l.start(l.newConn(v.Conn, v.ticket, early))
}

// start runs c in a goroutine of its own, with the small stack of a new one;
// net/http's has grown and ends now.
func (l *Listener) start(c *Conn) {
	l.mu.Lock()
	l.conns[c] = struct{}{}
	acceptor, closed := l.acceptor, l.closed
	l.mu.Unlock()
	if closed {
		c.Close(messages.CloseGoingAway) // came through while Close was called
	}
	go c.run(acceptor)
}

// forget takes an ended connection off the list.
func (l *Listener) forget(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
	if len(l.conns) == 0 && l.empty != nil {
		close(l.empty)
		l.empty = nil
	}
}

// tune sets the socket options. A failure costs comfort, not correctness.
func (l *Listener) tune(nc net.Conn) {
	tcp := tcpOf(nc)
	if tcp == nil {
		return
	}
	err := errors.Join(tcp.SetNoDelay(true), tcp.SetKeepAlive(false), setUserTimeout(tcp, l.opt.WriteTimeout))
	if l.opt.SendBufferBytes > 0 {
		err = errors.Join(err, tcp.SetWriteBuffer(l.opt.SendBufferBytes))
	}
	if err != nil {
		l.opt.Log.Debug().Err(err).Msg("socket options not set")
	}
}

// httpLog takes what net/http logs: requests it could not read, which the peer
// controls, so they are debug and cut.
type httpLog struct{ log zerolog.Logger }

// Write implements io.Writer.
func (h httpLog) Write(line []byte) (int, error) {
	if e := h.log.Debug(); e.Enabled() {
		e.Str("text", string(line[:min(len(line), 512)])).Msg("http server")
	}
	return len(line), nil
}
