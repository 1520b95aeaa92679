package memnet

import (
	"encoding/binary"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// Network is a set of addresses and the paths between them. Its methods, and those of its sockets and paths,
// are safe for concurrent use.
type Network struct {
	seed uint64

	mu        sync.Mutex // guards the fields below and every socket of the network
	base      Condition
	paths     map[direction]*Path
	darkFrom  map[netip.Addr]bool   // addresses whose outgoing traffic is dropped
	darkTo    map[netip.Addr]bool   // addresses whose incoming traffic is dropped
	dark      bool                  // all traffic is dropped
	nodes     uint32                // number of addresses given to nodes
	ports     map[netip.Addr]uint16 // last ephemeral port of each address
	packets   map[netip.AddrPort]*PacketConn
	listeners map[netip.AddrPort]*Listener
	events    events
	timer     *time.Timer
	closed    bool
}

type direction struct{ from, to netip.Addr }

// New returns a network that delivers everything immediately.
func New(seed uint64) *Network {
	return &Network{
		seed: seed, paths: make(map[direction]*Path), darkFrom: make(map[netip.Addr]bool), darkTo: make(map[netip.Addr]bool),
		ports: make(map[netip.Addr]uint16), packets: make(map[netip.AddrPort]*PacketConn),
		listeners: make(map[netip.AddrPort]*Listener),
	}
}

// Node is an address of a network, on which sockets are opened.
type Node struct {
	n    *Network
	addr netip.Addr
}

// Node returns a node with a new address.
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

// SetAll sets the condition of every existing and future path.
func (n *Network) SetAll(c Condition) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.base = c
	for _, p := range n.paths {
		p.cond = c
	}
}

// Path returns the path from one address to another.
func (n *Network) Path(from, to netip.Addr) *Path {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.path(from, to)
}

// path is Path with mu held. The caller of it and of all unexported methods holds mu.
func (n *Network) path(from, to netip.Addr) *Path {
	d := direction{from, to}
	p := n.paths[d]
	if p == nil {
		p = newPath(n, d)
		n.paths[d] = p
	}
	return p
}

// Partition blocks both directions between two addresses, or unblocks them.
func (n *Network) Partition(a, b netip.Addr, cut bool) {
	n.Path(a, b).Block(cut)
	n.Path(b, a).Block(cut)
}

// BlockFrom blocks all outgoing traffic of an address, or unblocks it.
func (n *Network) BlockFrom(addr netip.Addr, on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.darkFrom[addr] = on
}

// BlockTo blocks all incoming traffic of an address, or unblocks it.
func (n *Network) BlockTo(addr netip.Addr, on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.darkTo[addr] = on
}

// Isolate blocks all traffic of an address, or unblocks it.
func (n *Network) Isolate(addr netip.Addr, on bool) {
	n.BlockFrom(addr, on)
	n.BlockTo(addr, on)
}

// BlockAll blocks every path, or removes that block. Other blocks are not affected.
func (n *Network) BlockAll(on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dark = on
}

// Stats returns the sums over all paths.
func (n *Network) Stats() (sum Stats) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.paths {
		sum.add(p.stats)
	}
	return sum
}

// Close drops all traffic in transit and delivers nothing more. It does not close the sockets; their owners
// do.
func (n *Network) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	n.events = events{}
	if n.timer != nil {
		n.timer.Stop()
	}
}

// bind returns an address with the requested port, or with a free port for 0.
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
	if addr.IsLoopback() || addr.IsUnspecified() { // these addresses belong to one machine, which may listen on all of them at once
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
