package acceptance_test

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"troupe/messages/counters"
	"troupe/transport"
	"troupe/transport/transporttest/stock"
)

// Plain UDP spoofing at a running host: RT-24,
// RL-10, RL-27 and RL-206.

// rawUDP is a UDP socket that sends what it is told and keeps what it gets.
type rawUDP struct {
	*testHost
	conn   transport.PacketConn
	server netip.AddrPort
	peer   int32 // whom it claims to be
	number int32 // of the next packet
	sent   int   // bytes
	gone   sync.WaitGroup

	mu sync.Mutex
	// guarded by mu
	got     int // bytes
	packets []stock.Packet
}

// rawUDP opens a socket on a local IP that talks to a port of the host.
func (h *testHost) rawUDP(local string, port int, peer int32) *rawUDP {
	h.Helper()
	conn, err := h.Net.ListenPacket("udp4", local+":0")
	if err != nil {
		h.Fatal(err)
	}
	r := &rawUDP{testHost: h, conn: conn, server: netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(port)), peer: peer}
	r.gone.Go(r.read)
	h.Cleanup(func() {
		conn.Close()
		r.gone.Wait()
	})
	return r
}

func (r *rawUDP) read() {
	buf := make([]byte, 64<<10)
	for {
		n, from, err := r.conn.ReadFromUDPAddrPort(buf)
		if err != nil {
			return
		}
		packet, rest, err := stock.SplitUnit(buf[:n])
		p := stock.Packet{}
		if err == nil {
			p, err = stock.DecodePacket(packet)
		}
		if err != nil || len(rest) > 0 || from.Port() != r.server.Port() {
			r.Errorf("%x from %v: %v", buf[:n], from, err)
		}
		r.mu.Lock()
		r.got += n
		r.packets = append(r.packets, p)
		r.mu.Unlock()
	}
}

// write sends bytes.
func (r *rawUDP) write(datagram []byte) []byte {
	r.Helper()
	if _, err := r.conn.WriteToUDPAddrPort(datagram, r.server); err != nil {
		r.Fatal(err)
	}
	r.sent += len(datagram)
	return datagram
}

// packet sends p as the claimed peer, with the next number, and returns the
// datagram.
func (r *rawUDP) packet(p stock.Packet) []byte {
	r.Helper()
	p.Sender, p.SequenceNumber = r.peer, r.number
	r.number++
	return r.write(stock.EncodeUnit(p))
}

func (r *rawUDP) connect() []byte {
	return r.packet(stock.Packet{OpCode: stock.OpUDPConnect, TargetPlayer: stock.ServerID, UDPConnect: &stock.Empty{}})
}

func (r *rawUDP) ack() []byte {
	return r.packet(stock.Packet{OpCode: stock.OpClientAck, TargetPlayer: stock.ServerID, UDPConnect: &stock.Empty{}})
}

func (r *rawUDP) data(op int32) []byte {
	return r.packet(stock.Packet{OpCode: op, TargetGroup: stock.AllPlayers, Payload: []byte("raw")})
}

// received returns what came so far.
func (r *rawUDP) received() (packets []stock.Packet, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.packets), r.got
}

func (r *rawUDP) bytes() int {
	_, n := r.received()
	return n
}

// gets waits until n packets have come and returns the last.
func (r *rawUDP) gets(n int) (last stock.Packet) {
	r.Helper()
	r.until(fmt.Sprintf("%d datagrams", n), func() error {
		packets, _ := r.received()
		if len(packets) != n {
			return fmt.Errorf("got %d", len(packets))
		}
		if n > 0 {
			last = packets[n-1]
		}
		return nil
	})
	return last
}

// gotNothing fails if anything ever came. The host has had its time: the caller
// has waited for a counter, and the answer would have left before.
func (r *rawUDP) gotNothing() {
	r.Helper()
	if packets, _ := r.received(); len(packets) > 0 {
		r.Errorf("an address that is not bound got %+v", packets)
	}
}

// confirm goes through the handshake.
func (r *rawUDP) confirm() {
	r.Helper()
	before := r.host.Counters().Connections.Get(counters.UDP)
	r.connect()
	if p := r.gets(1); p.OpCode != stock.OpServerAck || p.TargetPlayer != r.peer {
		r.Fatalf("got %+v", p)
	}
	r.ack()
	r.untilCount("confirmed", func() int64 { return r.host.Counters().Connections.Get(counters.UDP) }, before+1)
}

// udpWrites returns how many datagrams the host has written, once all that these
// clients got, which are its only ones with UDP, are counted.
func (h *testHost) udpWrites(all ...*stock.Client) int64 {
	h.Helper()
	got := 0
	for _, c := range all {
		got += c.Stats().ReceivedUDP
	}
	h.untilCount("datagrams written", func() int64 { return h.host.Counters().Writes.Get(counters.UDP) }, int64(got))
	return int64(got)
}

// RT-24.
func TestUnknownSendersAndUnboundAddressesAreIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, games := startPlays(t, nil, nil)
		c := h.fastPlayers(2, stock.Options{})
		port, writes := h.fastPort(c[0]), h.udpWrites(c...)
		each := func(r *rawUDP) int64 { // all kinds of datagrams
			n := int64(0)
			for _, number := range []int32{0, 5, 3000} {
				r.number = number
				r.ack()
				r.data(10)
				r.packet(stock.Packet{OpCode: stock.OpJoinGroup, TargetPlayer: stock.ServerID, JoinGroup: &stock.GroupRef{Group: 1}})
				r.packet(stock.Packet{OpCode: 11, TargetPlayer: stock.ServerID})
				r.packet(stock.LoginPacket(stock.CSharp, "psess-x", nil))
				n += 5
			}
			return n
		}

		unknown, wrong := int64(0), int64(0)
		unknownPeer := h.rawUDP("127.0.0.1", port, 0)
		for _, peer := range []int32{0, -1, -2, 3, 99, math.MaxInt32, math.MinInt32} {
			unknownPeer.peer = peer
			unknown += each(unknownPeer) + 1
			unknownPeer.connect()
		}
		h.dropped(counters.DropFastUnknownSender, unknown)

		// Known peers: another port of their IP, another IP.
		neighbour, foreigner := h.rawUDP("127.0.0.1", port, 0), h.rawUDP("127.0.0.2", port, 0)
		for _, peer := range []int32{1, 2} {
			neighbour.peer, foreigner.peer = peer, peer
			wrong += each(neighbour) + each(foreigner) + 1
			foreigner.connect()
		}
		h.dropped(counters.DropFastWrongAddress, wrong)

		for _, r := range []*rawUDP{unknownPeer, neighbour, foreigner} {
			r.gotNothing()
		}
		if n := h.host.Counters().Writes.Get(counters.UDP) - writes; n != 0 {
			t.Errorf("%d datagrams written", n)
		}
		// The players have not noticed.
		h.fence(c[0], stock.ChannelUDP, c...)
		h.fence(c[1], stock.ChannelUDP, c...)
		for _, op := range []int32{10, 11} {
			h.gotNone(op, c...)
			h.sawNone(games.only(), op, "onMessage", "onSendToPlayer", "onSendToGroup")
		}
		h.gotNone(stock.OpGroupMembershipUpdate, c...)
		if log := c[0].Log(); log[len(log)-1].Channel != stock.ChannelWebSocket || h.host.Counters().Connections.Get(counters.UDP) != 2 {
			t.Error("the fast channel is gone")
		}
		h.verified(c...)
	})
}
