package transporttest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
	"troupe/transport/transporttest/memnet"
)

// reference is a minimal transport that keeps all guarantees. A frame has a type, a length and the bytes,
// over any stream. Each connection has a reading and a writing goroutine. With a defect it breaks one
// guarantee.
type reference struct{ defect defect }

// Frame types.
const (
	typeMessage byte = iota + 1
	typePing
	typePong
	typeBye
)

const headBytes = 5

func appendHead(b []byte, kind byte, size int) []byte {
	return binary.BigEndian.AppendUint32(append(b, kind), uint32(size))
}

func appendBye(b []byte, reason messages.CloseReason) []byte {
	b = appendHead(b, typeBye, 2+len(reason.String()))
	return append(binary.BigEndian.AppendUint16(b, uint16(reason)), reason.String()...)
}

func (r reference) Start(tb TB, o Options) Server {
	s := &refServer{Options: o, defect: r.defect, one: make(chan struct{}, 1)}
	var err error
	if s.ln, err = o.Network.Node().Listen(0); err != nil {
		tb.Fatal(err)
	}
	s.running.Go(s.accept)
	return s
}

type refServer struct {
	Options
	defect  defect
	ln      *memnet.Listener
	running sync.WaitGroup
	one     chan struct{} // semaphore, for a defect

	mu      sync.Mutex
	open    map[net.Conn]bool
	stopped bool
	first   *dispatch // for a defect
}

// keep records a socket, so that Stop closes it.
func (s *refServer) keep(nc net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = make(map[net.Conn]bool)
	}
	s.open[nc] = true
	if s.stopped {
		_ = nc.Close()
	}
}

