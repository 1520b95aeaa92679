package client_test

import (
	"crypto/tls"
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"troupe/messages/wire"
	"troupe/transport"
	"troupe/transport/client"
	"troupe/transport/transporttest/hosttest"
)

// hang ends a test that hangs. These tests show behaviour of the kernel's sockets; each step waits for an event.
const hang = 5 * time.Minute

// Without a DialContext the client opens the operating system's sockets, for both channels of every transport.
func TestTheKernelsSockets(t *testing.T) {
	g, err := startGame(t.Context(), hosttest.System, "127.0.0.1:0", secured(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.close)
	a := g.host.Addrs()
	for over, addr := range map[client.Transport]string{client.WS: a.WS, client.WSS: a.WSS, client.KCP: a.WSS} {
		id, err := g.seat(t.Context(), over.String())
		if err != nil {
			t.Fatal(err)
		}
		c, err := client.Dial(t.Context(), client.Options{
			Addr: addr, KCPAddr: a.KCP, PlayerSessionID: id, Transport: over, Fast: true, TLS: &tls.Config{RootCAs: g.roots(), ServerName: "localhost"},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Abort)
		if e := <-c.Events(); e.Kind != client.EventFastUp {
			t.Errorf("%s: %+v", over, e)
		}
		if err := c.Send(t.Context(), client.Message{OpCode: 3, TargetPlayer: c.PeerID(), Intent: client.Fast}); err != nil {
			t.Error(err)
		}
		if e := <-c.Events(); e.OpCode != 3 || c.Stats().Fast.Sent == 0 {
			t.Errorf("%s: %+v, %+v", over, e, c.Stats())
		}
	}
}

// Abort resets the TCP connection, so the host notices at once that the player is lost, even if input is waiting.
// Before that, the kernel refuses the client's datagrams (ICMP port unreachable). That must not end the fast channel,
// because the host may start to listen later.
func TestResetsAndRefusedDatagrams(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := udp.LocalAddr().(*net.UDPAddr).Port
	udp.Close()
	w := web{T: t}
	r := w.serve(tcp, nil, &wire.LoginResult{Success: true, PeerID: 3, FastPort: int32(port)}, nil)
	c, p := r.dial(client.Options{Addr: tcp.Addr().String(), PlayerSessionID: "p", Fast: true})
	// On loopback the first datagram is refused before the second one is sent.
	for late := time.Now().Add(hang); c.Stats().Fast.Sent < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("no other handshake: %+v", c.Stats())
		}
	}
	if udp, err = net.ListenPacket("udp", udp.LocalAddr().String()); err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	b := make([]byte, 2048)
	n, from, err := udp.ReadFrom(b)
	if h, bad := header(b[:n]); err != nil || bad != nil || h.OpCode != wire.OpUDPConnect {
		t.Fatalf("%+v, %v, %v", h, err, bad)
	}
	if _, err := udp.WriteTo(wire.AppendMessage(nil, &wire.Header{OpCode: wire.OpServerAck, Sender: client.Server}), from); err != nil {
		t.Fatal(err)
	}
	if e := <-c.Events(); e.Kind != client.EventFastUp {
		t.Errorf("got %+v", e)
	}
	c.Abort()
	var end transport.End
	select {
	case end = <-p.closed:
	case <-time.After(hang):
	}
	if end.Clean || !errors.Is(end.Err, syscall.ECONNRESET) {
		t.Errorf("the host sees %+v", end)
	}
}
