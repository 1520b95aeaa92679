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

// datagramMax is the largest datagram in either direction, in bytes. Valid ones are much smaller.
const datagramMax = 2048

// key identifies the peer of a plain datagram. ip is the zero Addr if the same-IP rule is off.
type key struct {
	ip   netip.Addr
	peer messages.PeerID
}

// socket is one UDP port with a reader and a writer. Only add creates state; datagrams do not.
type socket struct {
	pool   *Pool
	conn   transport.PacketConn
	port   uint16
	silent bool // it reads and discards everything
	out    *queue
	done   chan struct{} // closed by stop
	inHand *Association  // association whose datagram the reader is handling; owned by the reader
	turn   uint64        // batches so far; owned by the writer

	// mu guards both maps. The reader holds it during a lookup, but not while it calls a handler.
	mu    sync.RWMutex
	peers map[key]*Association
	ids   map[messages.PeerID]*namesakes // the associations of peers, by peer id alone
}

// namesakes are the associations of a socket that have the same peer id. Their peers are in different game sessions.
type namesakes struct {
	all  []*Association
	next time.Duration // earliest time of the next check in stray; owned by the reader
}

// strayEvery is the shortest time between two checks of the namesakes of a peer id. Anybody can send datagrams with a peer id.
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

// start starts the goroutines. A silent socket needs no writer.
func (s *socket) start() {
	s.pool.running.Go(s.read)
	if !s.silent {
		s.pool.running.Go(s.write)
	}
}

// stop makes the goroutines end. It is called once.
func (s *socket) stop() error {
	close(s.done)
	s.out.close()
	return s.conn.Close()
}

// add registers a, which receives datagrams from then on. It returns false if its key is in use.
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

// find returns the association of a key. If there is none, it reports whether the peer id exists at another IP address.
func (s *socket) find(k key) (a *Association, elsewhere bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	a = s.peers[k]
	return a, a == nil && s.ids[k.peer] != nil
}

// stray handles a datagram that names a peer id but comes from an IP address that no such peer has. A NAT may have
// changed the address of one of these peers; only the number tells which one. The only effect is that this peer is
// served by WebSocket until it is heard from its own address again.
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

// read is the reader goroutine. It ends only when the socket is closed.
func (s *socket) read() {
	buf := make([]byte, datagramMax+1)
	for !s.readSome(buf) {
	}
}

// readSome reads until the socket is closed. After a panic it returns false and closes the
// association whose datagram caused the panic.
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

// handle passes one datagram of at most datagramMax bytes to its association. The datagram is one unit; bytes after it
// are ignored (realtime.md 2). Only the reader calls handle. It allocates nothing.
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
