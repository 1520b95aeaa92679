package transporttest

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"troupe/messages/counters"
	"troupe/transport/transporttest/memnet"
)

func TestReferenceDatagrams(t *testing.T) { RunDatagrams(t, refDatagrams{}) }

// refDatagrams is a minimal unreliable channel: a datagram has a number, a checksum and the payload. With a
// defect it breaks a guarantee.
type refDatagrams struct{ defect defect }

func (refDatagrams) NewestWins() bool { return true }

func (r refDatagrams) Start(tb TB, o DatagramOptions) DatagramServer {
	s := &refDatagramServer{DatagramOptions: o, defect: r.defect, peers: make(map[netip.AddrPort]*refPeer), stopped: make(chan struct{})}
	var err error
	if s.conn, err = o.Network.Node().ListenPacket(0); err != nil {
		tb.Fatal(err)
	}
	s.running.Go(s.read)
	return s
}

type refDatagramServer struct {
	DatagramOptions
	defect  defect
	conn    *memnet.PacketConn
	running sync.WaitGroup
	stopped chan struct{}

	mu      sync.Mutex
	peers   map[netip.AddrPort]*refPeer
	clients []net.Conn
}

// refPeer has the datagram numbers of one end.
type refPeer struct {
	up      func([]byte)
	out     atomic.Int32
	highest int32 // highest received number
	closed  atomic.Bool
}

func seal(number int32, payload []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(number))
	b = append(b, payload...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func unseal(b []byte) (number int32, payload []byte, ok bool) {
	if len(b) < 8 {
		return 0, nil, false
	}
	body := b[:len(b)-4]
	return int32(binary.BigEndian.Uint32(b)), body[4:], crc32.ChecksumIEEE(body) == binary.BigEndian.Uint32(b[len(b)-4:])
}

func (s *refDatagramServer) read() {
	buf := make([]byte, 2048)
	for count := 0; ; count++ {
		n, from, err := s.conn.ReadFromUDPAddrPort(buf)
		if err != nil {
			return
		}
		s.mu.Lock()
		p := s.peers[from]
		if s.defect == mixesPeers && count%50 == 49 {
			for _, p = range s.peers {
			}
		}
		s.mu.Unlock()
		number, payload, ok := unseal(buf[:n])
		switch {
		case p == nil || p.closed.Load() && s.defect != closedTakes:
		case !ok && s.defect == garbageDelivered:
			p.up(buf[:n])
		case !ok:
			if s.defect != garbageUncounted {
				s.Counters.Dropped.Add(counters.DropFastMalformed, 1)
			}
		case number <= p.highest && s.defect != olderToo:
		case s.defect == losesMore && number%5 == 0:
		case s.defect == olderToo && number == p.highest: // the defect: the newest number is accepted again
		default:
			p.highest = max(p.highest, number)
			p.up(payload)
			if s.defect == datagramTwice && number%100 == 99 {
				p.up(payload)
			}
		}
	}
}

func (s *refDatagramServer) Dial(ctx context.Context, up func([]byte), down func(int32, []byte)) (*DatagramPair, error) {
	conn, err := s.Network.Node().DialPacket(s.conn.LocalAddr().(*net.UDPAddr).AddrPort())
	if err != nil {
		return nil, err
	}
	addr := conn.LocalAddr().(*net.UDPAddr).AddrPort()
	p := &refPeer{up: up, highest: -1}
	s.mu.Lock()
	s.peers[addr] = p
	s.clients = append(s.clients, conn)
	s.mu.Unlock()
	s.running.Go(func() {
		buf := make([]byte, 2048)
		for {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			if number, payload, ok := unseal(buf[:n]); ok {
				down(number, payload)
			}
		}
	})
	if s.defect == datagramChatter {
		s.running.Go(func() {
			for {
				select {
				case <-time.After(10 * time.Second):
					_, _ = s.conn.WriteToUDPAddrPort([]byte("hello"), addr)
				case <-s.stopped:
					return
				}
			}
		})
	}
	var number atomic.Int32
	return &DatagramPair{
		Up: func(payload []byte) bool {
			_, err := conn.Write(seal(number.Add(1)-1, payload))
			return err == nil
		},
		Down: func(payload []byte) bool {
			if p.closed.Load() && s.defect != closedSends || len(payload) > 1200 && s.defect != sendsAnything {
				return false
			}
			number := p.out.Add(1) - 1
			if s.defect == numbersRepeat {
				number /= 2
			}
			if s.defect == sendingWaits {
				time.Sleep(time.Millisecond)
			}
			_, err := s.conn.WriteToUDPAddrPort(seal(number, payload), addr)
			return err == nil
		},
		Raw:   func(b []byte) { _, _ = conn.Write(b) },
		Close: func() { p.closed.Store(true) },
	}, nil
}

func (s *refDatagramServer) Stop() {
	close(s.stopped)
	_ = s.conn.Close()
	s.mu.Lock()
	for _, c := range s.clients {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// Defects of unreliable channels.
const (
	datagramTwice    defect = "one is handed up twice"
	olderToo         defect = "an older one is handed up after a newer one"
	losesMore        defect = "every 5th is lost"
	numbersRepeat    defect = "numbers repeat"
	mixesPeers       defect = "one goes to another peer"
	sendsAnything    defect = "any size is sent"
	garbageDelivered defect = "garbage is handed up"
	garbageUncounted defect = "garbage is not counted"
	sendingWaits     defect = "sending waits"
	datagramChatter  defect = "an idle channel sends"
	closedTakes      defect = "a closed end takes"
	closedSends      defect = "a closed end sends"
)

// TestTheSuiteFindsEveryDefectOfDatagrams breaks the reference channel in one way after the other.
func TestTheSuiteFindsEveryDefectOfDatagrams(t *testing.T) {
	proven := map[string]bool{}
	for d, name := range map[defect]string{
		datagramTwice:    "AtMostOnceNewestWinsBothWays",
		olderToo:         "AtMostOnceNewestWinsBothWays",
		losesMore:        "AtMostOnceNewestWinsBothWays",
		numbersRepeat:    "AtMostOnceNewestWinsBothWays",
		mixesPeers:       "ManyPeersAtOnce",
		sendsAnything:    "OversizedIsNotSent",
		garbageDelivered: "GarbageIsDroppedAndCounted",
		garbageUncounted: "GarbageIsDroppedAndCounted",
		sendingWaits:     "BlackPathHealsAndHoldsNobodyUp",
		datagramChatter:  "IdleIsSilent",
		closedTakes:      "NothingAfterClose",
		closedSends:      "NothingAfterClose",
	} {
		proven[name] = true
		for _, p := range datagramProperties {
			if p.name != name {
				continue
			}
			finds(t, name, d, func(tb TB) { p.check(newDatagramEnv(tb, refDatagrams{d}, &conditions[2])) })
		}
	}
	for _, p := range datagramProperties {
		if !proven[p.name] {
			t.Errorf("nothing shows that %s can fail", p.name)
		}
	}
}
