package barerelay

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"troupe/messages"
	"troupe/messages/wire"
	"troupe/transport/fast"
)

// Kinds of a room: what one member of it says on the fast channel over plain UDP goes to all members, in datagrams that are
// sent together or with a system call each.
const (
	Together = "together"
	OneByOne = "one-by-one"
)

// MembersMax is how many members a room has, with the peer ids from 1 on. All come from 127.0.0.1.
const MembersMax = 50

// serveRoom serves such a room.
func serveRoom(addr string, each bool) (bound string, stop func(), err error) {
	o := fast.Defaults()
	o.Addr, o.OneByOne = addr, each
	pool, err := fast.Listen(o)
	if err != nil {
		return "", nil, err
	}
	r := new(relayed)
	for peer := range messages.PeerID(MembersMax) {
		a, err := pool.Open(peer+1, netip.MustParseAddr("127.0.0.1"), r)
		if err != nil {
			pool.Close()
			return "", nil, fmt.Errorf("open peer %d: %w", peer+1, err)
		}
		r.members[peer] = a
	}
	host, _, err := net.SplitHostPort(addr)
	return net.JoinHostPort(host, strconv.Itoa(int(pool.Port()))), func() { pool.Close() }, err
}

type relayed struct{ members [MembersMax]*fast.Association }

// OnFast implements fast.Handler. Members that have not confirmed an address yet get nothing.
func (r *relayed) OnFast(packet []byte) {
	var h wire.Header
	if h.Parse(packet) != nil {
		return
	}
	f := wire.NewFrame(&wire.Header{OpCode: h.OpCode, TargetGroup: wire.AllPlayers, Sender: h.Sender, Payload: h.Payload})
	defer f.Release()
	for _, a := range r.members {
		a.Send(f)
	}
}
