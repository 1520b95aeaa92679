package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"troupe/actors/cluster"
	"troupe/bench/crowd"
	"troupe/bench/loadgen"
	"troupe/bench/result"
	"troupe/bench/server"
)

const (
	crowdNodes = 100
	crowdQuick = 10              // nodes of a quick run
	crowdAway  = 8 * time.Second // an outage that is longer than the leases of nodes
)

// crowdWorkload is CL-36 against a real etcd. The limits of transactions are one and a half times the means of 3.3 in
// docs/spec/cluster.md.
var crowdWorkload = Workload{
	Name: "cluster-nodes", About: "100 nodes without sockets in this process, on three members of etcd: game sessions and placements begin and end; 10 nodes are lost; all register after an outage",
	Params: Params{Rooms: 50_000, Rate: 56, Warmup: 2 * time.Second, Measure: 60 * time.Second, Rounds: 1},
	Goals: []result.Goal{
		{Subject: manyNodes, Figure: "p99_ms", Plus: 50},
		{Subject: manyNodes, Figure: "watch_p99_ms", Plus: 100},
		{Subject: manyNodes, Figure: "etcd_cores", Plus: 1},
		{Subject: manyNodes, Figure: "etcd_mib", Plus: 1024},
		{Subject: manyNodes, Figure: "node_mib", Plus: 30},
		{Subject: manyNodes, Figure: "directory_per_s", Plus: 1.5 * 112},
		{Subject: manyNodes, Figure: "placement_per_s", Plus: 1.5 * 167},
		{Subject: manyNodes, Figure: "load_per_s", Plus: 1.5 * 10},
		{Subject: manyNodes, Figure: "renewals_per_s", Plus: 1.5 * 50},
		{Subject: manyNodes, Figure: "reaped_s", Plus: 30},
		{Subject: manyNodes, Figure: "live_s", Plus: 10},
		{Subject: manyNodes, Figure: "lost"},
		{Subject: manyNodes, Figure: "failed"},
	},
	connections: func(Params) int { return 2 * crowdNodes },
	quick:       func(p *Params) { p.Rooms = 20 * crowdQuick },
	lasts: func(p Params) time.Duration {
		return p.Warmup + p.Measure + time.Duration(p.Rooms)*2*time.Millisecond + 60*time.Second
	},
	subjects: func(r *run) []subject { return []subject{r.subject(manyNodes, r.host(), r.crowded)} },
}

// crowded measures many nodes.
func (r *run) crowded(ctx context.Context) (round result.Round, err error) {
	members, err := server.StartEtcd(ctx, r.o.Self.Bin, nodesOf)
	if err != nil {
		return round, err
	}
	defer func() {
		for _, p := range members {
			err = errors.Join(err, p.Stop())
		}
	}()
	o := crowd.Options{Nodes: crowdNodes, Games: r.p.Rooms, Open: func() (cluster.Coordinator, func() error, error) {
		client, err := open(ctx, members)
		if err != nil {
			return nil, nil, err
		}
		return client, client.Close, nil
	}}
	if r.o.Quick {
		o.Nodes = crowdQuick
	}
	before, err := server.UsageOf(os.Getpid())
	if err != nil {
		return round, err
	}
	begun := time.Now()
	nodes, err := crowd.Start(ctx, o)
	if err != nil {
		return round, fmt.Errorf("start the nodes: %w", err)
	}
	defer func() { err = errors.Join(err, nodes.Close()) }()
	round.Figures = make(result.Figures)
	round.Figures.Set("joined_s", time.Since(begun).Seconds())
	perSecond, err := nodes.Fill(ctx)
	if err != nil {
		return round, fmt.Errorf("claim the game sessions: %w", err)
	}
	round.Figures.Set("claims_per_s", perSecond)
	if err := r.underLoad(ctx, nodes, members, &round); err != nil {
		return round, err
	}
	after, err := server.UsageOf(os.Getpid())
	if err != nil {
		return round, err
	}
	round.Figures.Set("node_mib", float64(after.RSSBytes-before.RSSBytes)/float64(o.Nodes)/(1<<20))
	took, _, err := nodes.Kill(ctx, o.Nodes/10)
	if err != nil {
		return round, err
	}
	round.Figures.Set("reaped_s", took.Seconds())
	live, rewritten, lost, err := nodes.Outage(ctx, crowdAway)
	if err != nil {
		return round, err
	}
	round.Figures.Set("live_s", live.Seconds())
	round.Figures.Set("rewritten_s", rewritten.Seconds())
	round.Figures.Set("lost", float64(lost))
	return round, nil
}

// underLoad measures what game sessions and placements that begin and end cost etcd.
func (r *run) underLoad(ctx context.Context, nodes *crowd.Crowd, members []*server.Process, round *result.Round) error {
	if _, err := nodes.Load(ctx, r.p.Rate, r.p.Warmup); err != nil {
		return err
	}
	m := r.meter(members[0], nil)
	m.beside = members[1:]
	if err := m.read(&m.start); err != nil {
		return err
	}
	got, err := nodes.Load(ctx, r.p.Rate, r.p.Measure)
	if err != nil {
		return err
	}
	if err := m.read(&m.end); err != nil {
		return err
	}
	m.disturbance()
	f, took := round.Figures, m.end.at.Sub(m.start.at).Seconds()
	load := loadgen.Result{
		Delivered: int64(got.Claims.Count()), Latency: got.Claims.Quantiles(), Lateness: got.Late.Quantiles(), Detail: &loadgen.Detail{Distribution: got.Claims.Distribution()},
	}
	addLatencies(round, &load)
	if why, bound := isBound(&load); bound {
		r.provesNothing("%s", why)
	}
	f.Set("etcd_cores", (m.end.etcd.CPU()-m.start.etcd.CPU()).Seconds()/took)
	f.Set("generator_cores", (m.end.self.CPU()-m.start.self.CPU()).Seconds()/took)
	if got.Lag.Count() > 0 {
		f.Set("watch_p99_ms", ms(got.Lag.Quantiles().P99))
	}
	for figure, n := range map[string]int64{
		"directory_per_s": got.Counts.Directory, "placement_per_s": got.Counts.Placements, "load_per_s": got.Counts.Loads, "renewals_per_s": got.Counts.Renewals,
	} {
		f.Set(figure, float64(n)/took)
	}
	f.Set("written_mib_per_s", float64(got.Counts.Bytes)/took/(1<<20))
	f.Set("failed", float64(got.Failed))
	if got.First != nil {
		r.warn("%d claims and placements failed, the first: %v", got.Failed, got.First)
	}
	var largest int64
	for _, p := range members {
		size, err := p.DatabaseBytes()
		if err != nil {
			return err
		}
		largest = max(largest, size)
	}
	f.Set("etcd_mib", float64(largest)/(1<<20))
	return nil
}
