//go:build !noetcdserver

package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"troupe/transport"
	"troupe/transport/etcd/member"
	"troupe/transport/host"
)

// devNodesMax is the maximum number of hosts of troupe dev.
const devNodesMax = 9

// devCluster is the cluster of troupe dev --nodes: a member of etcd, and all hosts except the first one. The zero value
// means no cluster.
type devCluster struct {
	nodes  int
	dir    string // data directory of etcd, deleted when troupe dev ends
	member *member.Member
	hosts  []*host.Host
}

// newDevCluster starts etcd, and makes the configured host the first one of a cluster. With one node it does nothing.
func newDevCluster(cfg *host.Config, nodes int, s streams) (c *devCluster, err error) {
	c = &devCluster{nodes: nodes}
	if nodes == 1 {
		return c, nil
	}
	if c.dir, err = os.MkdirTemp("", "troupe-dev-etcd-"); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c.member, err = member.Start(ctx, member.Options{
		Dir: c.dir, Client: "http://127.0.0.1:0", Peer: "http://127.0.0.1:0", Quick: true, Log: newLog(host.Log{Level: "error"}, s.err, nil),
	})
	if err != nil {
		c.close()
		return nil, err
	}
	cfg.Cluster.Name, cfg.Cluster.Node = "dev", "dev-1"
	cfg.Cluster.Etcd = host.EtcdUse{Endpoints: []string{c.member.Client()}}
	cfg.Cluster.Peers.Addr = "127.0.0.1:0"
	return c, nil
}

// startHosts starts all hosts except the first one, on any free ports.
func (c *devCluster) startHosts(first *host.Host, cfg host.Config, s streams) error {
	if c.nodes == 1 {
		return nil
	}
	for _, addr := range []*string{&cfg.API.Addr, &cfg.WebSocket.Addr, &cfg.Fast.Addr, &cfg.WSS.Addr, &cfg.DTLS.Addr, &cfg.KCP.Addr} {
		if *addr != "" {
			*addr = "127.0.0.1:0"
		}
	}
	cfg.Store, cfg.Announce, cfg.Log.GameSessions.Dir = host.Store{Memory: true}, "", ""
	for i := 2; i <= c.nodes; i++ {
		cfg.Cluster.Node = fmt.Sprintf("dev-%d", i)
		network := s.network
		if network == nil {
			network = transport.System
		}
		log := newLog(cfg.Log, s.err, nil).With().Str("node", cfg.Cluster.Node).Logger()
		h, err := host.Start(host.Options{Config: cfg, Log: log, Network: network, Version: readBuild().version(), Dev: true})
		if err != nil {
			return err
		}
		c.hosts = append(c.hosts, h)
		a := h.Addrs()
		fmt.Fprintf(s.out, "%s: service API %s, WebSocket ws://%s\n", cfg.Cluster.Node, a.APIURL, a.WS)
	}
	return awaitFleets(append(c.hosts, first), len(cfg.Fleets))
}

// awaitFleets waits until each host has the configured fleets, which the first leader creates.
func awaitFleets(hosts []*host.Host, n int) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, h := range hosts {
		if err := h.AwaitFleets(ctx, n); err != nil {
			return fmt.Errorf("a host of the cluster has no fleets: %w", err)
		}
	}
	return nil
}

// close ends all hosts except the first one, and then etcd.
func (c *devCluster) close() {
	for _, h := range c.hosts {
		h.Close()
	}
	if c.member != nil {
		c.member.Close()
	}
	if c.dir != "" {
		_ = os.RemoveAll(c.dir)
	}
}
