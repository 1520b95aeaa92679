package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"troupe/bench/faults"
	"troupe/bench/server"
)

// faultsProxy opens proxies for clients of any kind.
type faultsProxy struct {
	Scenario string `arg:"" help:"A scenario, as \"troupe faults list\" shows them, or a file with a plan of your own (.yaml)."`

	To      string `placeholder:"HOST:PORT" help:"Where players connect, as the service API gives it for a game session."`
	Against string `placeholder:"URL" help:"Instead of --to: service API of a host, where a game session with a seat for each proxy is made, and ended with them."`
	Fleet   string `default:"fleet-dev" placeholder:"ID" help:"Fleet of that game session (${default})."`
	caller
	KCPAddr string  `name:"kcp-addr" placeholder:"HOST:PORT" help:"Address of KCP, for clients that use it."`
	Listen  string  `default:"127.0.0.1:0" placeholder:"HOST:PORT" help:"Where the first proxy listens; the others have the ports that follow (${default}: free ports)."`
	Players int     `default:"1" placeholder:"N" help:"Proxies, each for one player, with faults of its own (${default})."`
	Seed    *uint64 `placeholder:"N" help:"Seed of the plan. Default: the plan's own, or a random one, which is printed."`
	Quick   bool    `help:"All times of the plan are a tenth, but for outages that the host is to notice."`
	Repeat  bool    `help:"The plan begins again when it is over."`
}

// Run serves until it receives a signal.
func (c *faultsProxy) Run(s streams) error {
	ctx, stop := s.interruptible()
	defer stop()
	if err := c.serve(ctx, s); err != nil {
		return unjudged(c.Against, err)
	}
	return nil
}

func (c *faultsProxy) serve(ctx context.Context, s streams) (err error) {
	plan, err := faults.Find(c.Scenario)
	if err != nil {
		return err
	}
	o := faults.ProxyOptions{
		Plan: plan, Seed: seedOf(c.Seed, plan), Players: c.Players, Quick: c.Quick, Repeat: c.Repeat, Listen: c.Listen, TCP: c.To, UDP: c.KCPAddr, Out: s.out,
		Network: s.network,
	}
	if (c.To == "") == (c.Against == "") {
		return errors.New("proxy needs the host: either --to HOST:PORT or --against URL")
	}
	for name, addr := range map[string]string{"to": c.To, "kcp-addr": c.KCPAddr} {
		if _, _, err := net.SplitHostPort(addr); addr != "" && err != nil {
			return fmt.Errorf("--%s must be HOST:PORT: %w", name, err)
		}
	}
	if err := o.Check(); err != nil {
		return err
	}
	if c.Against != "" {
		remote, err := c.remote(ctx, c.Against, c.Fleet)
		if err != nil {
			return err
		}
		if err := remote.Probe(ctx); err != nil {
			return err
		}
		host := server.Attach(*remote)
		defer func() { err = errors.Join(err, host.Stop()) }()
		room, err := host.Open(ctx, 0, c.Players)
		if err != nil {
			return err
		}
		o.TCP, o.PlayerSessions = room.Addr, room.IDs
	}
	return faults.Proxy(ctx, o)
}
