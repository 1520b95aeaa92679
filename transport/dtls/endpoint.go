package dtls

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"troupe/messages/counters"
	"troupe/transport"
)

// Endpoint is one UDP socket and all associations on it. All methods are safe for concurrent use.
type Endpoint struct {
	o        Options
	acceptor Acceptor
	conn     transport.PacketConn
	out      sender
	arrivals *arrivals
	sessions *Sessions
	hellos   *rate.Limiter // nil for no limit
	rates    *sourceRates  // nil for no limit
	started  time.Time
	roaming  roaming // owned by the reader
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup

	// mu guards the fields below. It is never held while a handler is called.
	mu      sync.Mutex
	peers   map[netip.AddrPort]*Association
	byIP    map[netip.Addr][]*Association // by the peer's IP address
	halves  map[netip.AddrPort]*half
	perIP   map[netip.Prefix]int // number of halves per source
	waiting halves               // halves whose address is not proven, oldest first
	closed  bool
}

// Listen binds the socket and serves it until Close.
func Listen(o Options, acceptor Acceptor) (*Endpoint, error) {
	o = o.filled()
	switch {
	case o.Certificate == nil:
		return nil, errors.New("dtls: no certificate")
	case o.Timeout < 0:
		return nil, errors.New("dtls: Timeout is negative")
	}
	conn := o.Conn
	if conn == nil {
		var err error
		if conn, err = transport.ListenUDP(o.Addr); err != nil {
			return nil, err
		}
	}
	e := &Endpoint{o: o, acceptor: acceptor, conn: conn, out: newSender(conn), arrivals: newArrivals(conn), sessions: newSessions(sessionsMax),
		peers: make(map[netip.AddrPort]*Association), byIP: make(map[netip.Addr][]*Association), started: time.Now(), roaming: roaming{left: roamPerSecond},
		halves: make(map[netip.AddrPort]*half), perIP: make(map[netip.Prefix]int)}
	if o.HelloRate > 0 {
		e.hellos = rate.NewLimiter(rate.Limit(o.HelloRate), max(o.HalfOpenMax, 1))
	}
	if o.HelloRatePerIP > 0 {
		e.rates = newSourceRates(o.HelloRatePerIP)
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.running.Go(e.read)
	return e, nil
}

// Addr returns the listening address, with the actual port.
func (e *Endpoint) Addr() net.Addr { return e.conn.LocalAddr() }

// Port returns the listening port.
func (e *Endpoint) Port() uint16 {
	if addr, ok := e.conn.LocalAddr().(*net.UDPAddr); ok {
		return uint16(addr.Port)
	}
	return 0
}

// Close ends all associations and handshakes, closes the socket, and waits for all goroutines of the endpoint. A
// Handler must not call it. Close is idempotent.
func (e *Endpoint) Close() error {
	e.mu.Lock()
	already := e.closed
	e.closed = true
	all := slices.Collect(maps.Values(e.peers))
	e.mu.Unlock()
	var err error
	if !already {
		for _, a := range all {
			a.Close()
		}
		e.cancel()
		err = e.conn.Close()
	}
	e.running.Wait()
	return err
}

// read is the reader goroutine. It ends only when the socket is closed.
func (e *Endpoint) read() {
	buf := make([]byte, datagramMax+1)
	for !e.readSome(buf) {
	}
}

// readSome reads until the socket is closed or a panic occurs. A panic ends the association and the
// handshake of the address that sent the datagram.
func (e *Endpoint) readSome(buf []byte) (done bool) {
	var from netip.AddrPort
	defer transport.Rescue(e.o.Counters, &e.o.Log, "DTLS reader", func(any) { e.endPeer(from) })
	transport.ReadDatagrams(e.conn, buf, e.ctx.Done(), func(sender netip.AddrPort, datagram []byte) {
		if from = sender; len(datagram) > datagramMax {
			e.drop(counters.RecordTooLarge)
		} else {
			e.handle(from, datagram)
		}
	})
	return true
}

// endPeer ends the association and the handshake of an address, if any.
func (e *Endpoint) endPeer(from netip.AddrPort) {
	e.mu.Lock()
	a, h := e.peers[from], e.halves[from]
	if h != nil {
		e.leave(h)
	}
	e.mu.Unlock()
	if h != nil {
		h.cancel()
	}
	if a != nil {
		a.end(ErrPanicked, true)
	}
}

func (e *Endpoint) drop(why counters.RecordDrop) { e.o.Counters.Records.Add(why, 1) }

// handle demultiplexes a datagram. Only the reader calls it. It allocates nothing if the datagram belongs to an association.
func (e *Endpoint) handle(from netip.AddrPort, datagram []byte) {
	e.mu.Lock()
	a, h := e.peers[from], e.halves[from]
	e.mu.Unlock()
	for len(datagram) > 0 {
		r, rest, drop := nextRecord(datagram)
		if drop != 0 {
			e.drop(drop)
			break
		}
		datagram = rest
		switch {
		case a != nil && r.epoch == 1:
			e.encrypted(a, h, &r)
		case h != nil:
			if h = e.current(h, &r); h != nil {
				h.take(&r)
			}
		case a != nil || r.epoch == 0:
			if h = e.plain(from, a, &r); h != nil {
				h.take(&r)
			}
		case a == nil && e.roam(from, &r):
		default:
			e.drop(counters.RecordUnknownAddress)
		}
	}
	if h != nil {
		h.flush()
	}
}

// encrypted processes a record of epoch 1 from the address of an association. h is a handshake of the same address, or nil.
func (e *Endpoint) encrypted(a *Association, h *half, r *record) {
	if h == nil {
		if drop := a.receive(r); drop != 0 {
			e.drop(drop)
			return
		}
		a.heard.Store(int64(e.now()))
		return
	}
	// A record that the association rejects may be the first encrypted record of the handshake. A failed
	// decryption destroys the bytes, so keep a copy.
	spare := *r
	spare.raw = append([]byte(nil), r.raw...)
	spare.fragment = spare.raw[headerSize:]
	if a.receive(r) != 0 {
		h.take(&spare)
	}
}

// plain processes a record of epoch 0 from an address without a handshake. If the record begins a handshake, plain returns it.
func (e *Endpoint) plain(from netip.AddrPort, a *Association, r *record) *half {
	hello, ok := readClientHello(r)
	switch {
	case ok:
		return e.begin(from, hello)
	case a != nil && (r.typ == handshake || r.typ == changeCipherSpec):
		a.resend()
	case a != nil:
		e.drop(counters.RecordPlainAfter)
	case r.typ == handshake:
		e.drop(counters.RecordHelloMalformed)
	default:
		e.drop(counters.RecordUnknownAddress)
	}
	return nil
}

// current returns the handshake that a record belongs to. While the address of h is not proven, a ClientHello with
// another random replaces h: h was forged, or its client has started again.
func (e *Endpoint) current(h *half, r *record) *half {
	if r.epoch != 0 || r.typ != handshake || h.pipe.isProven() {
		return h
	}
	hello, ok := readClientHello(r)
	if !ok || hello.random == h.filter.random {
		return h
	}
	e.mu.Lock()
	e.leave(h)
	e.mu.Unlock()
	h.evict()
	return e.begin(h.from, hello)
}

// begin starts a handshake, if the limits allow it.
func (e *Endpoint) begin(from netip.AddrPort, hello clientHello) *half {
	key := transport.SourceOf(from.Addr())
	e.mu.Lock()
	defer e.mu.Unlock()
	if refused := e.admit(from, key, hello); refused != 0 {
		e.o.Counters.Handshakes.Add(refused, 1)
		return nil
	}
	h := newHalf(e, from, key, hello)
	e.halves[from] = h
	e.perIP[key]++
	e.waiting.Add(&h.unproven, h)
	e.running.Go(h.run)
	return h
}

// cookieTime is how long a peer may take to prove its address, counted from this host's first answer. Only then may a newer
// handshake from the same address evict its handshake. Without this time, many clients behind one address would evict each
// other's handshakes, and an evicted client notices that only at its timeout. The time does not include the host's own delay;
// otherwise a busy host would evict every handshake it has begun. A client whose hello is refused sends it again within a second.
const cookieTime = 250 * time.Millisecond

// owedMax is how long a handshake may wait for this host's first answer. The library never answers some hellos.
const owedMax = time.Second

// admit applies the limits. If a limit on open handshakes is reached, it evicts the oldest handshake whose address is
// not proven. Forged hellos never prove an address, so they cannot keep out real clients. It takes tokens of the rate
// limits only if the handshake is admitted. The caller holds mu.
func (e *Endpoint) admit(from netip.AddrPort, key netip.Prefix, hello clientHello) counters.HandshakeOutcome {
	now := time.Now()
	switch {
	case e.closed, hello.suite == 0:
		return counters.HandshakeFailed
	case len(e.peers) >= peersMax && e.peers[from] == nil:
		return counters.HandshakeRefusedFull
	case !e.rates.has(key, now), e.hellos != nil && e.hellos.TokensAt(now) < 1:
		return counters.HandshakeRefusedRate
	}
	var older *half // to be evicted
	if e.o.HalfOpenPerIP > 0 && e.perIP[key] >= e.o.HalfOpenPerIP {
		if older = e.waiting.oldestOf(key, now); older == nil {
			return counters.HandshakeRefusedPerIP
		}
	}
	if e.o.HalfOpenMax > 0 && len(e.halves) >= e.o.HalfOpenMax && older == nil {
		if older = e.waiting.oldest(); older == nil {
			return counters.HandshakeRefusedTotal
		}
	}
	e.rates.take(key)
	if e.hellos != nil {
		e.hellos.AllowN(now, 1)
	}
	if older != nil {
		e.leave(older)
		older.evict()
	}
	return 0
}

// leave removes a handshake from the tables, if it is still there. The caller holds mu.
func (e *Endpoint) leave(h *half) {
	if e.halves[h.from] != h {
		return
	}
	delete(e.halves, h.from)
	e.waiting.Remove(&h.unproven)
	if e.perIP[h.source]--; e.perIP[h.source] == 0 {
		delete(e.perIP, h.source)
	}
}

// establish puts the association of a handshake into the tables. It replaces an older association of the address. It
// returns false if the endpoint is closed or the handshake was evicted.
func (e *Endpoint) establish(h *half, a *Association) bool {
	e.mu.Lock()
	if e.closed || e.halves[h.from] != h || a.closed.Load() {
		e.mu.Unlock()
		return false
	}
	e.leave(h)
	old := e.peers[h.from]
	if old != nil {
		e.strike(old)
	}
	e.enter(a)
	e.mu.Unlock()
	if old != nil {
		old.end(ErrReplaced, false)
	}
	return true
}

func (e *Endpoint) forget(a *Association) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.strike(a)
}

