package memnet

import (
	"encoding/binary"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// Network is a set of addresses and the paths between them. All methods, and
// those of what it makes, may be called from any goroutine.
type Network struct {
	seed uint64

	mu        sync.Mutex // guards all that follows, and every socket of the network
	base      Condition
	paths     map[direction]*Path
	darkFrom  map[netip.Addr]bool   // what an address sends vanishes
	darkTo    map[netip.Addr]bool   // what it is sent vanishes
	dark      bool                  // everything vanishes
	nodes     uint32                // addresses given out
	ports     map[netip.Addr]uint16 // the last ephemeral port
	packets   map[netip.AddrPort]*PacketConn
	listeners map[netip.AddrPort]*Listener
	events    events
	timer     *time.Timer
	closed    bool
}

type direction struct{ from, to netip.Addr }

// New returns a network on which everything arrives at once.
func New(seed uint64) *Network {
	return &Network{
		seed: seed, paths: make(map[direction]*Path), darkFrom: make(map[netip.Addr]bool), darkTo: make(map[netip.Addr]bool),
		ports: make(map[netip.Addr]uint16), packets: make(map[netip.AddrPort]*PacketConn),
		listeners: make(map[netip.AddrPort]*Listener),
	}
}

// Node is one address on a network, where sockets are opened.
type Node struct {
	n    *Network
	addr netip.Addr
}

// Node returns a node with an address that no other has.
func (n *Network) Node() *Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nodes++
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], 10<<24|n.nodes)
	return &Node{n: n, addr: netip.AddrFrom4(b)}
}

// Addr returns the node's address.
func (d *Node) Addr() netip.Addr { return d.addr }

// SetAll gives every path this condition, those to come included.
func (n *Network) SetAll(c Condition) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.base = c
	for _, p := range n.paths {
		p.cond = c
	}
}

// Path returns one direction between two addresses.
func (n *Network) Path(from, to netip.Addr) *Path {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.path(from, to)
}

// path returns a direction. The caller holds mu, here and in all that follows.
func (n *Network) path(from, to netip.Addr) *Path {
	d := direction{from, to}
	p := n.paths[d]
	if p == nil {
		p = newPath(n, d)
		n.paths[d] = p
	}
	return p
}

// Partition blocks both directions between two addresses, or opens them again.
func (n *Network) Partition(a, b netip.Addr, cut bool) {
	n.Path(a, b).Block(cut)
	n.Path(b, a).Block(cut)
}

// BlockFrom blocks all that an address sends, or opens its way again.
func (n *Network) BlockFrom(addr netip.Addr, on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.darkFrom[addr] = on
}

// BlockTo blocks all that an address is sent, or opens the way again.
func (n *Network) BlockTo(addr netip.Addr, on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.darkTo[addr] = on
}

// Isolate blocks both.
func (n *Network) Isolate(addr netip.Addr, on bool) {
	n.BlockFrom(addr, on)
	n.BlockTo(addr, on)
}

// BlockAll blocks every path, or lifts that; other blocks stay.
func (n *Network) BlockAll(on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dark = on
}

// Stats returns the sum over all paths.
func (n *Network) Stats() (sum Stats) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.paths {
		sum.add(p.stats)
	}
	return sum
}

// Close drops what is under way and delivers nothing any more. Sockets are closed
// by those who opened them.
func (n *Network) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	n.events = events{}
	if n.timer != nil {
		n.timer.Stop()
	}
}

// bind finds a port on an address: the one that is asked for, or a free one for 0.
func (n *Network) bind(addr netip.Addr, port uint16, taken func(netip.AddrPort) bool) (netip.AddrPort, error) {
	if port != 0 {
		at := netip.AddrPortFrom(addr, port)
		if taken(at) {
			return netip.AddrPort{}, syscall.EADDRINUSE
		}
		return at, nil
	}
	const first = 32768
	of := addr
	if addr.IsLoopback() || addr.IsUnspecified() { // one machine's, which may listen on all of them together
		of = netip.Addr{}
	}
	for range 1<<16 - first {
		n.ports[of] = max(n.ports[of]+1, first)
		if at := netip.AddrPortFrom(addr, n.ports[of]); !taken(at) {
			return at, nil
		}
	}
	return netip.AddrPort{}, syscall.EADDRNOTAVAIL
}
