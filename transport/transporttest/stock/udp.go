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

// RetryDelay returns how long the stock client waits after UDP_CONNECT number n, counted from 0, before it sends the
// next: 100 ms doubling up to 5 s.
func RetryDelay(n int) time.Duration {
	if n >= 6 { // 100 ms x 2^6 is above the limit
		return retryMax
	}
	return retryFirst << max(n, 0)
}

// fastChannel is the UDP or DTLS side of one login. A new LOGIN_RESPONSE replaces it by a new one, with fresh counters.
type fastChannel struct {
	client *Client
	via    Channel        // ChannelUDP or ChannelDTLS
	first  net.PacketConn // the socket it began with
	acked  chan struct{}  // closed when the first SERVER_ACK was handled
	stop   chan struct{}  // closed by shut

	mu      sync.Mutex
	conn    net.PacketConn // replaced by rebind
	server  net.Addr       // follows the source of the last datagram, as the .NET client does
	next    int32          // number of the next packet sent
	highest int32          // highest number received
	shutYet bool
	isAcked bool
}

func newFastChannel(c *Client, conn net.PacketConn, server net.Addr, via Channel) *fastChannel {
	return &fastChannel{
		client: c, via: via, acked: make(chan struct{}), stop: make(chan struct{}),
		first: conn, conn: conn, server: server, highest: -1,
	}
}

// send numbers p and sends it. Number and position on the wire agree because both happen under the lock.
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

// connectLoop repeats UDP_CONNECT until it is answered. The first one was sent by whoever started the loop.
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
			_ = f.sendConnect() // counted; the stock client goes on too
		}
	}
}

// readLoop receives from one socket until that socket is closed. With DTLS the program behind it has ended then.
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

// fresh applies the sequence rule to a received number and remembers where the datagram came from.
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

// ack notes the first SERVER_ACK and reports whether this was it.
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

// rebind goes on from another socket with the same counters. It reports false when the channel is shut.
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

// shut closes the channel; silently means without the close-notify of DTLS.
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
