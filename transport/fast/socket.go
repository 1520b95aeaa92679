package fast

import (
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport"
)

// datagramMax is the largest datagram in either direction, in bytes; valid ones are much smaller.
const datagramMax = 2048

// key identifies the peer of a plain datagram. Ip is the zero Addr without the same-IP rule.
type key struct {
	ip   netip.Addr
	peer messages.PeerID
}

// socket is one UDP port, with a reader and a writer. Datagrams create no state; only add does.
type socket struct {
	pool   *Pool
	conn   transport.PacketConn
	port   uint16
	silent bool // reads and discards
	out    *queue
	done   chan struct{} // closed by stop
	inHand *Association  // whose datagram the reader handles; of the reader
	turn   uint64        // batches so far; of the writer

	// mu guards both maps. The reader holds it during a lookup, and never while it calls a handler.
	mu    sync.RWMutex
	peers map[key]*Association
	ids   map[messages.PeerID]*namesakes // of peers, by their ids
}

// namesakes are the associations of a socket whose peers, in different game sessions, have the same id.
type namesakes struct {
	all  []*Association
	next time.Duration // when a datagram from elsewhere is looked at again; the reader's own
}

// strayEvery is the least time between two checks of the namesakes of a peer id, with which anybody can send.
const strayEvery = 250 * time.Millisecond

func newSocket(p *Pool, conn transport.PacketConn, silent bool) *socket {
	s := &socket{
		pool: p, conn: conn, silent: silent, out: newQueue(queueMax), done: make(chan struct{}),
		peers: make(map[key]*Association), ids: make(map[messages.PeerID]*namesakes),
	}
	if addr, ok := conn.LocalAddr().(*net.UDPAddr); ok {
		s.port = uint16(addr.Port)
	}
	return s
}

// start starts the goroutines; a silent socket needs no writer.
func (s *socket) start() {
	s.pool.running.Go(s.read)
	if !s.silent {
		s.pool.running.Go(s.write)
	}
}

// stop makes the goroutines end. Called once.
func (s *socket) stop() error {
	close(s.done)
	s.out.close()
	return s.conn.Close()
}

// add registers a, which receives from then on. It returns false if its key is in use.
func (s *socket) add(a *Association) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.peers[a.key] != nil {
		return false
	}
	a.sock, a.port = s, s.port
	s.peers[a.key] = a
	n := s.ids[a.peer]
	if n == nil {
		n = new(namesakes)
		s.ids[a.peer] = n
	}
	a.index = int32(len(n.all))
	n.all = append(n.all, a)
	return true
}

func (s *socket) remove(a *Association) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.peers[a.key] != a {
		return
	}
	delete(s.peers, a.key)
	n := s.ids[a.peer]
	last := len(n.all) - 1
	n.all[a.index] = n.all[last]
	n.all[a.index].index = a.index
	n.all[last] = nil
	if n.all = n.all[:last]; last == 0 {
		delete(s.ids, a.peer)
	}
}

// find returns the association of a key, or whether the peer exists at another IP address.
func (s *socket) find(k key) (a *Association, elsewhere bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	a = s.peers[k]
	return a, a == nil && s.ids[k.peer] != nil
}

// stray handles a datagram that names a peer and comes from an IP address without such a peer. A NAT may have changed one of
// these peers' addresses; only the number tells whose. The only effect is that this peer is served by WebSocket until it is
// heard from its own address again.
func (s *socket) stray(from netip.AddrPort, peer messages.PeerID, number int32, now time.Duration) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n := s.ids[peer]
	if n == nil || now < n.next {
		return
	}
	n.next = now + strayEvery
	for _, a := range n.all {
		a.elsewhere(from, number, now)
	}
}

func (s *socket) all() []*Association {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Collect(maps.Values(s.peers))
}

// read is the reader. Only closing the socket ends it.
func (s *socket) read() {
	buf := make([]byte, datagramMax+1)
	for !s.readSome(buf) {
	}
}

// readSome reads until the socket is closed, or returns false after a panic, which closes the channel of that datagram's peer.
func (s *socket) readSome(buf []byte) (done bool) {
	defer transport.Rescue(s.pool.opt.Counters, &s.pool.opt.Log, "fast channel reader", func(any) {
		if a := s.inHand; a != nil {
			s.inHand = nil
			a.Close()
		}
	})
	transport.ReadDatagrams(s.conn, buf, s.done, func(from netip.AddrPort, datagram []byte) {
		if len(datagram) > datagramMax {
			s.pool.refuse(counters.DropFastMalformed, from, messages.NoPeer, s.pool.now())
		} else {
			s.handle(from, datagram)
		}
	})
	return true
}

// handle passes one datagram of at most datagramMax bytes to its association: one unit, and bytes behind it that are ignored
// (realtime.md 2). Only the reader calls it. It allocates nothing.
func (s *socket) handle(from netip.AddrPort, datagram []byte) {
	if s.silent {
		s.pool.opt.Counters.Dropped.Add(counters.DropFastOff, 1)
		return
	}
	now := s.pool.now()
	var h wire.Header
	packet, err := h.ParseUnit(datagram)
	if err != nil {
		s.pool.refuse(counters.DropFastMalformed, from, messages.NoPeer, now)
		return
	}
	peer := messages.PeerID(h.Sender)
	a, elsewhere := s.find(s.pool.keyOf(from.Addr(), peer))
	switch {
	case a != nil:
		s.inHand = a
		a.receive(from, &h, packet, len(datagram), now)
		s.inHand = nil
	case elsewhere:
		s.stray(from, peer, h.Sequence, now)
		s.pool.refuse(counters.DropFastWrongAddress, from, peer, now)
	default:
		s.pool.refuse(counters.DropFastUnknownSender, from, peer, now)
	}
}
