package memnet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

func packetPair(t *testing.T, n *Network) (a, b *PacketConn) {
	t.Helper()
	t.Cleanup(n.Close)
	var conns [2]*PacketConn
	for i := range conns {
		c, err := n.Node().ListenPacket(0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		conns[i] = c
	}
	return conns[0], conns[1]
}

func at(c *PacketConn) netip.AddrPort { return c.LocalAddr().(*net.UDPAddr).AddrPort() }

// flood sends numbered datagrams one millisecond apart. It returns the numbers in the order of arrival.
func flood(t *testing.T, a, b *PacketConn, count int) (got []int) {
	t.Helper()
	for i := range count {
		if _, err := a.WriteToUDPAddrPort(binary.BigEndian.AppendUint32(nil, uint32(i)), at(b)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		got = append(got, waiting(t, b, 0)...)
	}
	return append(got, waiting(t, b, time.Second)...)
}

// waiting returns the numbers of datagrams that have arrived or arrive within d.
func waiting(t *testing.T, c *PacketConn, d time.Duration) (got []int) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(d + time.Nanosecond)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 16)
	for {
		n, _, err := c.ReadFromUDPAddrPort(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return got
		}
		if err != nil || n != 4 {
			t.Fatal(n, err)
		}
		got = append(got, int(binary.BigEndian.Uint32(buf)))
	}
}

func TestADatagramArrivesAtOnceOnAPerfectNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := packetPair(t, New(1))
		begun := time.Now()
		if _, err := a.WriteToUDPAddrPort([]byte("hello"), at(b)); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 3)
		n, from, err := b.ReadFromUDPAddrPort(buf)
		if string(buf[:n]) != "hel" || from != at(a) || err != nil || time.Since(begun) != 0 {
			t.Errorf("%q %v %v after %v", buf[:n], from, err, time.Since(begun))
		}
	})
}

func TestChanceIsWhatWasAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Seed(t))
		a, b := packetPair(t, n)
		n.SetAll(Condition{Delay: 20 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: 0.2, Duplicate: 0.1, Reorder: 0.1})
		const count = 10000
		got := flood(t, a, b, count)
		st := n.Path(at(a).Addr(), at(b).Addr()).Stats()
		seen := map[int]int{}
		older, newest := 0, -1
		for _, i := range got {
			seen[i]++
			if i < newest {
				older++
			}
			newest = max(newest, i)
		}
		if st.Sent != count || st.Delivered != int64(len(got)) || st.Lost != int64(count-len(seen)) ||
			st.Duplicated != int64(len(got)-len(seen)) || st.Overflow+st.TooBig+st.Nobody != 0 || st.Reordered < int64(older*9/10) {
			t.Errorf("%+v, got %d of which %d new, %d older", st, len(got), len(seen), older)
		}
		for what, share := range map[string][2]float64{
			"lost":       {float64(st.Lost) / count, 0.2},
			"duplicated": {float64(st.Duplicated) / count, 0.08}, // of the 80 % that are not lost
			"reordered":  {float64(st.Reordered) / count, 0.16},  // half of them are duplicates
		} {
			if share[0] < 0.9*share[1]-0.005 || share[0] > 1.1*share[1]+0.005 {
				t.Errorf("%s: %v, want %v", what, share[0], share[1])
			}
		}
	})
}

func TestDelayAndJitterKeepTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Seed(t))
		a, b := packetPair(t, n)
		n.SetAll(Condition{Delay: 20 * time.Millisecond, Jitter: 20 * time.Millisecond})
		got := flood(t, a, b, 1000)
		if len(got) != 1000 || n.Stats().Reordered != 0 {
			t.Fatalf("%d arrived, %+v", len(got), n.Stats())
		}
		for i, v := range got {
			if i != v {
				t.Fatalf("number %d in place %d", v, i)
			}
		}
	})
}

