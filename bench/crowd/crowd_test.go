package crowd

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"troupe/actors/cluster"
	"troupe/actors/cluster/clustertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	mean     = 0.56 // game sessions that begin in a second on one node (docs/spec/cluster.md 2)
	measured = 30 * time.Second
)

// inMemory starts a crowd on a coordinator in memory, in virtual time.
func inMemory(t *testing.T, nodes, games int, f func(ctx context.Context, c *Crowd, s *clustertest.Store)) {
	synctest.Test(t, func(t *testing.T) {
		s := clustertest.NewStore()
		defer s.Close()
		c, err := Start(t.Context(), Options{Nodes: nodes, Games: games, Open: func() (cluster.Coordinator, func() error, error) {
			client := s.Client()
			client.SetFaults(clustertest.Faults{Delay: 2 * time.Millisecond})
			return client, func() error { return nil }, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}()
		if _, err := c.Fill(t.Context()); err != nil {
			t.Fatal(err)
		}
		f(t.Context(), c, s)
	})
}

// CL-36: a cluster's load costs its coordinator at most one and a half times the budget of docs/spec/cluster.md 3.3, here of
// a fifth of the nodes. Virtual time makes the number of transactions exact.
func TestBudget(t *testing.T) {
	const nodes = 10
	inMemory(t, nodes, 4*nodes, func(ctx context.Context, c *Crowd, _ *clustertest.Store) {
		got, err := c.Load(ctx, mean*nodes, measured)
		if err != nil || got.Failed > 0 || got.First != nil {
			t.Fatalf("%d failed, the first: %v; %v", got.Failed, got.First, err)
		}
		begun := int(mean * nodes * measured.Seconds())
		if got.Claims.Count() != begun || got.Late.Quantiles().Max > 0 {
			t.Errorf("%d game sessions began, want %d; %v late", got.Claims.Count(), begun, got.Late.Quantiles().Max)
		}
		share := nodes / 100. * measured.Seconds()
		for what, n := range map[string]struct {
			got    int64
			budget float64
		}{
			"directory": {got.Counts.Directory, 112}, "placements": {got.Counts.Placements, 167}, "loads": {got.Counts.Loads, 10},
			"renewals": {got.Counts.Renewals, 50}, "bytes": {got.Counts.Bytes, 1.8e6},
		} {
			if limit := 1.5 * n.budget * share; n.got == 0 || float64(n.got) > limit {
				t.Errorf("%s: %d, at most %.0f", what, n.got, limit)
			}
		}
		if got.Counts.Other != 0 {
			t.Errorf("%d transactions of registrations, although no node came or went", got.Counts.Other)
		}
	})
}

// A tenth of the nodes is lost at once: their game sessions end. In an outage that outlasts the leases nobody loses one.
func TestLossAndOutage(t *testing.T) {
	inMemory(t, 10, 50, func(ctx context.Context, c *Crowd, s *clustertest.Store) {
		took, games, err := c.Kill(ctx, 1)
		if err != nil || games != 5 || took < 4*time.Second || took > 8*time.Second {
			t.Errorf("%d game sessions reaped in %v, %v", games, took, err)
		}
		revision := s.Revision()
		live, rewritten, lost, err := c.Outage(ctx, 10*time.Second)
		if err != nil || lost != 0 || live > 5*time.Second || rewritten < live || s.Revision() == revision {
			t.Errorf("live in %v, directory written in %v, %d lost, %v", live, rewritten, lost, err)
		}
		if got, err := c.Load(ctx, 10, time.Second); err != nil || got.Failed > 0 {
			t.Errorf("after the outage: %d failed, the first: %v; %v", got.Failed, got.First, err)
		}
	})
}