func (s *refServer) Stop() {
	_ = s.ln.Close()
	s.mu.Lock()
	s.stopped = true
	for nc := range s.open {
		_ = nc.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

func (s *refServer) accept() {
	for {
		nc, err := s.ln.Accept()
		if err != nil {
			return
		}
		s.keep(nc)
		var ticket *transport.Ticket
		remote := nc.RemoteAddr().(*net.TCPAddr).AddrPort()
		if s.Admission != nil {
			if ticket = s.Admission.Ticket(remote.Addr()); ticket.Enter() != 0 {
				_ = nc.Close()
				continue
			}
		}
		c := &refConn{s: s, nc: nc, id: s.NextID(), remote: remote, ticket: ticket, written: make(chan struct{})}
		if s.defect == idsRepeat {
			c.id = 1 + c.id/2
		}
		c.wake.L = &c.mu
		s.running.Go(c.run)
	}
}

type refConn struct {
	s       *refServer
	nc      net.Conn
	id      uint64
	remote  netip.AddrPort
	written chan struct{} // closed when the writing goroutine has ended
	held    [][]byte      // units that the reader delays, for a defect

	mu       sync.Mutex
	wake     sync.Cond
	source   wire.Source
	sends    []*wire.Frame
	ping     []byte // nil if none is pending; the same holds for the next fields
	pong     []byte
	byHost   messages.CloseReason
	closing  bool // the host is closing the connection
	abrupt   bool // without sending what is queued
	until    time.Time
	dirty    bool
	ended    bool
	loggedIn bool
	discard  bool
	ticket   *transport.Ticket
	cut      *time.Timer
	backlog  time.Time // time since when the writer has been busy, for a defect
}

var _ transport.Conn = (*refConn)(nil)

func (c *refConn) ID() uint64                 { return c.id }
func (c *refConn) Channel() counters.Channel  { return counters.WS }
func (c *refConn) RemoteAddr() netip.AddrPort { return c.remote }
func (c *refConn) PongsInOrder() bool         { return true }

func (c *refConn) SetSource(src wire.Source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended && c.s.defect != sourceAfterEnd || src == nil && c.s.defect == sourceStays {
		return
	}
	if src == nil && c.s.defect == sourceDiscards {
		c.discard = true
	}
	c.source = src
}

func (c *refConn) Send(f *wire.Frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.closing {
		if c.s.defect != sendLeaks {
			f.Release()
		}
		return
	}
	if len(c.sends) >= 16 && c.s.defect != sendsUnbounded {
		f.Release()
		c.part(messages.CloseSlowConsumer, false)
		return
	}
	c.sends = append(c.sends, f)
}

func (c *refConn) Flush() {
	c.mu.Lock()
	c.dirty = true
	c.wake.Broadcast()
	if c.s.defect == flushWaits {
		for c.dirty && !c.ended {
			c.wake.Wait()
		}
	}
	if c.s.defect == sourceAfterEnd && c.ended && c.source != nil {
		c.source.Drain(new(sink))
	}
	c.mu.Unlock()
}

func (c *refConn) Ping(payload []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ping = append([]byte{}, payload...)
	c.dirty = true
	c.discard = c.discard || c.s.defect == pingDiscards
	c.wake.Broadcast()
}

func (c *refConn) LoginRead() { c.ticket.LoginRead() }

func (c *refConn) Reached() (acked uint64, ping bool) { return 0, true }

func (c *refConn) LoggedIn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loggedIn = true
	if c.s.defect != ticketStays {
		c.ticket.Leave()
	}
}

func (c *refConn) Close(reason messages.CloseReason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.part(reason, c.s.defect == closeDropsQueue)
	for c.s.defect == closeWaits && !c.ended {
		c.wake.Wait()
	}
}

// part begins a close by the host. The caller holds mu.
func (c *refConn) part(reason messages.CloseReason, abrupt bool) {
	if c.ended || c.closing && c.s.defect != lastReasonCounts {
		return
	}
	c.closing, c.abrupt, c.byHost = true, abrupt, reason
	c.until = time.Now().Add(c.s.CloseLinger)
	if c.s.defect != closeNeverCuts && c.cut == nil {
		c.cut = time.AfterFunc(2*c.s.CloseLinger, func() { _ = c.nc.Close() })
	}
	c.wake.Broadcast()
}

// sink collects the bytes of one write.
type sink struct {
	b      []byte
	defect defect
	count  *int
	last   []byte
}

func (s *sink) AppendNumbered(f *wire.Frame, _, _ uint64) bool { return s.Append(f) }
func (s *sink) Mark(uint64) bool                               { return false }

func (s *sink) Append(f *wire.Frame) (room bool) {
	unit := f.AppendReliable(nil)
	times := 1
	if s.count != nil {
		*s.count++
		if *s.count%100 == 0 {
			switch s.defect {
			case dropsOutbound:
				return true
			case deliversTwice:
				times = 2
			case flipsABit:
				unit[len(unit)-1] ^= 1
			case swapsTwo:
				s.last = unit
				return true
			}
		}
	}
	for range times {
		s.b = append(appendHead(s.b, typeMessage, len(unit)), unit...)
	}
	if s.last != nil {
		s.b = append(appendHead(s.b, typeMessage, len(s.last)), s.last...)
		s.last = nil
	}
	return len(s.b) < 32<<10 || s.defect == drainsEverything
}

// compose waits until there is something to write. last is true for the bytes that include the goodbye. A nil
// result is the end.
func (c *refConn) compose(count *int) (b []byte, last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.dirty && !c.closing && !c.ended {
		c.backlog = time.Time{}
		c.wake.Wait()
	}
	if c.ended {
		return nil, true
	}
	c.dirty = false
	s := &sink{defect: c.s.defect, count: count}
	for kind, slot := range map[byte]*[]byte{typePing: &c.ping, typePong: &c.pong} {
		if *slot != nil {
			s.b = append(appendHead(s.b, kind, len(*slot)), *slot...)
			*slot = nil
		}
	}
	late := c.closing && (c.abrupt || time.Now().After(c.until))
	if c.s.defect == sendComesLast && c.source != nil && !late {
		c.dirty = c.source.Drain(s)
	}
	for len(c.sends) > 0 && !late {
		s.Append(c.sends[0])
		if c.s.defect != sendLeaks {
			c.sends[0].Release()
		}
		c.sends = c.sends[1:]
	}
	if c.source != nil && !late {
		if src := c.source; c.s.defect == drainUnlocked {
			c.mu.Unlock()
			more := src.Drain(s)
			c.mu.Lock()
			c.dirty = c.dirty || more
		} else {
			c.dirty = src.Drain(s) || c.dirty
		}
	}
	if c.discard {
		c.discard, s.b = false, nil
	}
	if s.last != nil {
		s.b = append(appendHead(s.b, typeMessage, len(s.last)), s.last...)
	}
	if c.closing && !c.dirty {
		if c.s.defect == closeSaysNothing {
			return s.b, true
		}
		return appendBye(s.b, c.byHost), true
	}
	c.wake.Broadcast()
	return append([]byte{}, s.b...), false
}

func (c *refConn) writer() {
	defer close(c.written)
	var tick *time.Ticker
	if c.s.defect == chatters {
		tick = time.NewTicker(10 * time.Second)
		defer tick.Stop()
		go func() {
			for {
				select {
				case <-tick.C:
					c.Ping(nil)
				case <-c.written:
					return
				}
			}
		}()
	}
	for count := 0; ; {
		b, last := c.compose(&count)
		if c.s.defect == oneWriterAtATime {
			c.s.one <- struct{}{}
		}
		err := c.write(b)
		if c.s.defect == oneWriterAtATime {
			<-c.s.one
		}
		if err == nil && !last {
			continue
		}
		if w, ok := c.nc.(interface{ CloseWrite() error }); ok && err == nil {
			_ = w.CloseWrite()
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.mu.Lock()
			if c.byHost == 0 && c.s.defect != timeoutHasNoReason {
				c.byHost = messages.CloseWriteTimeout
			}
			c.mu.Unlock()
		}
		if err != nil {
			_ = c.nc.Close()
		}
		return
	}
}

// write writes b, and fails if there is no progress for too long.
func (c *refConn) write(b []byte) error {
	for len(b) > 0 {
		if c.s.defect != writesForEver {
			from := time.Now()
			if c.s.defect == deadlineStays {
				if c.backlog.IsZero() {
					c.backlog = from
				}
				from = c.backlog
			}
			_ = c.nc.SetWriteDeadline(from.Add(c.s.WriteTimeout))
		}
		n, err := c.nc.Write(b)
		b = b[n:]
		if err != nil && (n == 0 || !errors.Is(err, os.ErrDeadlineExceeded)) {
			return err
		}
	}
	return nil
}

func (c *refConn) run() {
	count := c.s.Counters
	if c.s.defect != gaugeLies {
		count.Connections.Add(counters.WS, 1)
	} else {
		count.Connections.Add(counters.WS, 2)
	}
	go c.writer()
	h, refusal := c.s.Acceptor.Accept(c)
	if h == nil {
		if c.s.defect == refusalHasNoReason {
			refusal = messages.CloseInternalError
		}
		if c.s.defect != refusedStaysOpen {
			c.Close(refusal)
		}
		h = nobody{}
	}
	d := &dispatch{Handler: h, c: c}
	code, err := c.read(d)
	d.finish()
	c.finish(h, code, err)
}

type nobody struct{}

func (nobody) OnUnit([]byte)          {}
func (nobody) OnAlive([]byte)         {}
func (nobody) OnClosed(transport.End) {}

// read reads until the connection ends and returns the code of the client's goodbye.
func (c *refConn) read(h *dispatch) (code uint16, err error) {
	in := bufio.NewReaderSize(c.nc, 4<<10)
	for {
		var head [headBytes]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return 0, err
		}
		size := binary.BigEndian.Uint32(head[1:])
		c.mu.Lock()
		limit := c.s.PendingMessageBytesMax
		if c.loggedIn || c.s.defect == oneLimit {
			limit = c.s.MessageBytesMax
		}
		c.mu.Unlock()
		reason := messages.CloseReason(0)
		switch {
		case head[0] < typeMessage || head[0] > typeBye:
			reason = messages.CloseProtocolError
		case int64(size) > int64(limit) && (c.s.defect != noLimit || size > 1<<20):
			reason = messages.CloseMessageTooBig
		}
		if reason != 0 {
			if c.s.defect == garbageIgnored {
				continue
			}
			if c.s.defect == garbageKept {
				c.held = append(c.held, make([]byte, 2<<20))
				kept = append(kept, c.held...)
			}
			c.mu.Lock()
			c.part(reason, true)
			c.mu.Unlock()
			_, err = io.Copy(io.Discard, in)
			return 0, err
		}
		b := make([]byte, size)
		if _, err := io.ReadFull(in, b); err != nil {
			return 0, err
		}
		switch head[0] {
		case typeMessage:
			h.unit(b)
		case typePing:
			c.mu.Lock()
			c.pong = b
			c.mu.Unlock()
			c.Flush()
			h.OnAlive(nil)
		case typePong:
			h.alive(b)
		case typeBye:
			if len(b) < 2 {
				return 0, io.ErrUnexpectedEOF
			}
			return binary.BigEndian.Uint16(b), nil
		}
	}
}

