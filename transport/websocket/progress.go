package websocket

import (
	"net"
	"syscall"
	"time"
)

// A peer on a slow path is not silent: it cannot answer a ping that waits behind other bytes, also in the kernel's queue.

// pinged is the state of the oldest unanswered ping.
type pinged uint8

const (
	pingNone    pinged = iota
	pingWaiting        // composed, and not completely written
	pingWritten        // the kernel has it
)

// progress is what the kernel says of a TCP connection.
type progress struct {
	acked     uint64 // bytes that the peer's system has acknowledged
	held      int    // bytes that the kernel still holds
	roundTrip time.Duration
}

// Reached implements transport.Conn.
func (c *Conn) Reached() (acked uint64, ping bool) {
	p, ok := progressOf(c.sys())
	c.mu.Lock()
	defer c.mu.Unlock()
	o := &c.out
	switch {
	case o.ping != nil || o.pinged == pingWaiting:
		return p.acked, false
	case o.pinged == pingNone || !ok:
		return p.acked, true
	case o.pingEnd == 0: // not known: assume that the ping is the last of the written bytes
		o.pingEnd = p.acked + uint64(p.held)
	}
	return p.acked, p.acked >= o.pingEnd
}

func (c *Conn) answered() {
	c.mu.Lock()
	c.out.pinged, c.out.pingEnd = pingNone, 0
	c.mu.Unlock()
}

// moves decides after a write timeout whether the peer still receives bytes: the kernel wakes a writer only when its buffer has
// much room again. It asks the kernel only after a write has waited: most never do.
type moves struct {
	sys   syscall.RawConn
	acked uint64
	asked int // number of calls of on
}

// firstLook is the part of the timeout, 1/8, after which on is called the first time.
const firstLook = 8

// wait returns how long the next write may block before on is called.
func (m *moves) wait(timeout time.Duration) time.Duration {
	switch m.asked {
	case 0:
		return timeout / firstLook
	case 1:
		return timeout - timeout/firstLook
	}
	return timeout
}

// on reports whether to go on waiting after a write that timed out and wrote n bytes: if the kernel took some, the peer has
// acknowledged some since the last call, or this is the first call, which has nothing to compare with.
func (m *moves) on(n int) bool {
	p, ok := progressOf(m.sys)
	return m.moved(n, p.acked, ok)
}

// moved is on, given what the kernel says; ok is false if it says nothing.
func (m *moves) moved(n int, acked uint64, ok bool) bool {
	if n > 0 {
		m.asked = 0
		return true
	}
	moved := m.asked == 0 || ok && acked != m.acked
	m.acked, m.asked = acked, min(m.asked+1, 2)
	return moved
}

// sys returns the handle of the TCP socket, also under TLS; nil without one.
func (c *Conn) sys() syscall.RawConn {
	if c.raw != nil {
		return c.raw
	}
	return sysOf(c.nc)
}

// sysOf returns the handle of the TCP socket at the bottom, nil without one.
func sysOf(nc net.Conn) syscall.RawConn {
	if tcp := tcpOf(nc); tcp != nil {
		if raw, err := tcp.SyscallConn(); err == nil {
			return raw
		}
	}
	return nil
}

// limitKernel makes the kernel give up on a stalled peer, and free its send buffer, once the connection ends. Set earlier it
// would also cut a peer that reads slowly: TCP_USER_TIMEOUT runs until the peer's window has room for the whole segment at the
// head of the queue, which can be 64 KiB.
func (c *Conn) limitKernel() {
	if sys := c.sys(); sys != nil {
		_ = setUserTimeout(sys, max(c.l.opt.WriteTimeout, time.Millisecond))
	}
}

func (c *Conn) cut() {
	c.limitKernel()
	cut(c.nc)
}

// RoundTrip asks the kernel for its estimate of the round trip, 0 if it has none. It is for operators who look.
func (c *Conn) RoundTrip() time.Duration {
	p, _ := progressOf(c.sys())
	return p.roundTrip
}
