package websocket

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// patient is the socket under a TLS connection. TLS cannot continue after a write that timed out in the middle of a record.
// So the write timeout is measured here. A slow peer may receive a record in pieces, and each piece restarts the timeout.
type patient struct {
	net.Conn
	timeout time.Duration
	limit   atomic.Pointer[time.Time] // write deadline that the caller has set; nil for none
}

// tlsListener wraps accepted connections in TLS.
type tlsListener struct {
	net.Listener
	config  *tls.Config
	timeout time.Duration
}

// Accept implements net.Listener. The first read performs the TLS handshake.
func (l *tlsListener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return tls.Server(&patient{Conn: nc, timeout: l.timeout}, l.config), nil
}

// NetConn returns the socket.
func (p *patient) NetConn() net.Conn { return p.Conn }

// Write implements net.Conn.
func (p *patient) Write(b []byte) (n int, err error) {
	var way moves
	for n < len(b) {
		wait, limit := way.wait(p.timeout), p.limit.Load()
		if limit != nil {
			wait = p.timeout
		}
		deadline := time.Now().Add(wait)
		if limit != nil && limit.Before(deadline) {
			deadline = *limit
		}
		_ = p.Conn.SetWriteDeadline(deadline)
		if p.limit.Load() != limit {
			continue // another deadline was set meanwhile
		}
		var m int
		m, err = p.Conn.Write(b[n:])
		n += m
		if err == nil {
			continue
		}
		if limit != nil || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		if way.sys == nil {
			way.sys = sysOf(p.Conn)
		}
		if !way.on(m) {
			return n, err
		}
	}
	return n, nil
}

// SetWriteDeadline implements net.Conn.
func (p *patient) SetWriteDeadline(t time.Time) error {
	p.note(t)
	return p.Conn.SetWriteDeadline(t)
}

// SetDeadline implements net.Conn.
func (p *patient) SetDeadline(t time.Time) error {
	p.note(t)
	return p.Conn.SetDeadline(t)
}

func (p *patient) note(t time.Time) {
	if t.IsZero() {
		p.limit.Store(nil)
	} else {
		p.limit.Store(&t)
	}
}

// cut closes a connection without sending TLS's close_notify, which would block on a stalled peer.
func cut(nc net.Conn) {
	if c, ok := nc.(*tls.Conn); ok {
		_ = c.NetConn().Close()
	}
	_ = nc.Close()
}
