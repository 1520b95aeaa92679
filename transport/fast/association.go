package fast

import (
	"math"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// Handler receives the packets of an Association. If it also implements zerolog.LogObjectMarshaler, it identifies the
// player in log lines. A peer id alone is ambiguous, because many game sessions use the same ids.
type Handler interface {
	// OnFast handles one packet, without its length, that came from the peer's bound address with a new number. It gets
	// all packets except -5 and -7, including built-in commands. The packet is well formed and valid only during the
	// call. Its sender field is the peer. Calls come from the socket's reader, one at a time for each association. A
	// call delays all peers of the socket, so it must not block. It must not call Pool.Close.
	OnFast(packet []byte)
}

// frameMax is the largest Len of a frame that Send accepts, in bytes. A larger one would exceed datagramMax.
const frameMax = datagramMax - 7

// numberSize is the most bytes that a number adds to a unit: a tag and a varint.
const numberSize = 6

// Association is one logged-in peer on one socket. No method blocks. All methods are safe for
// concurrent use. After Close they have no effect.
type Association struct {
	pool    *Pool
	sock    *socket // nil if no socket was left for it; then it never becomes ready
	key     key
	peer    messages.PeerID
	port    uint16
	handler Handler

	// live is the current value of life while the binding is confirmed, otherwise 0. It is written under mu.
	live atomic.Uint32

	// mu makes the order of numbers the same as the order in the socket's queue. Lock order: mu, then the queue's mu.
	mu     sync.Mutex
	bind   *binding // nil while unbound; created for the first datagram
	number int32    // number of the next datagram to the peer
	life   uint32   // counts the changes of bind, starting at 1
	closed bool

	index int32 // index in the socket's list of namesakes; guarded by the socket's mu

	// outgoing is used by the socket's writer. last is the index of the peer's last datagram in the batch of that turn.
	outgoing struct {
		turn uint64
		last int32
	}
}

// Port returns the port to announce as fastPort. It never changes.
func (a *Association) Port() uint16 { return a.port }

// Ready reports whether fast messages use UDP, which they do once the address is confirmed
// (realtime.md 7.3). It costs one atomic load.
func (a *Association) Ready() bool { return a.live.Load() != 0 }

// Send queues f for the peer with the next number of the peer's series (realtime.md 9). It retains its own reference to f; the
// caller keeps its reference. It returns false if f is not queued: the association is not ready, the socket's queue is full,
// or f is over 2041 bytes. The last two cases are counted. The caller checks that the payload fits the channel (1200 bytes).
func (a *Association) Send(f *wire.Frame) bool {
	if a.live.Load() == 0 {
		return false
	}
	if f.Len() > frameMax {
		a.pool.opt.Counters.Dropped.Add(counters.DropPayloadTooLarge, 1)
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	life := a.live.Load()
	return life != 0 && a.push(f, life)
}

// push numbers f and queues it for the bound address. If it cannot queue f, it does not use up a number. The caller holds mu.
func (a *Association) push(f *wire.Frame, life uint32) bool {
	if a.number == math.MaxInt32 { // clients do not support wrap-around, so this login can send no more
		return false
	}
	d := datagram{frame: f.Retain(), to: a.bind.addr, owner: a, number: a.number, life: life}
	if !a.sock.out.push(d) {
		f.Release()
		a.pool.opt.Counters.Dropped.Add(counters.DropFastQueueFull, 1)
		return false
	}
	a.number++
	return true
}

// Close ends the association and frees its peer id and address on the socket. It is idempotent. One packet that was
// accepted before may still reach the handler. Queued datagrams are dropped.
func (a *Association) Close() {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return
	}
	a.closed = true
	a.publish(false)
	a.mu.Unlock()
	if a.sock != nil {
		a.sock.remove(a)
	}
}

// Restart is called when the peer reports, on its authenticated reliable channel, that it receives nothing here. The
// association is then not ready until the peer has confirmed an address again. A contested association stays off.
func (a *Association) Restart() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed && a.bind != nil && a.bind.restart() {
		a.publish(false)
		a.pool.opt.Counters.Fallbacks.Add(counters.UDP, 1)
	}
}

