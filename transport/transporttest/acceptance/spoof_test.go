package acceptance_test

import (
	"crypto/rand"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/script"
	"troupe/messages/counters"
	"troupe/transport"
	"troupe/transport/host"
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

func TestSpoof_BeforeTheVictimHasAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, nil, nil)
		ids := h.seats(h.newGame(8), 2)
		victim, other := h.join(ids[0], stock.Options{NoUDP: true}), h.join(ids[1], stock.Options{})
		h.awaitFast(0, other)
		port := h.fastPort(victim)
		foreigner, neighbour := h.rawUDP("127.0.0.2", port, 1), h.rawUDP("127.0.0.1", port, 1)
		foreigner.connect()
		foreigner.ack()
		foreigner.data(10)
		neighbour.ack()
		neighbour.data(10)
		h.dropped(counters.DropFastWrongAddress, 5)
		h.send(other, stock.Message{OpCode: 11, TargetPlayer: 1})
		h.gotOne(victim, stock.Packet{OpCode: 11, TargetPlayer: 1, Sender: 2, Reliable: true})
		foreigner.gotNothing()
		neighbour.gotNothing()
		h.gotNone(10, victim, other)
		h.verified(victim, other)
	})
}

func TestSpoof_ReplayedDatagrams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, nil, nil)
		ids := h.seats(h.newGame(8), 2)
		victim, other := h.join(ids[0], stock.Options{NoUDP: true}), h.join(ids[1], stock.Options{})
		h.awaitFast(0, other)
		port := h.fastPort(victim)
		raw := h.rawUDP("127.0.0.1", port, 1)
		taped := [][]byte{raw.connect()}
		raw.gets(1)
		taped = append(taped, raw.ack())
		for range 10 {
			taped = append(taped, raw.data(10))
		}
		for range 10 {
			h.expect(other, stock.Op(10))
		}
		raw.gets(1 + 10) // its own echo of group -1
		for range 5 {
			for _, d := range taped {
				raw.write(d)
			}
		}
		h.dropped(counters.DropFastStale, int64(5*len(taped)))
		for _, from := range []string{"127.0.0.1", "127.0.0.2"} { // another port, another IP
			spoofer := h.rawUDP(from, port, 1)
			before := h.host.Counters().Dropped.Get(counters.DropFastWrongAddress)
			for _, d := range taped {
				spoofer.write(d)
			}
			h.dropped(counters.DropFastWrongAddress, before+int64(len(taped)))
			spoofer.gotNothing()
		}
		raw.data(11) // the true one goes on
		h.gotOne(other, stock.Packet{OpCode: 11, TargetGroup: stock.AllPlayers, Sender: 1, Payload: []byte("raw")})
		raw.gets(1 + 10 + 1) // no answers to replays
		if n := len(other.Log()); n != 2+10+1 {
			t.Errorf("the other player got %d packets", n)
		}
		h.verified(other)
	})
}

