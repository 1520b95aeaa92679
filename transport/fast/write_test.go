package fast

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"troupe/messages"
	"troupe/messages/wire"
)

// batchTo returns a batch of numbered texts, sent to the addresses in turn.
func batchTo(n int, to ...netip.AddrPort) *batch {
	b := new(batch)
	for i := range n {
		b.bytes = fmt.Appendf(b.bytes, "datagram %4d", i)
		b.list = append(b.list, outgoing{datagram{to: to[i%len(to)]}, len(b.bytes)})
	}
	return b
}

func openUDP(tb testing.TB, network, address string) *net.UDPConn {
	tb.Helper()
	c, err := net.ListenPacket(network, address)
	if err != nil {
		tb.Skipf("%s %s: %v", network, address, err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c.(*net.UDPConn)
}

func portOf(c *net.UDPConn) uint16 { return c.LocalAddr().(*net.UDPAddr).AddrPort().Port() }

// Each receiver gets its datagrams complete and in order, from sockets of each family. A datagram
// that cannot be sent does not prevent others.
func TestABatchReachesEveryReceiver(t *testing.T) {
	v4, v6 := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")
	for _, c := range []struct {
		name, network, from string
		to                  []netip.Addr
	}{
		{"IPv4", "udp4", "127.0.0.1:0", []netip.Addr{v4, v4, v4}},
		{"both", "udp", ":0", []netip.Addr{v4, v6, v4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			from := openUDP(t, c.network, c.from)
			var receivers []*net.UDPConn
			var to []netip.AddrPort
			for _, ip := range c.to {
				r := openUDP(t, "udp", netip.AddrPortFrom(ip, 0).String())
				receivers = append(receivers, r)
				to = append(to, netip.AddrPortFrom(ip, portOf(r)))
			}
			to = append(to, netip.AddrPortFrom(v4, 0)) // the kernel refuses port 0
			b, out := batchTo(writeBatch, to...), newSender(from)
			failed := 0
			for i := 0; i < len(b.list); {
				sent, err := out.send(b, i)
				if i += sent; err != nil {
					failed++
					i++
				} else if sent == 0 {
					t.Fatal("nothing sent, and no error")
				}
			}
			if failed != writeBatch/len(to) {
				t.Errorf("%d failed", failed)
			}
			buf := make([]byte, 100)
			for r, conn := range receivers {
				_ = conn.SetReadDeadline(time.Now().Add(patience))
				for i := r; i < writeBatch; i += len(to) {
					n, err := conn.Read(buf)
					if want := fmt.Sprintf("datagram %4d", i); err != nil || string(buf[:n]) != want {
						t.Fatalf("receiver %d: %q %v, want %q", r, buf[:n], err, want)
					}
				}
			}
		})
	}
}

// The datagrams in the queue are sent grouped by peer. Those for one peer stay in the order in which they were queued.
func TestDatagramsOfAPeerFollowEachOther(t *testing.T) {
	t.Parallel()
	p, conn := quietPool(t, nil)
	var peers []*Association
	for id := range messages.PeerID(3) {
		a, err := p.Open(id+1, local, discardAll{})
		if err != nil {
			t.Fatal(err)
		}
		p.main.handle(clientAddr(uint16(id)+1), wire.AppendUDPConnect(nil, int32(id)+1, 0))
		p.main.handle(clientAddr(uint16(id)+1), wire.AppendClientAck(nil, int32(id)+1, 1))
		peers = append(peers, a)
	}
	conn.drain(p.main)
	for round := range 3 {
		conn.written = nil
		for text := range 4 {
			for _, a := range peers[round:] { // each round starts with another peer
				if !send(a, fmt.Sprint(text)) {
					t.Fatal("not sent")
				}
			}
		}
		conn.drain(p.main)
		var got, want []string
		for _, w := range conn.written {
			packet, err := wire.SplitUnit(w.bytes)
			var h wire.Header
			if err == nil {
				err = h.Parse(packet)
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%d: %s", w.to.Port(), h.Payload))
		}
		for peer := round; peer < len(peers); peer++ {
			for text := range 4 {
				want = append(want, fmt.Sprintf("%d: %d", peer+1, text))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("round %d: %q, want %q", round, got, want)
		}
	}
}

// BenchmarkBroadcast measures the kernel's time per datagram for four messages to 50 members of a room. It compares one
// system call for each datagram, one call for as many datagrams as possible, and the latter with the datagrams of each
// member next to each other. Receivers do not read.
func BenchmarkBroadcast(b *testing.B) {
	const members, said = 50, 4
	var to, grouped []netip.AddrPort
	for range members {
		to = append(to, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), portOf(openUDP(b, "udp4", "127.0.0.1:0"))))
		grouped = append(grouped, slices.Repeat(to[len(to)-1:], said)...)
	}
	from := openUDP(b, "udp4", "127.0.0.1:0")
	turns := batchTo(members*said, to...)
	for _, c := range []struct {
		name string
		send sender
		out  *batch
	}{{"one-by-one", oneByOne{from}, turns}, {"many", newSender(from), turns}, {"many-grouped", newSender(from), batchTo(members*said, grouped...)}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for i := 0; i < members*said; {
					sent, err := c.send.send(c.out, i)
					if err != nil {
						b.Fatal(err)
					}
					i += sent
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/members/said, "ns/datagram")
		})
	}
}
