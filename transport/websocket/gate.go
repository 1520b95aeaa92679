package websocket

import (
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"troupe/messages/counters"
	"troupe/transport"
)

// accept takes connections until the listener is closed. They ask for admission
// first: who waits for it costs a file descriptor and no goroutine.
func (l *Listener) accept() error {
	for failures := 0; ; {
		nc, err := l.ln.Accept()
		if err != nil {
			if l.closing() || errors.Is(err, net.ErrClosed) {
				return err
			}
			// Out of file descriptors or memory, or the peer was gone first: that
			// passes, and until then nobody is served by giving up.
			failures = min(failures+1, acceptPauseSteps)
			l.opt.Log.Warn().Err(err).Msg("accept failed")
			time.Sleep(time.Millisecond << failures)
			continue
		}
		failures = 0
		l.receive(nc)
	}
}

// receive takes an accepted connection: it is answered at once, or when Admission
// has a place for it.
func (l *Listener) receive(nc net.Conn) {
	defer func() {
		if p := recover(); p != nil {
			transport.Panicked(l.opt.Counters, &l.opt.Log, "WebSocket listener", p)
			reset(nc)
		}
	}()
	v := &visitor{Conn: nc, l: l, remote: addrPort(nc.RemoteAddr())}
	if l.opt.Admission != nil {
		v.ticket = l.opt.Admission.Ticket(v.remote.Addr())
	}
	if !l.enter(v) {
		return
	}
	if v.ticket == nil {
		v.Admit()
	} else if v.ticket.Wait(v) != 0 {
		v.Evict()
	}
}

// acceptPauseSteps is how often the pause after failed accepts doubles: up to
// one second.
const acceptPauseSteps = 10

// enter puts a visitor on the list, unless the listener is closed.
func (l *Listener) enter(v *visitor) bool {
	l.mu.Lock()
	closed := l.closed
	if !closed {
		l.visitors[v] = struct{}{}
	}
	l.mu.Unlock()
	if closed {
		v.Close()
	}
	return !closed
}

// reset closes a connection without a trace: a reset leaves no TIME_WAIT behind,
// which a flood would fill the table with.
func reset(nc net.Conn) {
	if tcp := tcpOf(nc); tcp != nil {
		_ = tcp.SetLinger(0)
	}
	cut(nc)
}

// tcpOf returns the TCP connection at the bottom, nil without one.
func tcpOf(nc net.Conn) *net.TCPConn {
	for {
		switch c := nc.(type) {
		case *net.TCPConn:
			return c
		case interface{ NetConn() net.Conn }: // tls.Conn
			nc = c.NetConn()
		default:
			return nil
		}
	}
}

// visitor is a connection before its handshake is done. Whoever closes it gives
// its ticket back. It implements transport.Entrant.
type visitor struct {
	net.Conn
	l       *Listener
	remote  netip.AddrPort
	ticket  *transport.Ticket
	done    atomic.Bool // upgraded, or counted as refused
	serving bool        // guarded by l.mu: serve runs, and takes it off the list
}

var _ transport.Entrant = (*visitor)(nil)

// Admit implements transport.Entrant.
func (v *visitor) Admit() {
	l := v.l
	l.mu.Lock()
	_, listed := l.visitors[v]
	if listed {
		v.serving = true
		l.handshakes.Add(1)
	}
	l.mu.Unlock()
	if listed { // Close has not cut it
		go v.serve()
	}
}

// Evict implements transport.Entrant: whoever calls has counted it.
func (v *visitor) Evict() {
	v.done.Store(true)
	l := v.l
	l.mu.Lock()
	if !v.serving {
		delete(l.visitors, v)
	}
	l.mu.Unlock()
	reset(v.Conn)
}

// Peek implements transport.Entrant.
func (v *visitor) Peek() transport.Presence { return peek(tcpOf(v.Conn)) }

// Close implements net.Conn. A visitor that ends before anything was decided has
// sent no request, or half of one.
func (v *visitor) Close() error {
	v.refuse(counters.RefusedHandshake)
	v.ticket.Leave()
	return v.Conn.Close()
}

// refuse counts the visitor as refused, once.
func (v *visitor) refuse(why counters.Refusal) {
	if !v.done.CompareAndSwap(false, true) {
		return
	}
	if v.l.closing() {
		why = counters.RefusedDraining
	}
	v.l.opt.Counters.Refused.Add(why, 1)
}