// RL-27: no answer to an address that has proved nothing is more than three times
// as large as what asked for it, and no game data goes there.
func TestSpoof_Amplification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const talk = 100
		h, _ := startPlays(t, nil, func(p *fakeGame) {
			p.message = func(s script.Session, m *script.Message) {
				s.SendMessage(script.Outgoing{OpCode: 20, Sender: -1, Payload: m.Payload}, 1)
				s.SendGroupMessage(script.Outgoing{OpCode: 21, Sender: -1, Payload: m.Payload}, s.AllPlayersGroupID())
			}
		})
		c := h.players(2, stock.Options{NoUDP: true})
		raw := h.rawUDP("127.0.0.1", h.fastPort(c[0]), 1)
		count := &h.host.Counters().Dropped
		refusals := func() int64 { return count.Get(counters.DropFastMalformed) + count.Get(counters.DropFastUnknownSender) }
		worst, answered, least := 0.0, 0, math.MaxInt
		ask := func(request []byte) (answer bool) {
			t.Helper()
			refused, before := refusals(), raw.bytes()
			raw.write(request)
			h.until("answer or refusal", func() error {
				packets, _ := raw.received()
				answer = len(packets) > answered
				if !answer && refusals() == refused {
					return fmt.Errorf("neither, to %x", request)
				}
				return nil
			})
			if !answer {
				return false
			}
			answered++
			if p := raw.gets(answered); p.OpCode != stock.OpServerAck || len(p.Payload) > 0 || int(p.SequenceNumber) != answered-1 {
				t.Fatalf("got %+v", p)
			}
			got := raw.bytes() - before
			worst, least = max(worst, float64(got)/float64(len(request))), min(least, len(request))
			if got > 3*len(request) {
				t.Fatalf("%d bytes for %d", got, len(request))
			}
			return true
		}
		connect := func(p stock.Packet, padding int) []byte {
			p.OpCode, p.SequenceNumber = stock.OpUDPConnect, raw.number
			raw.number++
			return append(stock.EncodeUnit(p), make([]byte, padding)...)
		}
		ofClients := stock.Packet{TargetPlayer: stock.ServerID, Sender: 1, UDPConnect: &stock.Empty{}}
		for n := range 20 {
			if n == 0 {
				ask(connect(stock.Packet{Sender: 1}, 0)) // a first -5 has not even a number
			}
			if !ask(connect(ofClients, 0)) {
				t.Fatal("a client's request was not answered")
			}
			ask(connect(stock.Packet{Sender: 1}, n)) // the shortest that says -5 from 1, and longer
			if ask(connect(stock.Packet{Sender: 77, UDPConnect: &stock.Empty{}}, n)) || ask(make([]byte, 100)) {
				t.Fatal("an answer to a stranger or to rubbish")
			}
		}
		// The address is known, not confirmed, and the game talks.
		for n := range talk {
			h.send(c[1], stock.Message{OpCode: 1, TargetPlayer: stock.ServerID, Payload: number(n), Reliable: true})
		}
		h.fence(c[1], stock.ChannelWebSocket, c...)
		h.rises("player 1", numbers(c[0], 20), talk, func(int) bool { return true })
		h.rises("player 1", numbers(c[0], 21), talk, func(int) bool { return true })
		packets, got := raw.received()
		if len(packets) != answered {
			t.Errorf("%d packets, want %d", len(packets), answered)
		}
		h.untilCount("bytes written", func() int64 { return h.host.Counters().BytesOut.Get(counters.UDP) }, int64(got))
		t.Logf("%d bytes in, %d out; worst answer %.2f times its request; shortest request answered: %d bytes", raw.sent, got, worst, least)
		h.verified(c...)
	})
}

// A second address gets nothing while the first is active. With a number that
// its client could not have reached it changes nothing either.
func TestSpoof_SecondAddressWithImplausibleNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, nil, nil)
		c := h.fastPlayers(2, stock.Options{})
		spoofer := h.rawUDP("127.0.0.1", h.fastPort(c[0]), 1)
		tries := int64(0)
		for round := range int32(20) {
			for _, number := range []int32{0, 1, 5000 + 100*round, 1 << 30, math.MaxInt32} {
				spoofer.number = number
				if round == 0 || number > 1 {
					spoofer.connect()
					tries++
				}
			}
			h.fence(c[0], stock.ChannelUDP, c...) // the first is active
		}
		h.dropped(counters.DropFastWrongAddress, tries)
		h.send(c[1], stock.Message{OpCode: 10, TargetPlayer: 1})
		if e := h.gotOne(c[0], stock.Packet{OpCode: 10, TargetPlayer: 1, Sender: 2}); e.Channel != stock.ChannelUDP {
			t.Errorf("got %v", e)
		}
		spoofer.gotNothing()
		h.dropped(counters.DropFastContested, 0)
		h.verified(c...)
	})
}

// With a plausible number there are two active addresses: the fast channel is
// off for that peer, and its messages take the WebSocket.
func TestSpoof_SecondAddressWithAPlausibleNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, nil, nil)
		c := h.fastPlayers(2, stock.Options{})
		for n := range int32(20) { // so that its number has a distance from 0
			h.send(c[0], stock.Message{OpCode: 100 + n, TargetPlayer: 2})
			h.expect(c[1], stock.Op(100+n))
		}
		spoofer := h.rawUDP("127.0.0.1", h.fastPort(c[0]), 1)
		spoofer.number = 50
		spoofer.connect()
		h.dropped(counters.DropFastWrongAddress, 1)
		h.send(c[0], stock.Message{OpCode: 10, TargetPlayer: 2, Via: stock.ChannelUDP})
		h.dropped(counters.DropFastContested, 1)
		h.untilCount("confirmed", func() int64 { return h.host.Counters().Connections.Get(counters.UDP) }, 1)
		spoofer.connect()
		spoofer.ack()
		spoofer.data(11)
		h.dropped(counters.DropFastContested, 4)
		h.send(c[1], stock.Message{OpCode: 12, TargetPlayer: 1})
		if e := h.gotOne(c[0], stock.Packet{OpCode: 12, TargetPlayer: 1, Sender: 2, Reliable: true}); e.Channel != stock.ChannelWebSocket {
			t.Errorf("got %v", e)
		}
		h.fence(c[1], stock.ChannelUDP, c...)
		h.gotNone(10, c...)
		h.gotNone(11, c...)
		spoofer.gotNothing()
		h.verified(c...)
	})
}