func TestTheSeedDecidesEverything(t *testing.T) {
	run := func(seed uint64) (trace string) {
		synctest.Test(t, func(t *testing.T) {
			n := New(seed)
			a, b := packetPair(t, n)
			n.SetAll(Condition{Delay: 5 * time.Millisecond, Jitter: 5 * time.Millisecond, Loss: 0.3, Duplicate: 0.2, Reorder: 0.2})
			trace = fmt.Sprint(flood(t, a, b, 200))
		})
		return trace
	}
	if first := run(7); first != run(7) {
		t.Error("the same seed, another run")
	} else if first == run(8) {
		t.Error("another seed, the same run")
	}
}

func TestBlockedAndNarrowPaths(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		a, b := packetPair(t, n)
		there := n.Path(at(a).Addr(), at(b).Addr())
		send := func(from, to *PacketConn, size int) int {
			_, _ = from.WriteToUDPAddrPort(make([]byte, size), at(to))
			return len(waiting(t, to, time.Second))
		}
		there.Block(true)
		if send(a, b, 4) != 0 || send(b, a, 4) != 1 {
			t.Error("half-open")
		}
		there.Block(false)
		n.Partition(at(a).Addr(), at(b).Addr(), true)
		if send(a, b, 4) != 0 || send(b, a, 4) != 0 {
			t.Error("partition")
		}
		n.Partition(at(a).Addr(), at(b).Addr(), false)
		n.Isolate(at(a).Addr(), true)
		if send(a, b, 4) != 0 || send(b, a, 4) != 0 {
			t.Error("isolated")
		}
		n.Isolate(at(a).Addr(), false)
		there.Set(Condition{MTU: 32})
		if send(a, b, 4) != 1 {
			t.Error("4 bytes do not fit into 32")
		}
		if _, _ = a.WriteToUDPAddrPort(make([]byte, 5), at(b)); len(waiting(t, b, time.Second)) != 0 {
			t.Error("5 bytes fit into 32")
		}
		if st := there.Stats(); st.Lost != 3 || st.TooBig != 1 || st.Delivered != 1 {
			t.Errorf("%+v", st)
		}
		there.Set(Condition{Delay: time.Second})
		_, _ = a.WriteToUDPAddrPort(make([]byte, 4), at(b))
		time.Sleep(time.Second / 2)
		there.Block(true)
		if len(waiting(t, b, time.Second)) != 0 {
			t.Error("what was under way arrived")
		}
	})
}

func TestQueuesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		a, b := packetPair(t, n)
		for range 3 * queueMax {
			_, _ = a.WriteToUDPAddrPort(make([]byte, 4), at(b))
		}
		if got := len(waiting(t, b, 0)); got != queueMax || n.Stats().Overflow != 2*queueMax {
			t.Errorf("%d waited, %+v", got, n.Stats())
		}
		n.SetAll(Condition{Delay: time.Second})
		for range flyingMax + 10 {
			_, _ = a.WriteToUDPAddrPort(make([]byte, 4), at(b))
		}
		if n.Stats().Overflow != 2*queueMax+10 {
			t.Errorf("%+v", n.Stats())
		}
	})
}

func TestConnectedPacketConn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1)
		a, b := packetPair(t, n)
		c, err := n.Node().DialPacket(at(b))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("out")); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 16)
		size, from, err := b.ReadFromUDPAddrPort(buf)
		if string(buf[:size]) != "out" || err != nil || from.String() != c.LocalAddr().String() {
			t.Fatal(size, from, err)
		}
		_, _ = a.WriteToUDPAddrPort([]byte("stranger"), from)
		_, _ = b.WriteToUDPAddrPort([]byte("back"), from)
		if size, err = c.Read(buf); string(buf[:size]) != "back" || err != nil {
			t.Fatalf("%q %v", buf[:size], err)
		}
		_ = c.SetDeadline(time.Now().Add(time.Second))
		if _, err = c.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Time{})
		time.AfterFunc(time.Second, func() { _ = c.Close() })
		if _, err = c.Read(buf); !errors.Is(err, net.ErrClosed) {
			t.Fatal(err)
		}
		if _, err := c.Write(buf); !errors.Is(err, net.ErrClosed) {
			t.Fatal(err)
		}
		_, _ = b.WriteToUDPAddrPort([]byte("late"), from)
		if n.Stats().Nobody != 1 {
			t.Errorf("%+v", n.Stats())
		}
	})
}
