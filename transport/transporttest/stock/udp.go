package stock

import (
	"net"
	"sync"
	"time"
)

const (
	retryFirst     = 100 * time.Millisecond
	retryMax       = 5 * time.Second
	datagramBuffer = 64 << 10
)

// RetryDelay returns how long the stock client waits after the n-th UDP_CONNECT, counted from 0, before it
// sends the next one: 100 ms, doubled each time, up to 5 s.
func RetryDelay(n int) time.Duration {
	if n >= 6 { // 100 ms x 2^6 is above the limit
		return retryMax
	}
	return retryFirst << max(n, 0)
}

// fastChannel is the UDP or DTLS side of one login. A new LOGIN_RESPONSE replaces it by a new one with new
// counters.
type fastChannel struct {
	client *Client
	via    Channel        // ChannelUDP or ChannelDTLS
	first  net.PacketConn // its first socket
	acked  chan struct{}  // closed when the first SERVER_ACK was handled
	stop   chan struct{}  // closed by shut

	mu      sync.Mutex
	conn    net.PacketConn // rebind replaces it
	server  net.Addr       // source of the last datagram, as in the .NET client
	next    int32          // sequence number of the next sent packet
	highest int32          // highest received sequence number
	shutYet bool
	isAcked bool
}

func newFastChannel(c *Client, conn net.PacketConn, server net.Addr, via Channel) *fastChannel {
	return &fastChannel{
		client: c, via: via, acked: make(chan struct{}), stop: make(chan struct{}),
		first: conn, conn: conn, server: server, highest: -1,
	}
}

// send numbers p and sends it. It does both under the lock, so packets are sent in the order of their
// numbers.
func (f *fastChannel) send(p Packet, sequence *int32) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if sequence != nil {
		p.SequenceNumber = *sequence
	} else {
		p.SequenceNumber = f.next
		f.next++
	}
	return f.writeLocked(EncodeUnit(p))
}

func (f *fastChannel) sendRaw(datagram []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.writeLocked(datagram)
}

func (f *fastChannel) writeLocked(datagram []byte) error {
	if f.shutYet {
		return ErrNoFast
	}
	_, err := f.conn.WriteTo(datagram, f.server)
	f.client.count(func(s *Stats) {
		if err != nil {
			s.UDPSendErrors++
		} else {
			s.SentUDP++
		}
	})
	return err
}

func (f *fastChannel) sendConnect() error {
	f.client.count(func(s *Stats) { s.UDPConnectSent++ })
	return f.send(f.client.handshakePacket(OpUDPConnect), nil)
}

// connectLoop repeats UDP_CONNECT until it is answered. The caller has sent the first one.
func (f *fastChannel) connectLoop() {
	for n := 0; ; n++ {
		timer := time.NewTimer(RetryDelay(n))
		select {
		case <-f.acked:
			timer.Stop()
			return
		case <-f.stop:
			timer.Stop()
			return
		case <-timer.C:
			_ = f.sendConnect() // an error is counted; the stock client continues as well
		}
	}
}

// readLoop receives from a socket until the socket is closed. With DTLS, the program has exited then.
func (f *fastChannel) readLoop(conn net.PacketConn) {
	if f.via == ChannelDTLS {
		defer f.client.fastEnded(f)
	}
	buf := make([]byte, datagramBuffer)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		f.client.receive(f, f.via, append([]byte(nil), buf[:n]...), false, from)
	}
}

// fresh checks the sequence number of a received datagram, and records where the datagram came from.
func (f *fastChannel) fresh(number int32, from net.Addr) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.server = from
	if number <= f.highest {
		return false
	}
	f.highest = number
	return true
}

// ack records the first SERVER_ACK. It returns false for later ones.
func (f *fastChannel) ack() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.isAcked {
		return false
	}
	f.isAcked = true
	close(f.acked)
	return true
}

// rebind continues on another socket with the same counters. It returns false if the channel is shut.
func (f *fastChannel) rebind(conn net.PacketConn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shutYet {
		return false
	}
	_ = f.conn.Close()
	f.conn = conn
	return true
}

func (f *fastChannel) localAddr() net.Addr {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.conn.LocalAddr()
}

// shut closes the channel. silently means without the close-notify of DTLS.
func (f *fastChannel) shut(silently bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shutYet {
		return
	}
	f.shutYet = true
	close(f.stop)
	if secure, ok := f.conn.(secureConn); ok && silently {
		secure.kill()
		return
	}
	_ = f.conn.Close()
}
