package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"troupe/bench/report"
	"troupe/bench/server"
	"troupe/transport/dtls"
	"troupe/transport/kcp"
)

// echoResult is what echoes of one kind cost the process that serves them.
type echoResult struct {
	Kind     string        `json:"kind"`
	Messages int64         `json:"messages"` // echoed, all rounds
	Micros   report.Spread `json:"cpu_micros_per_echo"`
	Switches report.Spread `json:"switches_per_echo"`
}

// kinds in the order of the table.
var kinds = []string{plainUDP, overDTLS, overKCP}

// measureEchoes runs the kinds in turn, a round each, and swaps their order
// between rounds.
func measureEchoes(ctx context.Context, o *options) ([]echoResult, error) {
	micros, switches := map[string][]float64{}, map[string][]float64{}
	count := map[string]int64{}
	for round := range o.Rounds {
		for i := range kinds {
			kind := kinds[i]
			if round%2 == 1 {
				kind = kinds[len(kinds)-1-i]
			}
			n, cost, err := echoRound(ctx, o, kind)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", kind, err)
			}
			count[kind] += n
			micros[kind] = append(micros[kind], float64(cost.CPU().Microseconds())/float64(n))
			switches[kind] = append(switches[kind], float64(cost.Switches())/float64(n))
		}
	}
	var all []echoResult
	for _, kind := range kinds {
		all = append(all, echoResult{Kind: kind, Messages: count[kind], Micros: report.SpreadOf(micros[kind]), Switches: report.SpreadOf(switches[kind])})
	}
	return all, nil
}

func printEchoes(all []echoResult) []report.Bar {
	fmt.Printf("\necho of %d bytes, one process on one core: CPU of that process per echo (one message in, one out)\n", payloadBytes)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "over\tus per echo\tto plain UDP\tswitches per echo\techoes")
	by := map[string]float64{}
	for _, r := range all {
		by[r.Kind] = r.Micros.Median
		fmt.Fprintf(w, "%s\t%s\t%.2f\t%s\t%d\n", r.Kind, r.Micros.Format(2), r.Micros.Median/by[plainUDP], r.Switches.Format(2), r.Messages)
	}
	w.Flush()
	ratio, beyond := by[overDTLS]/by[plainUDP], (by[overKCP]-by[overDTLS])/2
	return []report.Bar{
		{Name: "CPU of a DTLS echo to a plain UDP echo", Limit: 2.2, Got: ratio, Met: ratio <= 2.2},
		{Name: "us of CPU per KCP message beyond DTLS", Limit: 1.5, Got: beyond, Met: beyond <= 1.5},
	}
}

// warmUp is left out of every measurement.
const warmUp = 500 * time.Millisecond

// echoRound loads one echo server and returns the echoes and what they cost it.
func echoRound(ctx context.Context, o *options, kind string) (n int64, cost server.Usage, err error) {
	c, err := startEcho(ctx, kind)
	if err != nil {
		return 0, cost, err
	}
	defer c.stop()
	ctx, cancel := context.WithCancel(ctx)
	var peers sync.WaitGroup
	defer peers.Wait()
	defer cancel()
	var echoes atomic.Int64
	for range o.Peers {
		p, err := newPeer(ctx, c, kind)
		if err != nil {
			return 0, cost, err
		}
		peers.Go(func() { p.run(ctx, &echoes) })
	}
	time.Sleep(warmUp)
	before, err := server.UsageOf(c.cmd.Process.Pid)
	from := echoes.Load()
	time.Sleep(o.For)
	n = echoes.Load() - from
	after, err2 := server.UsageOf(c.cmd.Process.Pid)
	if err = errors.Join(err, err2); err == nil && n == 0 {
		err = errors.New("nothing was echoed")
	}
	cost = server.Usage{User: after.User - before.User, System: after.System - before.System,
		Voluntary: after.Voluntary - before.Voluntary, Involuntary: after.Involuntary - before.Involuntary}
	return n, cost, err
}

// peer sends one message, waits for its echo, and sends the next.
type peer struct {
	send  func(b []byte) error
	close func()
	got   chan struct{}
}

// patience is how long a lost echo is waited for.
const patience = 200 * time.Millisecond

func (p *peer) run(ctx context.Context, echoes *atomic.Int64) {
	defer p.close()
	message := make([]byte, payloadBytes)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for ctx.Err() == nil {
		if p.send(message) != nil {
			return
		}
		timer.Reset(patience)
		select {
		case <-p.got:
			echoes.Add(1)
		case <-timer.C: // lost; over KCP it is still to come
		case <-ctx.Done():
			return
		}
	}
}

func (p *peer) signal() {
	select {
	case p.got <- struct{}{}:
	default:
	}
}

func newPeer(ctx context.Context, c *child, kind string) (*peer, error) {
	p := &peer{got: make(chan struct{}, 1)}
	if kind == plainUDP {
		return p, p.plain(c.Addr)
	}
	roots, err := readRoots(c.CA)
	if err != nil {
		return nil, err
	}
	o := dtls.DialOptions{Addr: c.Addr, Roots: roots, ServerName: "localhost"}
	if kind == overKCP {
		s, err := kcp.Dial(ctx, kcp.DialOptions{DTLS: o}, kcpPeer{p})
		if err != nil {
			return nil, err
		}
		p.send, p.close = func(b []byte) error { return s.Send(ctx, b) }, s.Abort
		return p, nil
	}
	a, err := dtls.Dial(ctx, o, func(*dtls.Association) dtls.Handler { return dtlsPeer{p} })
	if err != nil {
		return nil, err
	}
	p.send, p.close = func(b []byte) error { a.Write(b); return nil }, a.Close
	return p, nil
}

func (p *peer) plain(addr string) error {
	conn, err := net.Dial("udp", addr)
	if err != nil {
		return err
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

type dtlsPeer struct{ p *peer }

func (d dtlsPeer) OnRecord([]byte) { d.p.signal() }
func (dtlsPeer) OnClosed(error)    {}

type kcpPeer struct{ p *peer }

func (k kcpPeer) OnMessage([]byte)     { k.p.signal() }
func (kcpPeer) OnDatagram([]byte)      {}
func (kcpPeer) OnClosed(kcp.StreamEnd) {}

func readRoots(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: no certificate in it", file)
	}
	return pool, nil
}
