package faults

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"troupe/bench/faults/netns"
)

const insideTest = "TROUPE_TEST_INSIDE"

// inNamespaces has a test run by another process of this program, which is alone in a network namespace, and opens the layer there. In this
// process it returns nil; the test is over then. Where it cannot be, the test is skipped.
func inNamespaces(t *testing.T) *namespaces {
	t.Helper()
	if os.Getenv(insideTest) == t.Name() {
		n, err := openNamespaces()
		if errors.Is(err, netns.ErrUnsupported) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := n.close(); err != nil {
				t.Error(err)
			}
		})
		return n
	}
	var out bytes.Buffer
	cmd, err := netns.Start(func() *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), insideTest+"="+t.Name())
		cmd.Stdout, cmd.Stderr = &out, &out
		return cmd
	})
	if errors.Is(err, netns.ErrUnsupported) {
		t.Skip(err)
	}
	if err == nil {
		err = cmd.Wait()
	}
	switch {
	case err == nil && strings.Contains(out.String(), "--- SKIP: "+t.Name()):
		t.Skip(out.String())
	case err != nil || !strings.Contains(out.String(), "--- PASS: "+t.Name()):
		t.Fatalf("%v\n%s", err, &out)
	}
	t.Log(out.String())
	return nil
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// listen has a TCP listener and a UDP socket in the host's namespace.
func (n *namespaces) listen(t *testing.T) (*net.TCPListener, *net.UDPConn) {
	t.Helper()
	var listener *net.TCPListener
	var socket *net.UDPConn
	err := n.host.Do(func() (err error) {
		if listener, err = net.ListenTCP("tcp4", &net.TCPAddr{IP: hostAddr.Addr().AsSlice(), Port: wsPort}); err == nil {
			socket, err = net.ListenUDP("udp4", &net.UDPAddr{IP: hostAddr.Addr().AsSlice(), Port: kcpPort})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close(); socket.Close() })
	return listener, socket
}

func (n *namespaces) enter(t *testing.T, player int) *route {
	t.Helper()
	w, err := n.relay.open(1, player, fmt.Sprintf("h:%d", wsPort), fmt.Sprintf("h:%d", kcpPort))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w.(*route)
}

// pair connects a player to the listener.
func (w *route) pair(t *testing.T, listener *net.TCPListener) (player, host *net.TCPConn) {
	t.Helper()
	player = must[net.Conn](t)(net.DialTimeout("tcp", w.TCP(), patience)).(*net.TCPConn)
	host = must[*net.TCPConn](t)(listener.AcceptTCP())
	t.Cleanup(func() { player.Close(); host.Close() })
	for _, c := range []net.Conn{player, host} {
		_ = c.SetDeadline(time.Now().Add(patience))
	}
	return player, host
}

// A process in a namespace that others use is refused, so that their network stays as it is.
func TestHereMustBeNew(t *testing.T) {
	t.Parallel()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(all, func(i net.Interface) bool { return i.Flags&(net.FlagLoopback|net.FlagPointToPoint) == 0 }) {
		t.Skip("there is no interface here but lo")
	}
	if _, err := netns.Here(); err == nil {
		t.Error("it is not")
	}
}

// The kernel's TCP repairs what the relay loses and mixes up: the stream arrives whole, and the kernel says that it sent segments again.
func TestStreamOverALossyRelay(t *testing.T) {
	if testing.Short() {
		t.Skip("a MiB over a path that loses packets: TestNATOfTheRelay is the share of the kernel's TCP")
	}
	t.Parallel()
	n := inNamespaces(t)
	if n == nil {
		return
	}
	listener, _ := n.listen(t)
	w := n.enter(t, 0)
	player, host := w.pair(t, listener)
	end := w.Begin(Event{Fault: Link, Conditions: Conditions{Loss: 0.05, Duplicate: 0.02, Delay: Duration(4 * time.Millisecond), Jitter: Duration(2 * time.Millisecond)}})
	defer end()
	const size = 1 << 20
	text := make([]byte, size)
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(text)
	go func() { _, _ = io.Copy(host, host) }()
	go func() { _, _ = player.Write(text) }()
	got := make([]byte, size)
	if at, err := io.ReadFull(player, got); err != nil || !bytes.Equal(got, text) {
		t.Fatalf("after %d bytes: %v", at, err)
	}
	raw := must[syscall.RawConn](t)(player.SyscallConn())
	var info *unix.TCPInfo
	var failed error
	if err := raw.Control(func(fd uintptr) { info, failed = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) }); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	f := must[*Network](t)(n.figures())
	t.Logf("%d packets, %d dropped; sent again: %d segments, %d by the player", f.Packets, f.Dropped, f.Resent, info.Total_retrans)
	if share := float64(f.Dropped) / float64(f.Packets+f.Dropped); share < 0.02 || share > 0.2 {
		t.Errorf("%.1f %% of %d packets were dropped", share*100, f.Packets+f.Dropped)
	}
	if info.Total_retrans == 0 || f.Resent < uint64(info.Total_retrans) {
		t.Errorf("the player sent %d segments again, both %d", info.Total_retrans, f.Resent)
	}
}

