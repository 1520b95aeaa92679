package faults

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	datagramMax = 64 << 10
	// associationsMax bounds the player's addresses that are known; the oldest is forgotten. A client has one at a time.
	associationsMax = 16
	// onTheWayMax bounds the delayed datagrams of an association, in both directions; more are dropped.
	onTheWayMax = 1024
	// queueMax is how far a bounded rate may fall behind before datagrams are dropped.
	queueMax = time.Second
)

// association is one address of the player's, with a socket of its own towards the host.
type association struct {
	player   *net.UDPAddr
	host     *net.UDPConn // guarded by Path.mu: a rebind replaces it
	since    time.Time
	onTheWay atomic.Int64
	up, down rate
}

// rate is how far a bounded rate has fallen behind.
type rate struct {
	mu   sync.Mutex
	free time.Time // guarded by mu
}

// pass returns when a datagram that takes so long has passed; false: it is dropped.
func (r *rate) pass(takes time.Duration) (time.Duration, bool) {
	if takes == 0 {
		return 0, true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.free.Before(now) {
		r.free = now
	}
	if r.free.Sub(now) > queueMax {
		return 0, false
	}
	r.free = r.free.Add(takes)
	return r.free.Sub(now), true
}

// readPlayer takes the player's datagrams.
func (p *Path) readPlayer() {
	buffer := make([]byte, datagramMax)
	for {
		n, from, err := p.socket.ReadFromUDP(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		a := p.associate(from)
		if a == nil {
			continue
		}
		p.use()
		p.carry(a, p.up, &a.up, buffer[:n], func(b []byte) {
			p.mu.Lock()
			host := a.host
			p.mu.Unlock()
			_, _ = host.Write(b)
		})
	}
}

// carry lets one datagram pass, once or twice, later or never.
func (p *Path) carry(a *association, d *direction, r *rate, b []byte, send func([]byte)) {
	for range d.copies(len(b)) {
		p.carryOnce(a, d, r, b, send)
	}
}

func (p *Path) carryOnce(a *association, d *direction, r *rate, b []byte, send func([]byte)) {
	if silent, _ := d.quiet(); silent {
		return
	}
	lost, delay, takes := d.draw(len(b))
	if lost {
		return
	}
	behind, ok := r.pass(takes)
	if !ok {
		return
	}
	if delay += behind; delay == 0 {
		send(b)
		return
	}
	if a.onTheWay.Add(1) > onTheWayMax {
		a.onTheWay.Add(-1)
		return
	}
	kept := append([]byte(nil), b...)
	time.AfterFunc(delay, func() { // after Close its socket is closed
		a.onTheWay.Add(-1)
		if silent, _ := d.quiet(); !silent {
			send(kept)
		}
	})
}

// associate returns the association of a player's address; nil if there can be none.
func (p *Path) associate(from *net.UDPAddr) *association {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.associations[from.String()]; a != nil {
		return a
	}
	if p.closed || p.udp == "" {
		return nil
	}
	if len(p.associations) >= associationsMax {
		var oldest *association
		for _, a := range p.associations {
			if oldest == nil || a.since.Before(oldest.since) {
				oldest = a
			}
		}
		delete(p.associations, oldest.player.String())
		_ = oldest.host.Close()
	}
	a := &association{player: from, since: time.Now()}
	if !p.open(a) {
		return nil
	}
	p.associations[from.String()] = a
	return a
}

// open gives an association a socket, with a port of its own. The caller holds p.mu.
func (p *Path) open(a *association) bool {
	addr, err := net.ResolveUDPAddr("udp", p.udp)
	if err != nil {
		return false
	}
	host, err := net.DialUDP("udp", nil, addr)
	if err != nil {
		return false
	}
	a.host = host
	p.work.Go(func() { p.readHost(a, host) })
	return true
}

// readHost takes the host's datagrams for one socket.
func (p *Path) readHost(a *association, host *net.UDPConn) {
	buffer := make([]byte, datagramMax)
	for {
		n, err := host.Read(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // nobody listens there: each datagram that was sent is told once
		}
		p.carry(a, p.down, &a.down, buffer[:n], func(b []byte) { _, _ = p.socket.WriteToUDP(b, a.player) })
	}
}

// rebindUDP gives all associations new ports; of a closed path it ends them.
func (p *Path) rebindUDP() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, a := range p.associations {
		old := a.host
		if p.closed || p.udp == "" || !p.open(a) {
			delete(p.associations, key)
		}
		_ = old.Close()
	}
}