// publish makes the state of the binding visible to Ready, Send and the writer. The caller holds mu.
func (a *Association) publish(ready bool) {
	if a.life++; a.life == 0 { // 0 is reserved for acks
		a.life = 1
	}
	was := a.live.Load() != 0
	if ready {
		a.live.Store(a.life)
	} else {
		a.live.Store(0)
	}
	gauge := &a.pool.opt.Counters.Connections
	switch {
	case ready && !was:
		gauge.Add(counters.UDP, 1)
	case was && !ready:
		gauge.Add(counters.UDP, -1)
	}
}

// receive passes on a well-formed packet if the binding's rules allow it. size is the size of its
// datagram, in bytes. The socket's reader calls it.
func (a *Association) receive(from netip.AddrPort, h *wire.Header, packet []byte, size int, now time.Duration) {
	k := kindOf(h.OpCode)
	// The answer may be at most three times as large as the request (RL-27). Known clients send a -5 that is large enough.
	if k == connect && 3*size < a.ackMax() {
		a.pool.refuse(counters.DropFastMalformed, from, a.peer, now)
		return
	}
	d := a.decide(from, k, h.Sequence, now)
	if d.change != unchanged {
		a.logChange(d.change, from)
	}
	switch d.action {
	case discard:
		a.pool.refuse(d.drop, from, a.peer, now)
	case deliver:
		a.handler.OnFast(packet)
	}
}

// decide applies the rules of the binding, publishes the change and queues the answer.
func (a *Association) decide(from netip.AddrPort, k kind, number int32, now time.Duration) decision {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return refused(counters.DropFastUnknownSender)
	}
	if a.bind == nil {
		a.bind = &binding{state: unbound, anyIP: !a.pool.opt.SameIP}
	}
	d := a.bind.receive(from, k, number, now)
	if d.change != unchanged {
		a.publish(a.bind.state == confirmed)
	}
	if d.action == reply {
		ack := wire.NewServerAck(int32(a.peer))
		a.push(ack, 0)
		ack.Release()
	}
	return d
}

// ackMax returns the size of the largest -6, in bytes.
func (a *Association) ackMax() int {
	ack := wire.NewServerAck(int32(a.peer))
	defer ack.Release()
	return ack.Len() + numberSize
}

// elsewhere handles a datagram that names the peer but comes from another IP address.
func (a *Association) elsewhere(from netip.AddrPort, number int32, now time.Duration) {
	a.mu.Lock()
	d := refused(counters.DropFastUnknownSender)
	if !a.closed && a.bind != nil && a.bind.state == confirmed {
		d = a.bind.elsewhere(number, now)
	}
	if d.change != unchanged {
		a.publish(false)
	}
	a.mu.Unlock()
	if d.change != unchanged {
		a.logChange(d.change, from)
	}
}

func kindOf(op int32) kind {
	switch op {
	case wire.OpUDPConnect:
		return connect
	case wire.OpClientAck:
		return clientAck
	}
	return data
}

func (a *Association) logChange(c change, from netip.AddrPort) {
	log, count := &a.pool.opt.Log, a.pool.opt.Counters
	about := func(e *zerolog.Event) *zerolog.Event { return aboutPeer(e, a.handler, a.peer).Stringer("remote", from) }
	switch c {
	case nowBound, nowRebound:
		about(log.Debug()).Msg("fast channel address known")
	case nowConfirmed:
		about(log.Debug()).Msg("fast channel confirmed")
	case nowMoved:
		count.Moves.Add(counters.UDP, 1)
		about(log.Info()).Msg("fast channel moved")
	case nowDoubted:
		count.Fallbacks.Add(counters.UDP, 1)
		about(log.Info()).Msg("fast channel silent, and its player heard from elsewhere: served by WebSocket")
	case nowContested:
		about(log.Warn()).Msg("fast channel off for this login: two active addresses")
	}
}

// aboutPeer adds to a log line which player the fast channel belongs to.
func aboutPeer(e *zerolog.Event, h Handler, peer messages.PeerID) *zerolog.Event {
	if known, ok := h.(zerolog.LogObjectMarshaler); ok {
		return e.EmbedObject(known)
	}
	return e.Int32("peer", int32(peer))
}