// kept has units that a defect keeps too long.
var kept [][]byte

func (c *refConn) finish(h transport.Handler, code uint16, err error) {
	c.mu.Lock()
	if err == nil {
		c.ended = true // the client has left and reads no more
		c.wake.Broadcast()
	}
	c.mu.Unlock()
	_ = c.nc.Close()
	c.mu.Lock()
	c.ended = true
	c.wake.Broadcast()
	c.mu.Unlock()
	<-c.written
	c.mu.Lock()
	for _, f := range c.sends {
		if c.s.defect != sendLeaks {
			f.Release()
		}
	}
	if c.cut != nil {
		c.cut.Stop()
	}
	if c.s.defect != sourceAfterEnd {
		c.source = nil
	}
	c.sends = nil
	end := transport.End{Code: code, ByHost: c.byHost, Err: err}
	end.Clean = err == nil && code == uint16(messages.CloseNormal) && c.byHost == 0
	switch c.s.defect {
	case allIsClean:
		end.Clean = true
	case nothingIsClean:
		end.Clean = false
	}
	ticket := c.ticket
	c.mu.Unlock()
	if c.s.defect != ticketLost {
		ticket.Leave()
	}
	class := counters.ClosedLost
	switch {
	case end.Clean:
		class = counters.ClosedByPeer
	case end.ByHost != 0:
		class = counters.ClosedByHost
		c.s.Counters.CountClose(uint16(end.ByHost))
	}
	c.s.Counters.Closed.Add(class, 1)
	c.s.Counters.Connections.Add(counters.WS, -1)
	h.OnClosed(end)
	switch c.s.defect {
	case closedTwice:
		h.OnClosed(end)
	case unitAfterClosed:
		h.OnUnit(nil)
	case leavesAGoroutine:
		go time.Sleep(time.Hour)
	}
}
