package faults

import (
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"time"
)

const (
	datagramMax = 64 << 10
	// headersBytes is the size of the IPv4 and UDP headers.
	headersBytes = 28
	// associationsMax bounds the number of remembered player addresses; the oldest is dropped. A client uses one
	// address at a time.
	associationsMax = 16
)

// association is one address of the player, with its own socket to the host.
type association struct {
	player   netip.AddrPort
	host     atomic.Pointer[net.Conn] // a rebind replaces the socket
	since    time.Time
	up, down lane
}

// end closes the socket and drops the packets in both lanes. The caller has removed the association from the path.
func (a *association) end() {
	a.up.close()
	a.down.close()
	_ = (*a.host.Load()).Close()
}

// readPlayer reads the player's datagrams.
func (p *Path) readPlayer() {
	buffer := make([]byte, datagramMax)
	for {
		n, from, err := p.socket.ReadFromUDPAddrPort(buffer)
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
		a.up.take(buffer[:n], n+headersBytes)
	}
}

// associate returns the association of a player's address. It returns nil if the path is closed or has no UDP address
// of the host, or if no socket can be opened.
func (p *Path) associate(from netip.AddrPort) *association {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.associations[from]; a != nil {
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
		delete(p.associations, oldest.player)
		oldest.end()
	}
	a := &association{player: from, since: time.Now()}
	a.up = lane{d: p.up, send: func(b []byte) { _, _ = (*a.host.Load()).Write(b) }}
	a.down = lane{d: p.down, send: func(b []byte) { _, _ = p.socket.WriteToUDPAddrPort(b, a.player) }}
	if !p.open(a) {
		return nil
	}
	p.associations[from] = a
	return a
}

// open gives an association a new socket with its own port. It reports whether that succeeded. The caller holds p.mu.
func (p *Path) open(a *association) bool {
	host, err := p.dial("udp", p.udp)
	if err != nil {
		return false
	}
	a.host.Store(&host)
	p.work.Go(func() { p.readHost(a, host) })
	return true
}

// readHost reads the host's datagrams from one socket.
func (p *Path) readHost(a *association, host net.Conn) {
	buffer := make([]byte, datagramMax)
	for {
		n, err := host.Read(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // nobody listens there: the kernel reports each sent datagram once
		}
		a.down.take(buffer[:n], n+headersBytes)
	}
}

// rebindUDP gives each association a new port. If the path is closed, it ends the associations instead.
func (p *Path) rebindUDP() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, a := range p.associations {
		old := a.host.Load()
		if p.closed || p.udp == "" || !p.open(a) {
			delete(p.associations, key)
			a.end()
		}
		_ = (*old).Close()
	}
}
