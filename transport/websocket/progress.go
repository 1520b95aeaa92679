package websocket

import (
	"net"
	"syscall"
	"time"
)

// A peer on a slow path is not a silent one. What a ping asks for comes no sooner than the
// ping does, and that waits behind all that was written before, in the kernel's queue, too.

// pinged is where the oldest ping is that has no answer.
type pinged uint8

const (
	pingNone    pinged = iota
	pingWaiting        // composed, and not written altogether
	pingWritten        // the kernel has it
)

// Reached implements transport.Conn.
func (c *Conn) Reached() (acked uint64, ping bool) {
	acked, held, ok := progressOf(c.sys)
	c.mu.Lock()
	defer c.mu.Unlock()
	o := &c.out
	switch {
	case o.ping != nil || o.pinged == pingWaiting:
		return acked, false
	case o.pinged == pingNone || !ok:
		return acked, true
	case o.pingEnd == 0: // what was written behind it counts as before it, for want of its place
		o.pingEnd = acked + uint64(held)
	}
	return acked, acked >= o.pingEnd
}

// wrote notes that all of s is written. The caller holds mu.
func (c *Conn) wrote(s *scratch) {
	if s.ping && c.out.pinged == pingWaiting {
		c.out.pinged = pingWritten
	}
}

// answered notes a pong.
func (c *Conn) answered() {
	c.mu.Lock()
	c.out.pinged, c.out.pingEnd = pingNone, 0
	c.mu.Unlock()
}

// moves tells writes that time out whether the peer takes something all the same. The
// kernel says nothing to the writer before it has much room. It is asked only once a write
// has waited: most never do.
type moves struct {
	sys   syscall.RawConn
	acked uint64
	asked int // how often on was asked
}

// firstLook is the part of a timeout that a write waits before on is asked the first time.
const firstLook = 8

// wait is how long the next write may wait before on is asked.
func (m *moves) wait(timeout time.Duration) time.Duration {
	switch m.asked {
	case 0:
		return timeout / firstLook
	case 1:
		return timeout - timeout/firstLook
	}
	return timeout
}

// on reports whether to wait on after a write that timed out and wrote so many bytes: the
// kernel took some, or the peer has taken some since it was last asked for, or that was not
// asked for yet.
func (m *moves) on(n int) bool {
	if n > 0 {
		m.asked = 0
		return true
	}
	acked, _, ok := progressOf(m.sys)
	moved := m.asked == 0 || ok && acked != m.acked
	m.acked, m.asked = acked, min(m.asked+1, 2)
	return moved
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

// limitKernel has the kernel give up on a peer that takes nothing, and free what it holds
// for it, once the connection ends. Before, a reader that takes a little at a time would be
// cut, too: TCP_USER_TIMEOUT runs on until the window has room for all of what is at the
// head of the queue, which can be 64 KiB.
func (c *Conn) limitKernel() {
	if tcp := tcpOf(c.nc); tcp != nil {
		_ = setUserTimeout(tcp, max(c.l.opt.WriteTimeout, time.Millisecond))
	}
}

func (c *Conn) cut() {
	c.limitKernel()
	cut(c.nc)
}
