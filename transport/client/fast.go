package client

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"troupe/messages/wire"
)

// Retries of UDP_CONNECT, as the official clients do them (realtime.md 7.1).
const (
	retryFirst = 100 * time.Millisecond
	retryMax   = 5 * time.Second
)

// fastChannel is the plain UDP side of one login.
type fastChannel struct {
	c    *Client
	conn *net.UDPConn // connected to the host

	acked chan struct{} // closed when the host has answered

	// guarded by mu, so that numbers and datagrams go in the same order
	mu      sync.Mutex
	next    int32 // number of the next packet sent
	highest int32 // highest number received
	isUp    bool
}

// openFast opens the socket beside a logged-in WebSocket: from the same address,
// because the host may insist on it, to the same machine.
func (c *Client) openFast(tcp net.Conn, port int) (*fastChannel, error) {
	if port < 1 || port > 65535 {
		return nil, fmt.Errorf("the host announced port %d", port)
	}
	local, ok1 := tcp.LocalAddr().(*net.TCPAddr)
	remote, ok2 := tcp.RemoteAddr().(*net.TCPAddr)
	if !ok1 || !ok2 {
		return nil, errors.New("not a TCP connection")
	}
	conn, err := net.DialUDP("udp", &net.UDPAddr{IP: local.IP, Zone: local.Zone}, &net.UDPAddr{IP: remote.IP, Port: port, Zone: remote.Zone})
	if err != nil {
		return nil, err
	}
	f := &fastChannel{c: c, conn: conn, acked: make(chan struct{}), highest: -1}
	c.loops.Go(f.readAll)
	c.loops.Go(f.connect)
	return f, nil
}

func (f *fastChannel) close() { f.conn.Close() }

func (f *fastChannel) up() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.isUp
}

// connect repeats UDP_CONNECT until it is answered.
func (f *fastChannel) connect() {
	for delay := retryFirst; ; delay = min(2*delay, retryMax) {
		// An error is as good as a lost datagram.
		f.send(func(seq int32) []byte { return wire.AppendUDPConnect(nil, f.c.peer, seq) })
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-f.acked:
			timer.Stop()
			return
		case <-f.c.stopping:
			timer.Stop()
			return
		}
	}
}

// acknowledge answers the host's first answer and reports whether it was that.
func (f *fastChannel) acknowledge() bool {
	f.mu.Lock()
	first := !f.isUp
	f.isUp = true
	f.mu.Unlock()
	if first {
		close(f.acked)
		f.send(func(seq int32) []byte { return wire.AppendClientAck(nil, f.c.peer, seq) })
	}
	return first
}

// send numbers and sends one packet. That a datagram is lost is no error, but
// that the connection has ended is.
func (f *fastChannel) send(unit func(seq int32) []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.conn.Write(unit(f.next))
	f.next++
	if errors.Is(err, net.ErrClosed) {
		return ErrClosed
	}
	f.c.stats.sentFast.Add(1)
	return nil
}

// fresh applies the sequence rule (realtime.md 9).
func (f *fastChannel) fresh(seq int32) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if seq <= f.highest {
		return false
	}
	f.highest = seq
	return true
}

// readAll receives until the socket is closed. Other errors tell of datagrams
// that did not get through; they are ignored, but not in a tight loop.
func (f *fastChannel) readAll() {
	buf := make([]byte, 64<<10)
	for {
		n, err := f.conn.Read(buf)
		switch {
		case err == nil:
			f.c.stats.receivedFast.Add(1)
			f.c.packet(buf[:n], f)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			timer := time.NewTimer(10 * time.Millisecond)
			select {
			case <-timer.C:
			case <-f.c.stopping:
			}
			timer.Stop()
		}
	}
}
