package fast

import (
	"bytes"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// runsTo returns a batch with datagrams of the given sizes to each of the addresses.
func runsTo(sizes []int, to ...netip.AddrPort) *batch {
	b := new(batch)
	for _, addr := range to {
		for n, size := range sizes {
			b.bytes = append(b.bytes, bytes.Repeat([]byte{byte(n + 1)}, size)...)
			b.list = append(b.list, outgoing{datagram{to: addr}, len(b.bytes)})
		}
	}
	return b
}

// awaitSizes checks that the next datagrams are those of runsTo.
func awaitSizes(t *testing.T, conn *net.UDPConn, sizes []int) {
	t.Helper()
	buf := make([]byte, datagramMax)
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	for i, size := range sizes {
		n, err := conn.Read(buf)
		if err != nil || !bytes.Equal(buf[:n], bytes.Repeat([]byte{byte(i + 1)}, size)) {
			t.Fatalf("datagram %d: %d bytes, first %d, %v; want %d", i, n, buf[0], err, size)
		}
	}
}

// Several datagrams of one size to one peer are one message to the kernel, and arrive as separate datagrams. If the
// kernel refuses to cut, as it does without checksums, they are sent one by one.
func TestDatagramsToOnePeerAreOneMessage(t *testing.T) {
	for _, c := range []struct {
		name     string
		sizes    []int
		messages int // for each peer
		uncut    bool
	}{
		{"of one size", []int{100, 100, 100, 100}, 1, false},
		{"the last shorter", []int{100, 100, 1}, 1, false},
		{"then longer", []int{100, 101, 101}, 2, false},
		{"shorter in between", []int{100, 99, 100, 100}, 2, false},
		{"too large for a small MTU", []int{segmentSizeMax + 1, segmentSizeMax + 1}, 2, false},
		{"one", []int{100}, 1, false},
		{"without checksums", []int{100, 100, 100}, 3, true},
	} {
		for _, ip := range []string{"127.0.0.1", "::1"} {
			if c.uncut && ip == "::1" {
				continue // IPv6 always has checksums
			}
			t.Run(c.name+"/"+ip, func(t *testing.T) {
				from := openUDP(t, "udp", netip.AddrPortFrom(netip.MustParseAddr(ip), 0).String())
				s := newSender(from).(*manySender)
				raw, err := from.SyscallConn()
				if err != nil {
					t.Fatal(err)
				}
				var cannot, refused error
				err = raw.Control(func(fd uintptr) {
					if _, cannot = unix.GetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT); c.uncut {
						refused = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_NO_CHECK, 1)
					}
				})
				if err != nil || refused != nil {
					t.Fatal(err, refused)
				}
				if cannot != nil {
					t.Skip("this kernel does not cut messages (UDP_SEGMENT, from 4.18 on)")
				}
				var to []netip.AddrPort
				var receivers []*net.UDPConn
				for range 3 {
					r := openUDP(t, "udp", netip.AddrPortFrom(netip.MustParseAddr(ip), 0).String())
					to, receivers = append(to, netip.AddrPortFrom(netip.MustParseAddr(ip), portOf(r))), append(receivers, r)
				}
				b := runsTo(c.sizes, to...)
				if sent, err := s.send(b, 0); sent != len(b.list) || err != nil || s.sent != c.messages*len(to) {
					t.Fatalf("%d of %d sent in %d messages, %v", sent, len(b.list), s.sent, err)
				}
				for _, r := range receivers {
					awaitSizes(t, r, c.sizes)
				}
			})
		}
	}
}

// A message has no more segments and bytes than every kernel accepts.
func TestMessagesAreNotTooLarge(t *testing.T) {
	for name, c := range map[string]struct{ each, n, want int }{
		"many":  {1, segmentsMax + 1, segmentsMax},
		"large": {segmentSizeMax, segmentsMax, cutMax / segmentSizeMax},
	} {
		sizes := make([]int, c.n)
		for i := range sizes {
			sizes[i] = c.each
		}
		to := netip.AddrPortFrom(local, 1)
		if count, size := runsTo(sizes, to).alike(0); count != c.want || size != c.want*c.each {
			t.Errorf("%s: %d datagrams of %d bytes, want %d", name, count, size, c.want)
		}
	}
}
