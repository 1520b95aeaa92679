package websocket

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
)

// sendsMax is how many frames Send may queue (transport.Conn).
const sendsMax = 16

// Conn is one WebSocket connection of a client. A Listener creates it. It removes itself from the Listener when it
// ends. It implements transport.Conn, whose contract holds for every method. One goroutine reads. The goroutine that
// calls Flush writes; if the peer is slow, a writer goroutine takes over.
type Conn struct {
	id     uint64
	l      *Listener
	nc     net.Conn
	raw    syscall.RawConn // for reads and writes that do not block; nil if the system or the socket has none
	remote netip.AddrPort

	in       inbound                          // owned by the reader goroutine
	loggedIn atomic.Bool                      // raises the limit on message sizes
	muted    atomic.Bool                      // the host is closing, so input is dropped
	patient  bool                             // set once: the patient socket under TLS measures the write timeout, not the writer
	ticket   atomic.Pointer[transport.Ticket] // nil after LoggedIn and after the end

	mu  sync.Mutex // held for a short time, at most during Drain of the source
	out outbound   // guarded by mu
}

var _ transport.Conn = (*Conn)(nil)

// phase is the progress of closing a connection. It never decreases.
type phase uint8

const (
	phaseOpen    phase = iota + 1
	phaseDrain         // the host is closing: queued frames are written first, then the close frame
	phaseClosing       // only the close frame is still to be written
	phaseClosed        // the close frame is composed: nothing may follow it
	phaseEnded         // nothing more is written
)

// writerState says whether a goroutine is composing and writing frames.
type writerState uint8

const (
	writerIdle writerState = iota
	writerBusy
	writerRecheck // busy, and Flush was called since it last composed
)

type outbound struct {
	phase      phase
	writer     writerState
	halfClose  bool                 // shut down the write side after the close frame
	peerClosed bool                 // the peer's close frame was received
	byHost     messages.CloseReason // the host's first close reason
	pinged     pinged

	source wire.Source
	sends  []*wire.Frame // queued by Send; nil if there are none
	ping   *control      // ping, pong and bye are nil if none is queued
	pong   *control
	bye    *control // the close frame, from phaseDrain on

	pingEnd uint64 // value of progress.acked at which the peer's system has the ping; 0 if not known yet

	drainUntil time.Duration // on the listener's clock; phaseDrain only
	err        error         // why writing failed
	cut        *time.Timer   // closes the socket if closing takes too long
	idle       chan struct{} // closed when writer becomes writerIdle; created by awaitWriter
}

// newConn makes the connection of a socket after its handshake. early are the bytes that were read after the request.
func (l *Listener) newConn(nc net.Conn, remote netip.AddrPort, ticket *transport.Ticket, early []byte) *Conn {
	c := &Conn{id: l.opt.NextID(), l: l, nc: nc, raw: rawConnOf(nc), remote: remote, patient: l.channel == counters.WSS}
	if len(early) <= readBufferBytes {
		c.in.buf = takeSmall()
	} else {
		c.in.buf = make([]byte, len(early))
	}
	c.in.to = copy(c.in.buf, early)
	c.in.parser.framesMax = framesMax
	c.out.phase = phaseOpen
	c.ticket.Store(ticket)
	return c
}

// addrPort returns the address with an unmapped IP, or the zero value if addr has no IP and port.
func addrPort(addr net.Addr) netip.AddrPort {
	var ap netip.AddrPort
	if tcp, ok := addr.(*net.TCPAddr); ok {
		ap = tcp.AddrPort()
	} else if addr != nil {
		ap, _ = netip.ParseAddrPort(addr.String())
	}
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// ID implements transport.Conn.
func (c *Conn) ID() uint64 { return c.id }

// Channel implements transport.Conn.
func (c *Conn) Channel() counters.Channel { return c.l.channel }

// PongsInOrder implements transport.Conn: pings and messages share one stream.
func (c *Conn) PongsInOrder() bool { return true }

// RemoteAddr implements transport.Conn. It is the zero value if the address has no IP and port.
func (c *Conn) RemoteAddr() netip.AddrPort { return c.remote }

// LoginRead implements transport.Conn.
func (c *Conn) LoginRead() { c.ticket.Load().LoginRead() }

// LoggedIn implements transport.Conn. It raises the limit on messages, so call it before answering the LOGIN.
func (c *Conn) LoggedIn() {
	c.loggedIn.Store(true)
	c.ticket.Swap(nil).LoggedIn()
}

// SetSource implements transport.Conn. Drain runs under the lock, so the previous source is no longer in use when SetSource returns.
func (c *Conn) SetSource(src wire.Source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out.phase != phaseEnded {
		c.out.source = src
	}
}

// Send implements transport.Conn. The next Flush, or Close, writes the frame.
func (c *Conn) Send(f *wire.Frame) {
	c.mu.Lock()
	full := len(c.out.sends) >= sendsMax
	taken := !full && c.out.phase < phaseClosing
	if taken {
		c.out.sends = append(c.out.sends, f)
	}
	c.mu.Unlock()
	if !taken {
		f.Release()
	}
	if full {
		c.Close(messages.CloseSlowConsumer)
	}
}

// Ping implements transport.Conn, and flushes. It replaces a queued ping that has not been sent
// yet. A payload over 125 bytes is truncated.
func (c *Conn) Ping(payload []byte) {
	c.queueControl(&c.out.ping, payload)
	c.Flush()
}

// queueControl puts payload into a slot. It replaces a payload that is still queued there.
func (c *Conn) queueControl(slot **control, payload []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out.phase >= phaseClosing {
		return
	}
	if *slot == nil {
		*slot = controls.Get().(*control)
	}
	(*slot).n = uint8(copy((*slot).b[:], payload))
}
