package acceptance_test

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"troupe/messages/counters"
	"troupe/transport"
	"troupe/transport/transporttest/stock"
)

// rawUDP is a UDP socket that sends arbitrary bytes and stores what it receives.
type rawUDP struct {
	*testHost
	conn   transport.PacketConn
	server netip.AddrPort
	peer   int32 // peer id that it claims to have
	number int32 // sequence number of the next packet
	sent   int   // bytes sent
	gone   sync.WaitGroup

	mu sync.Mutex
	// The fields below are guarded by mu.
	got     int // bytes received
	packets []stock.Packet
}

// rawUDP opens a socket on a local IP address, for sending to a port of the host.
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

// write sends a datagram and returns it.
func (r *rawUDP) write(datagram []byte) []byte {
	r.Helper()
	if _, err := r.conn.WriteToUDPAddrPort(datagram, r.server); err != nil {
		r.Fatal(err)
	}
	r.sent += len(datagram)
	return datagram
}

// packet sends p as the claimed peer, with the next sequence number. It returns the datagram.
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

// received returns what has arrived so far.
func (r *rawUDP) received() (packets []stock.Packet, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.packets), r.got
}

// gets waits until n packets have arrived and returns the last one.
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

// gotNothing fails the test if anything has arrived. The host had enough time: the caller has waited for a
// counter, and a response would have been sent before that.
func (r *rawUDP) gotNothing() {
	r.Helper()
	if packets, _ := r.received(); len(packets) > 0 {
		r.Errorf("an address that is not bound got %+v", packets)
	}
}

// confirm performs the handshake.
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