// A client whose NAT changed its mind gets its fast channel back once the old
// address was silent for two seconds, and not sooner.
func TestSpoof_ASilentAddressMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, nil, nil)
		c := h.fastPlayers(2, stock.Options{})
		heard := time.Now() // or later
		h.fence(c[0], stock.ChannelUDP, c...)
		old, before := c[0].UDPLocalAddr().String(), len(acks(c[0]))
		if err := c[0].RebindUDP(""); err != nil {
			t.Fatal(err)
		}
		if c[0].UDPLocalAddr().String() == old {
			t.Fatal("the same address")
		}
		h.send(c[0], stock.Message{OpCode: 10, TargetPlayer: 2, Via: stock.ChannelUDP})
		h.dropped(counters.DropFastWrongAddress, 1)
		h.until("an answer at the new address", func() error {
			if len(acks(c[0])) > before {
				return nil
			}
			time.Sleep(50 * time.Millisecond)
			return fmt.Errorf("none: %v", c[0].SendUDPConnect())
		})
		if took := time.Since(heard); took < 2*time.Second || took > 2*time.Second+50*time.Millisecond+step {
			t.Errorf("moved after %v", took)
		}
		h.send(c[1], stock.Message{OpCode: 11, TargetPlayer: 1}) // the new address has proved nothing
		h.gotOne(c[0], stock.Packet{OpCode: 11, TargetPlayer: 1, Sender: 2, Reliable: true})
		if err := c[0].SendClientAck(); err != nil {
			t.Fatal(err)
		}
		h.untilCount("confirmed", func() int64 { return h.host.Counters().Connections.Get(counters.UDP) }, 2)
		h.send(c[1], stock.Message{OpCode: 12, TargetPlayer: 1})
		if e := h.gotOne(c[0], stock.Packet{OpCode: 12, TargetPlayer: 1, Sender: 2}); e.Channel != stock.ChannelUDP {
			t.Errorf("got %v", e)
		}
		h.fence(c[0], stock.ChannelUDP, c...)
		h.gotNone(10, c[1])
		h.dropped(counters.DropFastContested, 0)
		h.verified(c...)
	})
}

// With the same-IP rule off a first -5 may come from anywhere, and only that.
func TestSpoof_SameIPSwitchedOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) { c.Fast.SameIP = false }, nil)
		ids := h.seats(h.newGame(8), 2)
		one, two := h.join(ids[0], stock.Options{UDPLocalAddr: "127.0.0.2:0"}), h.join(ids[1], stock.Options{})
		h.awaitFast(0, one, two)
		spoofer := h.rawUDP("127.0.0.3", h.fastPort(one), 1)
		spoofer.number = 10
		spoofer.connect()
		spoofer.data(10)
		h.dropped(counters.DropFastWrongAddress, 2)
		h.fence(one, stock.ChannelUDP, one, two)
		h.send(two, stock.Message{OpCode: 11, TargetPlayer: 1})
		if e := h.gotOne(one, stock.Packet{OpCode: 11, TargetPlayer: 1, Sender: 2}); e.Channel != stock.ChannelUDP {
			t.Errorf("got %v", e)
		}
		h.gotNone(10, one, two)
		spoofer.gotNothing()
		h.verified(one, two)
	})
}

func TestSpoof_RubbishCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count = 500
		h := startHost(t, nil, nil)
		c := h.fastPlayers(2, stock.Options{})
		raw, writes := h.rawUDP("127.0.0.1", h.fastPort(c[0]), 1), h.udpWrites(c...)
		bad := func() (n int64) {
			for _, d := range []counters.Drop{counters.DropFastMalformed, counters.DropFastUnknownSender, counters.DropFastWrongAddress} {
				n += h.host.Counters().Dropped.Get(d)
			}
			return n
		}
		for n := range count {
			d := make([]byte, n%3000)
			rand.Read(d)
			switch n % 4 {
			case 1: // its length is right
				d = stock.Unit(d)
			case 2: // too large
				d = append(stock.EncodeUnit(stock.Packet{OpCode: 10, Sender: 1, TargetGroup: -1}), make([]byte, 2048)...)
			case 3: // a unit that is cut off
				d = stock.EncodeUnit(stock.Packet{OpCode: 10, Sender: 1, TargetGroup: -1, Payload: d})
				d = d[:len(d)-1]
			}
			raw.write(d)
			if n%50 == 49 { // no faster than it is read
				h.untilCount("refused", bad, int64(n+1))
			}
		}
		if n := h.host.Counters().Writes.Get(counters.UDP) - writes; n != 0 {
			t.Errorf("%d datagrams written", n)
		}
		raw.gotNothing()
		h.fence(c[0], stock.ChannelUDP, c...)
		h.gotNone(10, c...)
		h.verified(c...)
	})
}
