package faults

import "net/netip"

// flowsMax bounds the flows that a NAT knows; the one that was not used for longest is forgotten.
const flowsMax = 256

// nat is a player's router: it gives the flows of the player a port on an address of its own. It lets nothing in that has no flow, and no
// TCP segment out but one that opens a connection. It is not safe for concurrent use.
type nat struct {
	address func(epoch int) netip.Addr // outside, which changes with a handover
	host    netip.Addr

	epoch    int
	lastPort uint16
	clock    uint64
	inside   map[insideKey]*flow
	outside  map[outsideKey]*flow
}

// insideKey is a flow as the player knows it, outsideKey as the host knows it.
type insideKey struct {
	protocol byte
	player   netip.AddrPort
	host     netip.AddrPort
}

type outsideKey struct {
	protocol byte
	outside  netip.AddrPort
	host     uint16
}

// flow is a connection of TCP, or datagrams between two ports.
type flow struct {
	in   insideKey
	out  outsideKey
	used uint64
	// cut says that the connection was reset: the player is told so, whatever it sends, and the host too if told is set.
	cut, told bool
	// up and down are the latest segments of the player and the host.
	up, down segment
}

// firstPort is the first that a NAT gives.
const firstPort = 10_000

func newNAT(host netip.Addr, address func(epoch int) netip.Addr) *nat {
	return &nat{address: address, host: host, lastPort: firstPort, inside: make(map[insideKey]*flow), outside: make(map[outsideKey]*flow)}
}

// up translates a packet of the player's. It returns false for one that must not pass, and what to tell the player then, if anything.
func (n *nat) up(p *packet) (passes bool, answer []byte) {
	key := insideKey{p.protocol, p.src(), p.dst()}
	f := n.inside[key]
	opens := p.protocol == protoUDP || p.tcp.flags&(flagSYN|flagACK|flagRST) == flagSYN
	switch {
	case f == nil && !opens:
		return false, nil
	case f == nil || f.cut && opens:
		f = n.open(key)
	case f.cut:
		if p.tcp.flags&flagRST == 0 {
			answer = resetPacket(key.host, key.player, p.tcp.ack, p.tcp.next)
		}
		return false, answer
	}
	n.use(f)
	f.up = p.tcp
	p.setSrc(f.out.outside)
	p.setDst(netip.AddrPortFrom(n.host, f.out.host))
	return true, nil
}

// down translates a packet of the host's, as up does.
func (n *nat) down(p *packet) (passes bool, answer []byte) {
	f := n.outside[outsideKey{p.protocol, p.dst(), p.src().Port()}]
	switch {
	case f == nil:
		return false, nil
	case f.cut:
		if f.told && p.tcp.flags&flagRST == 0 {
			answer = resetPacket(p.dst(), p.src(), p.tcp.ack, p.tcp.next)
		}
		return false, answer
	}
	n.use(f)
	f.down = p.tcp
	p.setSrc(f.in.host)
	p.setDst(f.in.player)
	return true, nil
}

func (n *nat) use(f *flow) {
	n.clock++
	f.used = n.clock
}

// open gives a flow a port that no other one has had for long.
func (n *nat) open(key insideKey) *flow {
	if old := n.inside[key]; old != nil {
		n.forget(old)
	}
	if len(n.inside) >= flowsMax {
		var oldest *flow
		for _, f := range n.inside {
			if oldest == nil || f.used < oldest.used {
				oldest = f
			}
		}
		n.forget(oldest)
	}
	if n.lastPort++; n.lastPort < firstPort {
		n.lastPort = firstPort
	}
	f := &flow{in: key, out: outsideKey{key.protocol, netip.AddrPortFrom(n.address(n.epoch), n.lastPort), key.host.Port()}}
	n.inside[f.in], n.outside[f.out] = f, f
	return f
}

func (n *nat) forget(f *flow) {
	delete(n.inside, f.in)
	delete(n.outside, f.out)
}

// rebind forgets all flows: connections are silent for good, datagrams have other ports.
func (n *nat) rebind() {
	clear(n.inside)
	clear(n.outside)
}

// reset resets all connections on the player's side, and on the host's if it is to be told. Datagrams have other ports. It returns the packets
// for both.
func (n *nat) reset(told bool) (toPlayer, toHost [][]byte) {
	for _, f := range n.inside {
		if f.in.protocol == protoUDP {
			n.forget(f)
			continue
		}
		if f.cut {
			continue
		}
		f.cut, f.told = true, told
		toPlayer = append(toPlayer, resetPacket(f.in.host, f.in.player, f.up.ack, f.up.next))
		if told && f.down.flags != 0 {
			toHost = append(toHost, resetPacket(f.out.outside, netip.AddrPortFrom(n.host, f.out.host), f.down.ack, f.down.next))
		}
	}
	return toPlayer, toHost
}

// handover gives the player another address, and resets its connections. The host is told nothing.
func (n *nat) handover() (toPlayer [][]byte) {
	toPlayer, _ = n.reset(false)
	n.epoch++
	return toPlayer
}
