package websocket

import (
	"errors"
	"net"
	"sync/atomic"
	"time"

	"troupe/messages/counters"
	"troupe/transport"
)

// accept takes connections until the listener is closed. It asks for admission
// first: who is refused costs an accept and a close, no goroutine and no memory.
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
		v := &visitor{Conn: nc, l: l}
		if a := l.opt.Admission; a != nil {
			ticket, refusal := a.Enter(addrPort(nc.RemoteAddr()).Addr())
			if refusal != 0 {
				reset(nc)
				continue
			}
			v.ticket = ticket
		}
		if l.enter(v) {
			go v.serve()
		}
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
		l.handshakes.Add(1)
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
	_ = nc.Close()
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
// its ticket back.
type visitor struct {
	net.Conn
	l      *Listener
	ticket *transport.Ticket
	done   atomic.Bool // upgraded, or counted as refused
}

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