// enter adds an association to the tables. strike removes it if it is there. The caller holds mu.
func (e *Endpoint) enter(a *Association) {
	remote := a.RemoteAddr()
	a.heard.Store(int64(e.now()))
	e.peers[remote] = a
	a.ipIndex = len(e.byIP[remote.Addr()])
	e.byIP[remote.Addr()] = append(e.byIP[remote.Addr()], a)
}

func (e *Endpoint) strike(a *Association) {
	if a.ipIndex < 0 {
		return
	}
	remote := a.RemoteAddr()
	delete(e.peers, remote)
	all := e.byIP[remote.Addr()]
	last := len(all) - 1
	all[a.ipIndex] = all[last]
	all[a.ipIndex].ipIndex = a.ipIndex
	all[last] = nil
	if a.ipIndex = -1; last == 0 {
		delete(e.byIP, remote.Addr())
		return
	}
	e.byIP[remote.Addr()] = all[:last]
}

// now returns the time on the endpoint's clock.
func (e *Endpoint) now() time.Duration { return time.Since(e.started) }

// sendTo passes one datagram to the kernel. It returns false if the kernel does not accept it at once.
func (e *Endpoint) sendTo(to netip.AddrPort, datagram []byte) bool {
	ok := e.out.send(datagram, to)
	e.o.Counters.Writes.Add(e.o.Channel, 1)
	if ok {
		e.o.Counters.BytesOut.Add(e.o.Channel, int64(len(datagram)))
	}
	return ok
}