// Real sockets see a reset, a handover and a NAT that forgets as docs/faults.md says.
func TestNATOfTheRelay(t *testing.T) {
	t.Parallel()
	n := inNamespaces(t)
	if n == nil {
		return
	}
	listener, socket := n.listen(t)
	w := n.enter(t, 3)
	datagrams := must[net.Conn](t)(net.Dial("udp", w.UDP()))
	defer datagrams.Close()
	_ = datagrams.SetDeadline(time.Now().Add(patience))
	_ = socket.SetDeadline(time.Now().Add(patience))
	b := make([]byte, 1500)
	from := func() net.UDPAddr { // of a datagram, whose answer comes back
		t.Helper()
		if _, err := datagrams.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		_, addr, err := socket.ReadFromUDP(b)
		if err == nil {
			_, err = socket.WriteToUDP([]byte("y"), addr)
		}
		if err == nil {
			_, err = datagrams.Read(b)
		}
		if err != nil {
			t.Fatal(err)
		}
		return *addr
	}
	reads := func(c *net.TCPConn) error {
		_, err := c.Read(b)
		return err
	}
	passes := func(player, host *net.TCPConn) {
		t.Helper()
		for range 2 {
			if _, err := player.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			if err := reads(host); err != nil {
				t.Fatal(err)
			}
			player, host = host, player
		}
	}

	player, host := w.pair(t, listener)
	passes(player, host)
	first := from()
	w.Begin(Event{Fault: Reset})
	for who, c := range map[string]*net.TCPConn{"player": player, "host": host} {
		if err := reads(c); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("reset: the %s: %v", who, err)
		}
	}
	if now := from(); !now.IP.Equal(first.IP) || now.Port == first.Port {
		t.Errorf("reset: from %v, then %v", &first, &now)
	}

	player, host = w.pair(t, listener)
	passes(player, host)
	before := host.RemoteAddr().(*net.TCPAddr)
	w.Begin(Event{Fault: Handover})
	if err := reads(player); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("handover: the player: %v", err)
	}
	other, after := w.pair(t, listener)
	passes(other, after)
	if now := after.RemoteAddr().(*net.TCPAddr); now.IP.Equal(before.IP) || !from().IP.Equal(now.IP) {
		t.Errorf("handover: from %v, then %v", before, now)
	}
	if _, err := host.Write([]byte("x")); err != nil { // it has heard nothing
		t.Errorf("handover: the host: %v", err)
	}

	last := from()
	w.Begin(Event{Fault: Rebind})
	if now := from(); !now.IP.Equal(last.IP) || now.Port == last.Port {
		t.Errorf("rebind: from %v, then %v", &last, &now)
	}
	if _, err := other.Write([]byte("x")); err != nil {
		t.Error(err)
	}
	_ = after.SetReadDeadline(time.Now().Add(300 * time.Millisecond)) // what never comes cannot be waited for
	if err := reads(after); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("rebind: the host: %v", err)
	}

	end := w.Begin(Event{Fault: Link, Conditions: Conditions{MTU: 600}})
	for _, size := range []int{573, 572} { // with 28 bytes of headers: one too many, and just enough
		if _, err := datagrams.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	if got, _, err := socket.ReadFromUDP(b); err != nil || got != 572 {
		t.Errorf("%d bytes came first, %v", got, err)
	}
	end()
}
