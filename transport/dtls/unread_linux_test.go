package dtls

import (
	"net"
	"testing"
	"time"
)

// TestArrivalsAsksTheKernel checks that unread datagrams are detected, without an allocation.
func TestArrivalsAsksTheKernel(t *testing.T) {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	a := newArrivals(conn)
	check := func(want bool) {
		t.Helper()
		a.at = time.Time{}
		if a.unread() != want {
			t.Errorf("unread: %v", !want)
		}
	}
	check(false)
	send := func(n int) {
		for range n {
			if _, err := conn.WriteToUDPAddrPort([]byte("a"), conn.LocalAddr().(*net.UDPAddr).AddrPort()); err != nil {
				t.Fatal(err)
			}
		}
	}
	send(10)
	check(false) // even a reader that keeps up may have that many unread for a moment
	send(200)
	check(true)
	if n := testing.AllocsPerRun(100, func() { a.at = time.Time{}; a.unread() }); n != 0 && !raceEnabled {
		t.Errorf("%v allocations", n)
	}
	for range 210 {
		if _, _, err := conn.ReadFromUDPAddrPort(make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
	}
	check(false)
	conn.Close()
	check(false)
	if newArrivals("no socket").unread() {
		t.Error("something that is no socket has arrivals")
	}
}
