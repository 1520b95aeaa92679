package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"troupe/bench/report"
	"troupe/transport/client"
)

// lossyResult is how long reliable messages from one player to another took, two
// lossy legs, over one transport.
type lossyResult struct {
	Over      string  `json:"over"`
	Sent      int64   `json:"sent"`
	Delivered int64   `json:"delivered"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	P999      float64 `json:"p999_ms"`
	Max       float64 `json:"max_ms"`
}

// errNoNamespace says why there is no lossy path here.
var errNoNamespace = errors.New("no network namespace with loss")

// measureLossy runs a copy of this program in a network namespace.
func measureLossy(ctx context.Context, o *options) ([]lossyResult, error) {
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("%w: not root", errNoNamespace)
	}
	for _, tool := range []string{"nft", "ip"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf("%w: %w", errNoNamespace, err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-in-namespace", "-troupe", o.Troupe, "-for", o.For.String(), "-loss", fmt.Sprint(o.Loss), "-rate", fmt.Sprint(o.Rate))
	if cmd.SysProcAttr, err = inNamespace(); err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("lossy path: %w", err)
	}
	var all []lossyResult
	return all, json.NewDecoder(bytes.NewReader(out)).Decode(&all)
}

// lossyInside is the copy: host and players are in one namespace, whose loopback
// loses packets of every kind.
func lossyInside(ctx context.Context, o *options) (err error) {
	if err := bringUp(ctx); err != nil {
		return err
	}
	h, err := startHost(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.stop()) }()
	over := []client.Transport{client.WS, client.WSS, client.KCP}
	var pairs []*pair
	for i, t := range over {
		for n := range pairsPerTransport {
			ids, err := h.OpenRoom(ctx, i*pairsPerTransport+n, 2)
			if err != nil {
				return err
			}
			p := &pair{over: t, latency: hdrhistogram.New(1, time.Minute.Microseconds(), 3)}
			if p.from, err = h.dial(ctx, t, ids[0]); err != nil {
				return err
			}
			if p.to, err = h.dial(ctx, t, ids[1]); err != nil {
				return err
			}
			pairs = append(pairs, p)
		}
	}
	if err := nft(ctx, fmt.Sprintf("add table inet lossy; add chain inet lossy in { type filter hook input priority 0; }; add rule inet lossy in numgen random mod 100 < %d drop", o.Loss)); err != nil {
		return err
	}
	var running sync.WaitGroup
	for i, p := range pairs {
		running.Go(func() {
			time.Sleep(time.Duration(i) * time.Second / time.Duration(o.Rate*len(pairs))) // not all at once
			p.run(ctx, 10*o.For, time.Second/time.Duration(o.Rate))
		})
	}
	running.Wait()
	if err := nft(ctx, "delete table inet lossy"); err != nil {
		return err
	}
	var all []lossyResult
	for _, t := range over {
		all = append(all, sum(t, pairs))
	}
	return json.NewEncoder(os.Stdout).Encode(all)
}

// pairsPerTransport is how many players send at a time over each.
const pairsPerTransport = 10

func bringUp(ctx context.Context) error {
	if out, err := exec.CommandContext(ctx, "ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		return fmt.Errorf("loopback: %w: %s", err, out)
	}
	return nil
}

func nft(ctx context.Context, rules string) error {
	if out, err := exec.CommandContext(ctx, "nft", rules).CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w: %s", err, out)
	}
	return nil
}

// pair is a player that sends and one that receives.
type pair struct {
	over            client.Transport
	from, to        *client.Client
	sent, delivered int64
	latency         *hdrhistogram.Histogram
}

// grace is how long after the last message late ones are waited for.
const grace = 5 * time.Second

// run sends a message each interval, stamped with the time it was due.
func (p *pair) run(ctx context.Context, length, interval time.Duration) {
	started := time.Now()
	done := make(chan struct{})
	over := time.NewTimer(length + grace)
	defer over.Stop()
	total := int64(length / interval)
	go func() {
		defer close(done)
		for {
			select {
			case e, ok := <-p.to.Events():
				if !ok {
					return
				}
				if e.Kind != client.EventMessage || len(e.Payload) < 8 {
					continue
				}
				due := started.Add(time.Duration(binary.LittleEndian.Uint64(e.Payload)))
				_ = p.latency.RecordValue(max(1, time.Since(due).Microseconds()))
				if p.delivered++; p.delivered == total {
					return
				}
			case <-over.C:
				return
			}
		}
	}()
	payload := make([]byte, payloadBytes)
	for p.sent < total {
		due := time.Duration(p.sent) * interval
		time.Sleep(time.Until(started.Add(due)))
		binary.LittleEndian.PutUint64(payload, uint64(due))
		if p.from.Send(ctx, client.Message{OpCode: 1, TargetPlayer: p.to.PeerID(), Payload: payload}) != nil {
			break
		}
		p.sent++
	}
	<-done
}

func sum(t client.Transport, pairs []*pair) lossyResult {
	r := lossyResult{Over: t.String()}
	all := hdrhistogram.New(1, time.Minute.Microseconds(), 3)
	for _, p := range pairs {
		if p.over == t {
			r.Sent += p.sent
			r.Delivered += p.delivered
			all.Merge(p.latency)
		}
	}
	ms := func(q float64) float64 { return float64(all.ValueAtQuantile(q)) / 1000 }
	r.P50, r.P99, r.P999, r.Max = ms(50), ms(99), ms(99.9), float64(all.Max())/1000
	return r
}

func printLossy(o *options, all []lossyResult) []report.Bar {
	fmt.Printf("\n%d %% of all packets lost, each way: reliable messages player to player through the host, %d/s each, %d bytes\n", o.Loss, o.Rate, payloadBytes)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "over\tp50 ms\tp99 ms\tp99.9 ms\tmax ms\tdelivered of sent")
	by := map[string]lossyResult{}
	for _, r := range all {
		by[r.Over] = r
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\t%.2f\t%d of %d\n", r.Over, r.P50, r.P99, r.P999, r.Max, r.Delivered, r.Sent)
	}
	w.Flush()
	kcp, ws := by[client.KCP.String()], by[client.WS.String()]
	lost := float64(kcp.Sent - kcp.Delivered)
	return []report.Bar{
		{Name: "p99 over KCP to that over TCP, lossy path", Limit: 0.4, Got: kcp.P99 / ws.P99, Met: kcp.P99 <= 0.4*ws.P99},
		{Name: "reliable messages lost over KCP", Limit: 0, Got: lost, Met: lost == 0},
	}
}

// readTLS trusts the anchors in a file.
func readTLS(file string) (*tls.Config, error) {
	roots, err := readRoots(file)
	return &tls.Config{RootCAs: roots, ServerName: "localhost"}, err
}
