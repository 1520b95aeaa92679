package memnet

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// backlogMax is the maximum number of connections that wait to be accepted. Further handshakes are retried.
const backlogMax = 256

// Listener accepts streams. It implements net.Listener.
type Listener struct {
	n     *Network
	local netip.AddrPort

	filled  sync.Cond // its lock is the network's, which guards the fields below
	backlog []*Stream
	closed  bool
}

// Listen opens a listener. Port 0 selects a free port.
func (d *Node) Listen(port uint16) (*Listener, error) {
	return d.n.listen(netip.AddrPortFrom(d.addr, port))
}

func (n *Network) listen(on netip.AddrPort) (*Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	at, err := n.bind(on.Addr(), on.Port(), func(at netip.AddrPort) bool { return n.listeners[at] != nil })
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Err: err}
	}
	l := &Listener{n: n, local: at}
	l.filled.L = &n.mu
	n.listeners[at] = l
	return l, nil
}

// Accept implements net.Listener; the connection is a *Stream.
func (l *Listener) Accept() (net.Conn, error) {
	l.n.mu.Lock()
	defer l.n.mu.Unlock()
	for len(l.backlog) == 0 && !l.closed {
		l.filled.Wait()
	}
	if l.closed {
		return nil, l.failed("accept")
	}
	s := l.backlog[0]
	l.backlog = l.backlog[1:]
	return s, nil
}

// Close implements net.Listener. It resets connections that were not accepted.
func (l *Listener) Close() error {
	l.n.mu.Lock()
	defer l.n.mu.Unlock()
	if l.closed {
		return l.failed("close")
	}
	l.closed = true
	delete(l.n.listeners, l.local)
	for _, s := range l.backlog {
		s.reset()
	}
	l.filled.Broadcast()
	return nil
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return net.TCPAddrFromAddrPort(l.local) }

func (l *Listener) failed(op string) error {
	return &net.OpError{Op: op, Net: "tcp", Addr: l.Addr(), Err: net.ErrClosed}
}

// dialing is one attempt to connect. The network's lock guards it.
type dialing struct {
	n        *Network
	from, to netip.AddrPort
	outcome  chan error // receives the single result
	stream   *Stream
	over     bool
}

// Dial connects to a listener. It takes one round trip. If the address is unreachable, it waits until ctx
// ends.
func (d *Node) Dial(ctx context.Context, to netip.AddrPort) (*Stream, error) {
	return d.n.dial(ctx, d.addr, to)
}

func (n *Network) dial(ctx context.Context, from netip.Addr, to netip.AddrPort) (*Stream, error) {
	n.mu.Lock()
	local, err := n.bind(from, 0, func(netip.AddrPort) bool { return false })
	g := &dialing{n: n, from: local, to: to, outcome: make(chan error, 1)}
	if err == nil {
		g.knock(time.Now())
	}
	n.mu.Unlock()
	if err == nil {
		select {
		case err = <-g.outcome:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	g.over = true
	if err != nil {
		if g.stream != nil {
			g.stream.reset()
		}
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(to), Err: err}
	}
	return g.stream, nil
}

// knock sends the first segment of the handshake.
func (g *dialing) knock(now time.Time) {
	if g.over {
		return
	}
	p := g.n.path(g.from.Addr(), g.to.Addr())
	if p.dark() {
		p.stats.Sent++
		p.stats.Lost++
		g.n.at(now.Add(rto), g.knock)
		return
	}
	g.n.after(now, p.segment(0), g.answer)
}

// answer handles the first segment at the listener's side.
func (g *dialing) answer(now time.Time) {
	l := socketAt(g.n.listeners, g.to)
	back := g.n.path(g.to.Addr(), g.from.Addr())
	switch {
	case g.over:
	case l == nil:
		g.n.after(now, back.segment(0), func(time.Time) { g.outcome <- syscall.ECONNREFUSED })
	case len(l.backlog) >= backlogMax || back.dark():
		g.n.at(now.Add(rto), g.knock)
	default:
		var accepted *Stream
		g.stream, accepted = newStreams(g.n, g.from, g.to)
		l.backlog = append(l.backlog, accepted)
		l.filled.Signal()
		g.n.after(now, back.segment(0), func(time.Time) { g.outcome <- nil })
	}
}

// after calls fire after d, or immediately if d is 0.
func (n *Network) after(now time.Time, d time.Duration, fire func(now time.Time)) {
	if d <= 0 {
		fire(now)
		return
	}
	n.at(now.Add(d), fire)
}
