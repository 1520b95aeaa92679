package fast

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"troupe/messages"
	"troupe/transport"
)

// Errors of Open.
var (
	// ErrClosed means that the pool is closed.
	ErrClosed = errors.New("fast: pool is closed")
	// ErrPeer means that the peer id is not that of a player.
	ErrPeer = errors.New("fast: peer id is not positive")
)

// bindRetry is the pause after a failed attempt to bind an extra socket.
const bindRetry = 10 * time.Second

// Pool is the fast channel of one process. It has up to 65 sockets and one that only discards input. They stay open
// until Close. All methods are safe for concurrent use.
type Pool struct {
	opt     Options
	started time.Time
	running sync.WaitGroup // readers and writers

	host    string // host of all sockets
	anyPort bool   // the main port was 0, so extra sockets use any free port

	socketsMax int // tests set a smaller value

	refusals    [64]sampler // one for each drop reason
	writeErrors sampler
	placeErrors sampler

	// mu guards the fields below. Lock order: mu, then a socket's mu.
	mu       sync.Mutex
	next     uint16    // port of the range to try next
	sockets  []*socket // sockets that accept associations; the first is the main one
	muted    *socket   // discards input; its port is announced for associations without a socket
	notUntil time.Duration
	closed   bool
	main     *socket
}

// Listen binds the main socket and serves it until Close.
func Listen(opt Options) (*Pool, error) {
	opt = opt.filled()
	host, port, err := opt.validate()
	if err != nil {
		return nil, err
	}
	p := &Pool{
		opt: opt, started: opt.Now(), socketsMax: 1 + extraSocketsMax, host: host, anyPort: port == 0, next: opt.ExtraPortsMin,
	}
	conn, err := p.bind(port)
	if err != nil {
		return nil, err
	}
	p.main = newSocket(p, conn, !opt.Enabled)
	if opt.Enabled {
		p.sockets = append(p.sockets, p.main)
	}
	p.main.start()
	return p, nil
}

// Port returns the main port.
func (p *Pool) Port() uint16 { return p.main.port }

// Open registers a logged-in peer whose WebSocket comes from ip. It uses the first
// socket on which no other association has the same peer id and IP address (with
// SameIP off: the same peer id). If no socket is free, ip is not valid, or the channel
// is disabled, Open succeeds, but the association never becomes ready.
//
// Every login opens a new association, with numbers from 0 in both directions. If
// the association of the previous login is closed first, the port can stay the same.
func (p *Pool) Open(peer messages.PeerID, ip netip.Addr, h Handler) (*Association, error) {
	if peer <= messages.NoPeer {
		return nil, ErrPeer
	}
	a := &Association{pool: p, peer: peer, key: p.keyOf(ip.Unmap(), peer), handler: h}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	switch {
	case !p.opt.Enabled:
		a.port = p.main.port
	case ip.IsValid() && p.assignSocket(a): // assignSocket has succeeded: a receives datagrams from now on
	default:
		a.port = p.mutedPort()
	}
	return a, nil
}

// keyOf returns the lookup key of a datagram from ip that names peer.
func (p *Pool) keyOf(ip netip.Addr, peer messages.PeerID) key {
	if !p.opt.SameIP {
		ip = netip.Addr{}
	}
	return key{ip: ip, peer: peer}
}

// assignSocket adds a to a socket, and opens an extra socket if necessary. The caller holds mu.
func (p *Pool) assignSocket(a *Association) bool {
	for _, s := range p.sockets {
		if s.add(a) {
			return true
		}
	}
	if len(p.sockets) >= p.socketsMax {
		p.logNoPlace(nil)
		return false
	}
	p.mutedPort() // reserve its port before the range is used up
	s := p.another(false)
	if s == nil {
		return false
	}
	p.sockets = append(p.sockets, s)
	return s.add(a)
}

// mutedPort returns the port for a peer without a socket. It is a bound port that never answers, so the peer's handshakes
// cannot be mistaken for those of another peer. If no such port can be bound, it is the main port. The caller holds mu.
func (p *Pool) mutedPort() uint16 {
	if p.muted == nil {
		p.muted = p.another(true)
	}
	if p.muted == nil {
		return p.main.port
	}
	return p.muted.port
}

// another binds and starts an extra socket. It returns nil if that fails. The caller holds mu.
func (p *Pool) another(silent bool) *socket {
	now := p.now()
	if now < p.notUntil {
		return nil
	}
	conn, err := p.bindFurther()
	if err != nil {
		p.notUntil = now + bindRetry
		p.logNoPlace(err)
		return nil
	}
	s := newSocket(p, conn, silent)
	s.start()
	return s
}

// bindFurther binds the next free port of the range. It tries each port once. The caller holds mu.
func (p *Pool) bindFurther() (transport.PacketConn, error) {
	if p.anyPort {
		return p.bind(0)
	}
	least, most := p.opt.ExtraPortsMin, p.opt.ExtraPortsMax
	for range int(most) - int(least) + 1 {
		port := p.next
		if p.next++; p.next > most || p.next < least { // next < least: next has wrapped around after 65535
			p.next = least
		}
		if conn, err := p.bind(port); err == nil {
			return conn, nil
		}
	}
	return nil, errors.New("fast: no free port in the range")
}

func (p *Pool) bind(port uint16) (transport.PacketConn, error) {
	return p.opt.ListenPacket("udp", net.JoinHostPort(p.host, strconv.Itoa(int(port))))
}

func (p *Pool) logNoPlace(err error) {
	if skipped, ok := p.placeErrors.allow(p.now()); ok {
		p.opt.Log.Warn().Err(err).Int("sockets", len(p.sockets)).Int64("skipped", skipped).
			Msg("no fast channel socket left for a peer id and address")
	}
}

func (p *Pool) now() time.Duration { return p.opt.Now().Sub(p.started) }

// Close closes all associations and sockets, and waits for their goroutines. A Handler must not call it. Close is idempotent.
func (p *Pool) Close() error {
	p.mu.Lock()
	already := p.closed
	p.closed = true
	sockets := append([]*socket{}, p.sockets...)
	if !p.opt.Enabled {
		sockets = append(sockets, p.main)
	}
	if p.muted != nil {
		sockets = append(sockets, p.muted)
	}
	p.mu.Unlock()

	var errs []error
	if !already {
		for _, s := range sockets {
			for _, a := range s.all() {
				a.Close()
			}
			errs = append(errs, s.stop())
		}
	}
	p.running.Wait()
	return errors.Join(errs...)
}
