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

// openKCP opens the host's UDP socket, with DTLS and KCP as package host does.
func (r *run) openKCP(gw transport.Acceptor, nextID func() uint64) {
	cert, _ := transporttest.Trusted()
	r.kcp = kcp.NewListener(kcp.Options{Counters: r.count, NextID: nextID}, gw)
	// The limit on handshakes is meant for one address per player; here a plan has two.
	r.kcpUDP = sure(dtls.Listen(dtls.Options{Conn: sure(r.node.ListenPacket(portKCP)), Certificate: func() *tls.Certificate { return cert },
		Counters: r.count, Channel: counters.KCP}, r.kcp))
}

// kcpSocket is the client side of KCP in DTLS: the one that Troupe's own client uses.
type kcpSocket struct {
	path   *kcpPath
	stream *kcp.Stream
	onFast func(unit []byte)
	in     chan []byte
	done   chan struct{} // closed after the end is set
	end    kcp.StreamEnd
	gone   chan struct{} // nobody reads any more
	leave  sync.Once
}

// kcpPath is the UDP socket. A sleeping device sends nothing from it.
type kcpPath struct {
	net.Conn
	spoke, heard *atomic.Int64 // of the player, of the socket; times in ns
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

// sendQueue is more than any plan sends on one connection, so that writing never waits.
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

// OnMessage implements kcp.StreamHandler: the host waits for a device that reads nothing.
func (s *kcpSocket) OnMessage(b []byte) {
	select {
	case <-s.gone: // or some would get through, and not what came before them
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

// reset says a close_notify, which the network may lose. It does not wait: the caller may hold the
// run's lock, for which the socket's reader may wait.
func (s *kcpSocket) reset() {
	s.leave.Do(func() {
		close(s.gone)
		if s.stream != nil {
			go s.stream.Abort()
		}
	})
}

// fast handles a datagram of the fast channel; a client drops those that are late.
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
