package suite

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"troupe/bench/result"
	"troupe/bench/server"
	"troupe/transport/dtls"
	"troupe/transport/kcp"
)

// echo loads a process that echoes. Each peer sends its next message when it has the last one back, so the process is busy and
// latencies would tell about the number of peers: there is CPU per echo only.
func (r *run) echo(ctx context.Context, spec server.Spec) (result.Round, error) {
	return r.busy(ctx, spec, "cpu_echo_us", "echoes_per_s", "switches_echo", func(ctx context.Context, proc *server.Process, _ int, echoes *atomic.Int64) (func(), error) {
		p, err := newEchoPeer(ctx, proc)
		if err != nil {
			return nil, err
		}
		return func() { p.run(ctx, make([]byte, r.p.Payload), echoes) }, nil
	})
}

// busy loads a process with peers that have always something under way, and measures what the process spends on one of the
// things that they count. cost, rate and switches are the names of the figures; switches may be empty. enter brings a peer in and
// returns what it does until its context ends.
func (r *run) busy(ctx context.Context, spec server.Spec, cost, rate, switches string,
	enter func(ctx context.Context, proc *server.Process, peer int, count *atomic.Int64) (func(), error)) (round result.Round, err error) {
	round.Figures = make(result.Figures)
	err = r.with(ctx, spec, func(proc *server.Process) error {
		ctx, cancel := context.WithCancel(ctx)
		var peers sync.WaitGroup
		defer peers.Wait()
		defer cancel()
		var count atomic.Int64
		for peer := range r.p.Players {
			play, err := enter(ctx, proc, peer, &count)
			if err != nil {
				return errors.Join(err, proc.Alive())
			}
			peers.Go(play)
		}
		if err := rest(ctx, r.p.Warmup); err != nil {
			return err
		}
		m := r.meter(proc, nil)
		if err := m.read(&m.start); err != nil {
			return err
		}
		from := count.Load()
		if err := rest(ctx, r.p.Measure); err != nil {
			return err
		}
		n := float64(count.Load() - from)
		if err := m.read(&m.end); err != nil {
			return err
		}
		if n == 0 {
			return errors.New("the peers have got nothing back")
		}
		for name, v := range m.figures() {
			round.Figures.Set(name, v)
		}
		round.Figures.Set(cost, float64(m.cpu())/float64(time.Microsecond)/n)
		round.Figures.Set(rate, n/m.end.at.Sub(m.start.at).Seconds())
		if switches != "" {
			round.Figures.Set(switches, float64(m.end.usage.Switches()-m.start.usage.Switches())/n)
		}
		return nil
	})
	return round, err
}

// echoPeer sends one message, waits for its echo, and sends the next.
type echoPeer struct {
	send  func(b []byte) error
	close func()
	got   chan struct{}
}

// echoPatience is how long a lost echo is waited for.
const echoPatience = 200 * time.Millisecond

func (p *echoPeer) run(ctx context.Context, message []byte, echoes *atomic.Int64) {
	defer p.close()
	timer := time.NewTimer(echoPatience)
	defer timer.Stop()
	for ctx.Err() == nil {
		if p.send(message) != nil {
			return
		}
		timer.Reset(echoPatience)
		select {
		case <-p.got:
			echoes.Add(1)
		case <-timer.C: // lost; over KCP it is still to come
		case <-ctx.Done():
			return
		}
	}
}

func (p *echoPeer) signal() {
	select {
	case p.got <- struct{}{}:
	default:
	}
}

func newEchoPeer(ctx context.Context, proc *server.Process) (*echoPeer, error) {
	p, kind, addr := &echoPeer{got: make(chan struct{}, 1)}, proc.Spec.Name, proc.Announce.WS
	if kind == overUDP {
		return p, p.plain(addr)
	}
	trust, err := proc.TLS()
	if err != nil {
		return nil, err
	}
	o := dtls.DialOptions{Addr: addr, Roots: trust.RootCAs, ServerName: trust.ServerName}
	if kind == overKCP {
		s, err := kcp.Dial(ctx, kcp.DialOptions{DTLS: o}, kcpPeer{p})
		if err != nil {
			return nil, fmt.Errorf("echo: %w", err)
		}
		p.send, p.close = func(b []byte) error { return s.Send(ctx, b) }, s.Abort
		return p, nil
	}
	a, err := dtls.Dial(ctx, o, func(*dtls.Association) dtls.Handler { return dtlsPeer{p} })
	if err != nil {
		return nil, fmt.Errorf("echo: %w", err)
	}
	p.send, p.close = func(b []byte) error { a.Write(b); return nil }, a.Close
	return p, nil
}

func (p *echoPeer) plain(addr string) error {
	conn, err := net.Dial("udp", addr)
	if err != nil {
		return fmt.Errorf("echo: %w", err)
	}
	p.send = func(b []byte) error { _, err := conn.Write(b); return err }
	p.close = func() { conn.Close() }
	go func() {
		buf := make([]byte, 2048)
		for {
			if _, err := conn.Read(buf); err != nil {
				return
			}
			p.signal()
		}
	}()
	return nil
}

type dtlsPeer struct{ p *echoPeer }

func (d dtlsPeer) OnRecord([]byte) { d.p.signal() }
func (dtlsPeer) OnClosed(error)    {}

type kcpPeer struct{ p *echoPeer }

func (k kcpPeer) OnMessage([]byte)     { k.p.signal() }
func (kcpPeer) OnDatagram([]byte)      {}
func (kcpPeer) OnClosed(kcp.StreamEnd) {}
