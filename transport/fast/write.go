package fast

import (
	"errors"
	"net"

	"troupe/messages/counters"
	"troupe/transport"
)

// writeBatch is how many datagrams the writer takes at a time. A larger batch has more datagrams for the same
// peer, and those are cheaper to send together.
const writeBatch = 256

// batch is up to writeBatch datagrams that are encoded and not sent yet. The writer owns it.
type batch struct {
	bytes []byte     // the encoded datagrams, one after another
	list  []outgoing // where each datagram ends in bytes, and where it goes
}

// outgoing is one encoded datagram. d no longer holds a frame.
type outgoing struct {
	d   datagram
	end int
}

func (b *batch) at(i int) []byte {
	from := 0
	if i > 0 {
		from = b.list[i-1].end
	}
	return b.bytes[from:b.list[i].end]
}

// sender passes batches to the kernel. It waits while the kernel's buffer is full.
type sender interface {
	// send sends datagrams with one system call, starting at index i, which must exist. An error is about the datagram
	// after those that were sent. That datagram is lost, as any datagram may be.
	send(b *batch, i int) (sent int, err error)
}

// oneByOne is the sender for systems without a call that sends several datagrams.
type oneByOne struct{ conn transport.PacketConn }

func (o oneByOne) send(b *batch, i int) (sent int, err error) {
	if _, err := o.conn.WriteToUDPAddrPort(b.at(i), b.list[i].d.to); err != nil {
		return 0, err
	}
	return 1, nil
}

// writer is the state of a socket's writer goroutine.
type writer struct {
	s     *socket
	out   sender
	taken [writeBatch]datagram
	batch batch
	peers []int32           // index in taken of each peer's first datagram
	next  [writeBatch]int32 // index in taken of the next datagram of the same peer; 0 if there is none
}

func newWriter(s *socket) *writer {
	return &writer{s: s, out: newSender(s.conn)}
}

// write is the writer goroutine of a socket. It encodes and sends what is queued. Only this goroutine
// blocks while the kernel's buffer is full.
func (s *socket) write() {
	w := newWriter(s)
	for w.round() {
	}
}

// round waits for datagrams and sends them. It returns false when the queue is closed and empty.
func (w *writer) round() (more bool) {
	n, more := w.s.out.take(w.taken[:])
	b := &w.batch
	b.bytes, b.list = b.bytes[:0], b.list[:0]
	w.group(n)
	for _, i := range w.peers {
		for last := false; !last; i = w.next[i] {
			w.s.encode(b, &w.taken[i])
			w.taken[i] = datagram{}
			last = w.next[i] == 0
		}
	}
	w.s.send(b, w.out)
	return more
}

// group chains the first n datagrams by peer. The datagrams of one peer are sent together and in order. Peers
// are in the order of their first datagrams.
func (w *writer) group(n int) {
	w.s.turn++
	w.peers = w.peers[:0]
	for i := range int32(n) {
		w.next[i] = 0
		switch o := &w.taken[i].owner.outgoing; {
		case o.turn == w.s.turn:
			w.next[o.last], o.last = i, i
		default:
			o.turn, o.last = w.s.turn, i
			w.peers = append(w.peers, i)
		}
	}
}

// encode appends d to b and releases its reference. It skips d if the binding has changed since d was queued, because
// game data goes only to confirmed addresses. A panic closes the association of d.
func (s *socket) encode(b *batch, d *datagram) {
	before := len(b.bytes)
	defer transport.Rescue(s.pool.opt.Counters, &s.pool.opt.Log, "fast channel writer", func(any) {
		d.owner.Close()
		b.bytes = b.bytes[:before]
	})
	defer d.frame.Release()
	if d.life != 0 && d.life != d.owner.live.Load() {
		return
	}
	b.bytes = d.frame.AppendFast(b.bytes, d.number)
	b.list = append(b.list, outgoing{datagram{to: d.to, owner: d.owner}, len(b.bytes)})
}

func (s *socket) send(b *batch, out sender) {
	count := s.pool.opt.Counters
	for i := 0; i < len(b.list); {
		sent, err := out.send(b, i)
		count.Writes.Add(counters.UDP, 1)
		for range sent {
			count.BytesOut.Add(counters.UDP, int64(len(b.at(i))))
			i++
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, net.ErrClosed) {
			s.pool.logWriteError(err, &b.list[i].d)
		}
		i++
	}
}
