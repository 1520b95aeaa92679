package websocket

import (
	"net"
	"syscall"
	"time"
)

// A peer on a slow path is not a silent peer. It cannot answer a ping that waits in a queue, for
// example the kernel's, after other bytes.

// pinged is the state of the oldest unanswered ping.
type pinged uint8

const (
	pingNone    pinged = iota
	pingWaiting        // composed but not completely written
	pingWritten        // the kernel has accepted it
)

// progress is what the kernel reports about a TCP connection.
type progress struct {
	acked     uint64 // bytes that the peer's system has acknowledged
	held      int    // bytes in the kernel's send queue, including unacknowledged ones
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
	case o.pingEnd == 0: // not known yet: assume that the ping ends the bytes that the kernel holds
		o.pingEnd = p.acked + uint64(p.held)
	}
	return p.acked, p.acked >= o.pingEnd
}

func (c *Conn) answered() {
	c.mu.Lock()
	c.out.pinged, c.out.pingEnd = pingNone, 0
	c.mu.Unlock()
}

// moves decides after a write timeout whether the peer still receives bytes. The write itself does not show that,
// because the kernel wakes a writer only when its buffer has much free space again. moves asks the kernel only after a
// write has blocked, which most writes never do.
type moves struct {
	sys   syscall.RawConn
	acked uint64
	asked int // calls of on without progress of the write, at most 2
}

// firstLook divides the timeout: after timeout/firstLook without progress, on is called for the first time.
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

// on reports whether to keep waiting after a write that timed out and wrote n bytes. The answer is yes if n is positive, or if
// the peer has acknowledged bytes since the last call. It is also yes for the first call, which has no value to compare with.
func (m *moves) on(n int) bool {
	p, ok := progressOf(m.sys)
	return m.moved(n, p.acked, ok)
}

// moved is on, given the kernel's number of acknowledged bytes. ok is false if the kernel cannot tell.
func (m *moves) moved(n int, acked uint64, ok bool) bool {
	if n > 0 {
		m.asked = 0
		return true
	}
	moved := m.asked == 0 || ok && acked != m.acked
	m.acked, m.asked = acked, min(m.asked+1, 2)
	return moved
}

// sys returns the handle of the TCP socket, which may be under TLS. It is nil if there is no TCP socket.
func (c *Conn) sys() syscall.RawConn {
	if c.raw != nil {
		return c.raw
	}
	return sysOf(c.nc)
}

// sysOf returns the handle of the TCP socket under nc, or nil if there is none.
func sysOf(nc net.Conn) syscall.RawConn {
	if tcp := tcpOf(nc); tcp != nil {
		if raw, err := tcp.SyscallConn(); err == nil {
			return raw
		}
	}
	return nil
}

// limitKernel sets TCP_USER_TIMEOUT once the connection ends, so that the kernel drops a stalled peer and frees its
// send buffer. Set earlier, it would also end connections of peers that read slowly: the timeout runs until the peer's
// window has room for the whole first segment of the queue, which can be 64 KiB.
func (c *Conn) limitKernel() {
	if sys := c.sys(); sys != nil {
		_ = setUserTimeout(sys, max(c.l.opt.WriteTimeout, time.Millisecond))
	}
}

func (c *Conn) cut() {
	c.limitKernel()
	cut(c.nc)
}

// RoundTrip returns the kernel's estimate of the round trip time, or 0 if it has none. It makes a
// system call, so it is for monitoring only.
func (c *Conn) RoundTrip() time.Duration {
	p, _ := progressOf(c.sys())
	return p.roundTrip
}
