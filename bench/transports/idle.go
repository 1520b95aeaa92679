package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"troupe/bench/report"
	"troupe/bench/server"
	"troupe/transport/client"
)

// idleResult is what idle KCP players cost the host.
type idleResult struct {
	Players int     `json:"players"`
	KiB     float64 `json:"resident_kib_per_player"`
	CPU     float64 `json:"cpu_percent_of_a_core"`
}

// settle is how long the host gets to give back what a storm of logins needed,
// and then how long its CPU is watched.
const settle = 25 * time.Second

// roomSize is how many players share a game session.
const roomSize = 20

// host is a troupe process and its players.
type host struct {
	*server.Process
	players []*client.Client
}

func startHost(ctx context.Context, o *options, sets ...string) (*host, error) {
	p, err := server.Start(ctx, server.Spec{Kind: server.Troupe, Bin: o.Troupe, Sets: sets})
	return &host{Process: p}, err
}

func (h *host) stop() error {
	var leaving sync.WaitGroup
	for _, c := range h.players {
		leaving.Go(c.Abort)
	}
	leaving.Wait()
	return h.Stop()
}

// dial logs one player in.
func (h *host) dial(ctx context.Context, t client.Transport, id string) (*client.Client, error) {
	tls, err := readTLS(h.Announce.CA)
	if err != nil {
		return nil, err
	}
	addr := h.Announce.WS
	if t == client.WSS {
		addr = h.Announce.WSS
	}
	c, err := client.Dial(ctx, client.Options{
		Addr: addr, KCPAddr: h.Announce.KCP, PlayerSessionID: id, Transport: t, TLS: tls, SilenceMax: time.Minute, StallMax: time.Minute,
		DialTimeout: time.Minute,
	})
	if err == nil {
		h.players = append(h.players, c)
	}
	return c, err
}

func measureIdle(ctx context.Context, o *options) (r *idleResult, err error) {
	h, err := startHost(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.stop()) }()
	time.Sleep(2 * time.Second)
	before, err := h.Usage()
	if err != nil {
		return nil, err
	}
	for n := 0; n < o.Idle; n += roomSize {
		ids, err := h.OpenRoom(ctx, n/roomSize, min(roomSize, o.Idle-n))
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			c, err := h.dial(ctx, client.KCP, id)
			if err != nil {
				return nil, fmt.Errorf("player %d: %w", len(h.players)+1, err)
			}
			go func() {
				for range c.Events() { // nothing is said, but for who joined
				}
			}()
		}
	}
	time.Sleep(settle)
	from, err := h.Usage()
	started := time.Now()
	time.Sleep(settle)
	to, err2 := h.Usage()
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	for _, c := range h.players {
		if e := c.End(); e.Err != nil || e.Code != 0 {
			return nil, fmt.Errorf("an idle player was lost: %v", e)
		}
	}
	return &idleResult{
		Players: len(h.players),
		KiB:     float64(to.RSSBytes-before.RSSBytes) / 1024 / float64(len(h.players)),
		CPU:     100 * (to.CPU() - from.CPU()).Seconds() / time.Since(started).Seconds(),
	}, nil
}

func (r *idleResult) print() []report.Bar {
	fmt.Printf("\n%d idle players over KCP, logged in, pinged every 3 s: %.1f KiB resident each, %.2f %% of a core in all\n", r.Players, r.KiB, r.CPU)
	return []report.Bar{
		{Name: "resident KiB per idle KCP player", Limit: 80, Got: r.KiB, Met: r.KiB <= 80},
		{Name: "percent of a core for 1,000 idle KCP players", Limit: 1, Got: r.CPU * 1000 / float64(r.Players), Met: r.CPU*1000/float64(r.Players) < 1},
	}
}
