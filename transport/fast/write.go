package fast

import (
	"errors"
	"net"

	"troupe/messages/counters"
	"troupe/transport"
)

// writeBatch is how many datagrams the writer takes at a time. With more of them, more are for one peer, which cost less together.
const writeBatch = 256

// batch is datagrams that are encoded and not sent yet, of at most writeBatch. The writer owns it.
type batch struct {
	bytes []byte     // all datagrams, one after the other
	list  []outgoing // their ends in bytes, and where they go
}

// outgoing is one encoded datagram. D holds no frame any more.
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

// sender hands batches to the kernel. It waits while the kernel's buffer is full.
type sender interface {
	// send sends datagrams from index i on, which there is, with one system call. An error is about the datagram behind
	// those that were sent; that one is lost, as any datagram may be.
	send(b *batch, i int) (sent int, err error)
}

// oneByOne is the sender where the system has no call for several datagrams.
type oneByOne struct{ conn transport.PacketConn }

func (o oneByOne) send(b *batch, i int) (sent int, err error) {
	if _, err := o.conn.WriteToUDPAddrPort(b.at(i), b.list[i].d.to); err != nil {
		return 0, err
	}
	return 1, nil
}

// writer is what the writing goroutine of a socket needs.
type writer struct {
	s     *socket
	out   sender
	taken [writeBatch]datagram
	batch batch
	peers []int32           // the first datagram of each peer in taken
	next  [writeBatch]int32 // the next datagram of the same peer; 0: none
}

func newWriter(s *socket) *writer {
	return &writer{s: s, out: newSender(s.conn)}
}

// write is a socket's writer: it encodes and sends what is queued. Only this goroutine blocks when the kernel's buffer is full.
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

// group chains the first n datagrams by peer: those of a peer go out together and in order, peers in the order of their first ones.
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

// encode appends d, unless the binding it was queued for has ended: game data goes to confirmed addresses only. It
// releases d's reference. After a panic it closes the channel of this peer.
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
