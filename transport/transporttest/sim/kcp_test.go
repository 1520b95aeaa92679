package sim

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"troupe/messages/counters"
	"troupe/transport"
	"troupe/transport/dtls"
	"troupe/transport/kcp"
	"troupe/transport/transporttest"
	"troupe/transport/transporttest/memnet"
	"troupe/transport/transporttest/stock"
)

// Ports of the host.
const (
	portWS  = 1900
	portKCP = 1901
)

// openKCP opens the host's UDP socket with DTLS and KCP, like package host.
func (r *run) openKCP(gw transport.Acceptor, nextID func() uint64) {
	cert, _ := transporttest.Trusted()
	r.kcp = kcp.NewListener(kcp.Options{Counters: r.count, NextID: nextID}, gw)
	// The handshake limits assume one address per player; a plan has two addresses per player.
	r.kcpUDP = sure(dtls.Listen(dtls.Options{Conn: sure(r.node.ListenPacket(portKCP)), Certificate: func() *tls.Certificate { return cert },
		Counters: r.count, Channel: counters.KCP}, r.kcp))
}

// kcpSocket is the client side of KCP in DTLS, as in Troupe's client.
type kcpSocket struct {
	path   *kcpPath
	stream *kcp.Stream
	onFast func(unit []byte)
	in     chan []byte
	done   chan struct{} // closed after end is set
	end    kcp.StreamEnd
	gone   chan struct{} // closed when reading has stopped
	leave  sync.Once
}

// kcpPath is the UDP socket. While asleep is set, it sends nothing.
type kcpPath struct {
	net.Conn
	spoke, heard *atomic.Int64 // spoke belongs to the player, heard to this socket; times in ns
	asleep       atomic.Bool
}

func (p *kcpPath) Write(b []byte) (int, error) {
	if p.asleep.Load() {
		return len(b), nil
	}
	p.spoke.Store(time.Now().UnixNano())
	return p.Conn.Write(b)
}

func (p *kcpPath) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	p.heard.Store(time.Now().UnixNano())
	return n, err
}

// sendQueue is larger than what any plan sends on one connection, so writing never blocks.
const sendQueue = 1 << 16

func openKCPSocket(p *player, from *memnet.Node, host netip.Addr, onFast func(unit []byte)) (*kcpSocket, error) {
	conn := sure(from.DialPacket(netip.AddrPortFrom(host, portKCP)))
	s := &kcpSocket{
		path:   &kcpPath{Conn: conn, spoke: &p.spokeKCP, heard: new(atomic.Int64)},
		onFast: onFast, in: make(chan []byte), done: make(chan struct{}), gone: make(chan struct{}),
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	_, roots := transporttest.Trusted()
	stream, err := kcp.Dial(ctx, kcp.DialOptions{QueueMax: sendQueue,
		DTLS: dtls.DialOptions{Conn: s.path, Roots: roots, ServerName: "localhost", Sessions: p.sessions}}, s)
	s.stream = stream
	if err != nil {
		s.reset()
		return nil, err
	}
	return s, nil
}

// OnMessage implements kcp.StreamHandler. It blocks while the device does not read.
func (s *kcpSocket) OnMessage(b []byte) {
	select {
	case <-s.gone: // drop all further messages: otherwise a later one could get through without an earlier one
		return
	default:
	}
	select {
	case s.in <- append([]byte(nil), b...):
	case <-s.gone:
	}
}

// OnDatagram implements kcp.StreamHandler.
func (s *kcpSocket) OnDatagram(b []byte) { s.onFast(b) }

// OnClosed implements kcp.StreamHandler.
func (s *kcpSocket) OnClosed(end kcp.StreamEnd) {
	s.end = end
	close(s.done)
}

func (s *kcpSocket) write(op byte, b []byte) error {
	if op == stock.FrameClose {
		go s.stream.Close(uint16(b[0])<<8 | uint16(b[1]))
		return nil
	}
	return s.stream.Send(context.Background(), b)
}

func (s *kcpSocket) read() (op byte, b []byte, err error) {
	select {
	case b = <-s.in:
		return stock.FrameBinary, b, nil
	case <-s.done:
	}
	if code := s.end.Code; code != 0 {
		return stock.FrameClose, []byte{byte(code >> 8), byte(code)}, nil
	}
	if s.end.Err == nil {
		return 0, nil, net.ErrClosed
	}
	return 0, nil, s.end.Err
}

func (s *kcpSocket) lastHeard() time.Time { return time.Unix(0, s.path.heard.Load()) }

func (s *kcpSocket) sleep() { s.path.asleep.Store(true) }

// reset sends a close-notify, which the network may lose. It must not block: the caller may hold the run's
// lock, and the socket's reader may wait for that lock.
func (s *kcpSocket) reset() {
	s.leave.Do(func() {
		close(s.gone)
		if s.stream != nil {
			go s.stream.Abort()
		}
	})
}

// fast handles a datagram of the fast channel. Like a client, it drops late datagrams.
func (l *link) fast(unit []byte) {
	d := l.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.idle() || !l.in {
		return
	}
	m, err := decode(unit)
	switch {
	case err != nil:
		d.failf("RL-4: player %d cannot read a datagram: %v", d.index, err)
	case m.OpCode != opFast || m.relSeq != 0 || m.ack != 0:
		d.failf("RL-5: player %d got a datagram with op code %d, number %d, ack %d", d.index, m.OpCode, m.relSeq, m.ack)
	case m.SequenceNumber >= l.fastNext:
		l.fastNext = m.SequenceNumber + 1
		d.note(d.player, "datagram", int64(l.number), int64(m.SequenceNumber))
		d.fits(l, &m)
	}
}
