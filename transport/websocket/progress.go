package websocket

import (
	"net"
	"syscall"
	"time"
)

// A peer on a slow path is not a silent one. It cannot answer a ping that it does not have
// yet, and a ping waits behind all that was written before it, also in the kernel's queue.

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
	case o.pingEnd == 0: // its place is not known: it ends at the latest where all that is written ends
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

// moves tells a write that timed out whether the peer takes bytes all the same: the kernel
// lets a writer go on only when it has much room again. The kernel is asked only after a
// write has waited, which most never do.
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

// on reports whether to go on waiting after a write that timed out and wrote n bytes: if
// the kernel took some, if the peer has acknowledged some since the last call, or if this is
// the first call, which has nothing to compare with.
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
