package faults

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"

	"troupe/transport"
)

// tcpPause is how long a lost packet delays a TCP stream. It is Linux's minimum retransmission timeout.
const tcpPause = 200 * time.Millisecond

// direction holds the network conditions of one direction of a path.
type direction struct {
	mu      sync.Mutex // guards the fields below
	active  []*Conditions
	now     Conditions    // combination of all active conditions
	changed chan struct{} // closed at the next change
	random  *rand.Rand
}

func newDirection(seed, index uint64) *direction {
	return &direction{changed: make(chan struct{}), random: rand.New(rand.NewPCG(seed, index))}
}

// begin adds conditions. end removes them.
func (d *direction) begin(c *Conditions) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.active = append(d.active, c)
	d.update()
}

func (d *direction) end(c *Conditions) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, known := range d.active {
		if known == c {
			d.active = append(d.active[:i:i], d.active[i+1:]...)
			break
		}
	}
	d.update()
}

func (d *direction) update() {
	d.now = Conditions{}
	pass, once := 1.0, 1.0
	for _, c := range d.active {
		d.now.Delay += c.Delay
		d.now.Jitter += c.Jitter
		pass *= 1 - c.Loss
		d.now.silent = d.now.silent || c.silent
		if c.Rate > 0 && (d.now.Rate == 0 || c.Rate < d.now.Rate) {
			d.now.Rate = c.Rate
		}
		if c.MTU > 0 && (d.now.MTU == 0 || c.MTU < d.now.MTU) {
			d.now.MTU = c.MTU
		}
		once *= 1 - c.Duplicate
	}
	d.now.Loss, d.now.Duplicate = 1-pass, 1-once
	close(d.changed)
	d.changed = make(chan struct{})
}

// quiet reports whether the direction is silent. The returned channel is closed when that may have changed.
func (d *direction) quiet() (bool, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now.silent, d.changed
}

// draw decides the fate of one packet of n bytes: whether it is lost, how long it is delayed, and how long its
// transmission takes at the current rate.
func (d *direction) draw(n int) (lost bool, delay, takes time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delay = time.Duration(d.now.Delay)
	if d.now.Jitter > 0 {
		delay += time.Duration(d.random.Int64N(int64(d.now.Jitter) + 1))
	}
	if d.now.Rate > 0 {
		takes = time.Duration(n) * time.Second / time.Duration(d.now.Rate)
	}
	return d.now.Loss > 0 && d.random.Float64() < d.now.Loss, delay, takes
}

// copies returns how many copies of an IP packet of n bytes are delivered: 0 if it exceeds the MTU, 2 if it is
// duplicated, otherwise 1.
func (d *direction) copies(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.now.MTU > 0 && n > d.now.MTU:
		return 0
	case d.now.Duplicate > 0 && d.random.Float64() < d.now.Duplicate:
		return 2
	}
	return 1
}

// Path is one player's path to a host: a TCP proxy and a UDP proxy on loopback. Its methods may be called from any
// goroutine. The caller must call Close.
type Path struct {
	up, down *direction // to the host, to the player
	on       transport.Network
	listener net.Listener
	socket   transport.PacketConn
	work     sync.WaitGroup // all goroutines
	used     chan struct{}  // closed when the player has first connected or sent a datagram
	use      func()

	mu           sync.Mutex // guards the fields below
	tcp, udp     string     // host:port of the host; udp may be empty
	pairs        map[*pair]struct{}
	associations map[netip.AddrPort]*association // by the player's address
	closed       bool
}

// ListenPath opens a path for one player and listens at addr. A nil network is that of the operating system. With port
// 0, TCP and UDP get different free ports. tcp and udp are the host's addresses as host:port. If udp is empty,
// datagrams are dropped.
func ListenPath(on transport.Network, addr string, seed uint64, player int, tcp, udp string) (*Path, error) {
	if on == nil {
		on = transport.System
	}
	listener, err := on.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	socket, err := on.ListenPacket("udp", addr)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	p := &Path{
		up: newDirection(seed, uint64(2*player)), down: newDirection(seed, uint64(2*player+1)), on: on, listener: listener, socket: socket,
		tcp: tcp, udp: udp, pairs: make(map[*pair]struct{}), associations: make(map[netip.AddrPort]*association), used: make(chan struct{}),
	}
	p.use = sync.OnceFunc(func() { close(p.used) })
	p.work.Go(p.accept)
	p.work.Go(p.readPlayer)
	return p, nil
}

// dial opens a TCP connection or a UDP socket to the host.
func (p *Path) dial(network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	return p.on.DialContext(ctx, network, addr)
}

// TCP returns the address for TCP connections of the player.
func (p *Path) TCP() string { return p.listener.Addr().String() }

// UDP returns the address for datagrams of the player.
func (p *Path) UDP() string { return p.socket.LocalAddr().String() }

// Used returns a channel that is closed when a client has first connected or sent a datagram.
func (p *Path) Used() <-chan struct{} { return p.used }

// Retarget changes the address of the host for new connections and for all datagrams.
func (p *Path) Retarget(tcp, udp string) {
	p.mu.Lock()
	p.tcp, p.udp = tcp, udp
	p.mu.Unlock()
	p.rebindUDP()
}

// Begin starts a fault of the path and returns a function that ends it, or nil if the fault has no length. Faults of
// the host's process must not be passed to Begin.
func (p *Path) Begin(e Event) (end func()) {
	switch e.Fault {
	case Reset:
		p.eachPair(func(c *pair) { c.abort(true) })
		p.rebindUDP()
		return nil
	case Handover:
		p.eachPair(func(c *pair) { c.abort(false) })
		p.rebindUDP()
		return nil
	case Rebind:
		p.eachPair((*pair).forget)
		p.rebindUDP()
		return nil
	}
	var both []*direction
	if e.Direction != "down" {
		both = append(both, p.up)
	}
	if e.Direction != "up" {
		both = append(both, p.down)
	}
	c := e.Conditions
	c.silent = e.Fault == Silence
	for _, d := range both {
		d.begin(&c)
	}
	return func() {
		for _, d := range both {
			d.end(&c)
		}
	}
}

func (p *Path) eachPair(do func(*pair)) {
	p.mu.Lock()
	all := make([]*pair, 0, len(p.pairs))
	for c := range p.pairs {
		all = append(all, c)
	}
	p.mu.Unlock()
	for _, c := range all {
		do(c)
	}
}

// Close ends all connections and waits until all goroutines have ended.
func (p *Path) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	err := errors.Join(p.listener.Close(), p.socket.Close())
	p.eachPair(func(c *pair) { c.abort(true); c.end() })
	p.rebindUDP()
	p.work.Wait()
	return err
}
