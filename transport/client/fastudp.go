package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"troupe/messages/wire"
)

// runUDP sets up the plain UDP channel (handshake -5, -6, -7, realtime.md 7). Whenever the path is dead, it sets the
// channel up again, until the connection ends.
func (f *fastChannel) runUDP(link net.Conn, port int) {
	connect := func(dst []byte, seq int32) []byte { return wire.AppendUDPConnect(dst, f.c.client.PeerID(), seq) }
	for first := true; ; first = false {
		ctx, cancel := context.WithTimeout(f.c.alive, handshakeTimeout)
		conn, err := f.c.client.o.dialBeside(ctx, link, port)
		cancel()
		if err != nil && first {
			f.fail(err)
		}
		if err != nil {
			if first || !wait(f.c.alive, time.Second) {
				return
			}
			continue // the network is gone at the moment
		}
		write := func(unit []byte) bool { _, err := conn.Write(unit); return err == nil }
		if !f.open(&fastPath{write, func() { conn.Close() }}, wire.OpServerAck) {
			conn.Close()
			return
		}
		f.c.spawn(func() { f.readUDP(conn) })
		if !f.ask(nil, connect) {
			return
		}
		f.acknowledge()
		f.announce()
		if err := f.watch(udpProbes, nil, connect); err == nil || !f.down(err) {
			return
		}
	}
}

// acknowledge confirms a -6. It also confirms a -6 that answers a probe: the host may have followed the client to
// another address and wait for the confirmation.
func (f *fastChannel) acknowledge() {
	f.send(func(dst []byte, seq int32) []byte { return wire.AppendClientAck(dst, f.c.client.PeerID(), seq) })
}

// readUDP receives until the socket is closed. Other read errors only report datagrams that were not delivered (ICMP).
func (f *fastChannel) readUDP(conn net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := conn.Read(buf)
		switch {
		case err == nil:
			f.c.onDatagram(buf[:n])
		case errors.Is(err, net.ErrClosed):
			return
		default:
			wait(f.c.alive, 10*time.Millisecond)
		}
	}
}

// dialBeside opens a UDP socket between the same two addresses as a TCP connection, because the host may insist on that.
func (o *Options) dialBeside(ctx context.Context, tcp net.Conn, port int) (net.Conn, error) {
	if port < 1 || port > 65535 {
		return nil, fmt.Errorf("the host announced port %d", port)
	}
	local, ok1 := tcp.LocalAddr().(*net.TCPAddr)
	remote, ok2 := tcp.RemoteAddr().(*net.TCPAddr)
	if !ok1 || !ok2 {
		return nil, errors.New("not a TCP connection")
	}
	to := netip.AddrPortFrom(remote.AddrPort().Addr(), uint16(port))
	return o.dialContext(ctx, "udp", local.AddrPort().Addr(), to.String())
}
