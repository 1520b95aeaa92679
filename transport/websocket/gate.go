package websocket

import (
	"net"
	"sync/atomic"

	"troupe/messages/counters"
	"troupe/transport"
)

// gate is the listener net/http accepts from. It asks for admission first: who
// is refused costs an accept and a close, no goroutine and no memory.
type gate struct {
	net.Listener
	l *Listener
}

// Accept implements net.Listener.
func (g gate) Accept() (net.Conn, error) {
	for {
		nc, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		v := &visitor{Conn: nc, l: g.l}
		if a := g.l.opt.Admission; a != nil {
			ticket, refusal := a.Enter(addrPort(nc.RemoteAddr()).Addr())
			if refusal != 0 {
				reset(nc)
				continue
			}
			v.ticket = ticket
		}
		return v, nil
	}
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
