package suite

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/result"
	"troupe/bench/server"
	"troupe/messages/coord"
	"troupe/transport/etcd"
	"troupe/transport/peers"
)

// Names of subjects.
const (
	threeNodes  = "3 nodes"
	beside      = "at its host"    // each call is made to the host that runs the game session
	elsewhere   = "at another"     // each call is made to another host of the cluster
	clusterNode = "cluster node"   // a host of a cluster of three that runs all game sessions
	deadNode    = "dead host"      // a host that does not lead is killed
	leaderStops = "leader stops"   // the leader gets SIGTERM
	leaderDies  = "leader dies"    // the leader is killed
	seldom      = "10 puts/s"      // to etcd, each seen by all watchers
	often       = "100 puts/s"     //
	manyNodes   = "many nodes"     // simulated in this process
	clusterName = "bench"          //
	nodesOf     = 3                // hosts of a cluster, and members of its etcd
	roomMax     = 30 * time.Second // maximum time until the hosts of a new cluster know each other
)

var clusterWorkloads = []Workload{
	{
		Name: "cluster-placements", About: "placements at three hosts in turn, from the call to the event that they are fulfilled; three members of etcd, stores are files",
		Params: Params{Rate: 150, Warmup: 2 * time.Second, Measure: 8 * time.Second, Rounds: 2},
		Goals: []result.Goal{
			{Subject: threeNodes, Figure: "p99_ms", Plus: 100},
			{Subject: threeNodes, Figure: "calls_per_s", Plus: 147, AtLeast: true},
			{Subject: threeNodes, Figure: "failed"},
		},
		connections: someCallers,
		subjects:    func(r *run) []subject { return r.besideNodes((*run).placed) },
	},
	{
		Name: "cluster-player-sessions", About: "CreatePlayerSession at the host that runs the game session, and at another host of the cluster, which forwards it over TLS",
		Params: Params{Rate: 1000, Warmup: 2 * time.Second, Measure: 6 * time.Second, Rounds: 2},
		Goals: []result.Goal{
			{Subject: elsewhere, Figure: "p50_ms", Over: beside, Times: 1, Plus: 0.5},
			{Subject: elsewhere, Figure: "cpu_call_us", Over: beside, Times: 1, Plus: 150},
			{Subject: elsewhere, Figure: "calls_per_s", Plus: 980, AtLeast: true},
			{Subject: elsewhere, Figure: "failed"},
		},
		connections: someCallers,
		subjects: func(r *run) []subject {
			at := func(away int) func(*run, context.Context, []*server.Process) (result.Round, error) {
				return func(r *run, ctx context.Context, procs []*server.Process) (result.Round, error) {
					return r.seats(ctx, procs, away)
				}
			}
			return append(r.service((*run).playerSessions), r.onNodes(beside, at(0)), r.onNodes(elsewhere, at(1)))
		},
	},
	{
		Name: "cluster-create", About: "CreateGameSession at three hosts in turn",
		Params: Params{Rate: 50, Warmup: 2 * time.Second, Measure: 8 * time.Second, Rounds: 2},
		Goals: []result.Goal{
			{Subject: threeNodes, Figure: "p99_ms", Plus: 50},
			{Subject: threeNodes, Figure: "failed"},
		},
		connections: someCallers,
		subjects:    func(r *run) []subject { return r.besideNodes((*run).created) },
	},
	{
		Name: "cluster-search", About: "a sorted page of a filter that one game session in 500 fits, asked of all three hosts at three hosts in turn",
		Params: Params{Rooms: 1500, Rate: 50, Warmup: time.Second, Measure: 8 * time.Second, Rounds: 2},
		Goals: []result.Goal{
			{Subject: threeNodes, Figure: "p99_ms", Plus: 15},
			{Subject: threeNodes, Figure: "failed"},
		},
		connections: someCallers,
		quick:       func(p *Params) { p.Rooms = 20 },
		subjects:    func(r *run) []subject { return r.besideNodes((*run).searched) },
	},
	{
		Name: "cluster-relay", About: "as relay-25x8, on a host of a cluster of three beside a host without a cluster",
		Params: Params{Rooms: 25, Players: 8, Hz: 20, Payload: 64, Warmup: warmup, Measure: 8 * time.Second, Rounds: 3},
		Goals:  append([]result.Goal{{Subject: clusterNode, Figure: "cpu_us", Over: host, Times: 1.01}}, exact(clusterNode)...),
		subjects: func(r *run) []subject {
			return []subject{
				r.onStore(r.stored, func(r *run, ctx context.Context, proc *server.Process) (result.Round, error) {
					return r.relayOn(ctx, proc, nil)
				})[0],
				r.subject(clusterNode, r.host(), r.relayOnNode),
			}
		},
	},
	{
		Name: "cluster-watch", About: "from a put to etcd until each of 100 nodes has applied it, without hosts",
		Params: Params{Warmup: time.Second, Measure: 10 * time.Second, Rounds: 2},
		Goals: []result.Goal{
			{Subject: seldom, Figure: "p99_ms", Plus: 30},
			{Subject: often, Figure: "p99_ms", Plus: 50},
		},
		connections: func(Params) int { return 2 * watchers },
		subjects: func(r *run) []subject {
			return []subject{r.watched(seldom, 10), r.watched(often, 100)}
		},
	},
	{
		Name: "cluster-loss", About: "a host of three that is killed, with 100 game sessions; a leader that stops, and one that is killed",
		Params: Params{Rooms: 100, Rounds: 2},
		Goals: []result.Goal{
			{Subject: deadNode, Figure: "known_s", Plus: 7.5},
			{Subject: deadNode, Figure: "terminated_s", Plus: 10},
			{Subject: leaderStops, Figure: "placed_s", Plus: 1},
			{Subject: leaderDies, Figure: "placed_s", Plus: 8},
		},
		connections: someCallers,
		quick:       func(p *Params) { p.Rooms = 6 },
		lasts:       func(Params) time.Duration { return 12 * time.Second },
		subjects: func(r *run) []subject {
			return []subject{r.onNodes(deadNode, (*run).lostNode), r.onNodes(leaderStops, (*run).leaderStops), r.onNodes(leaderDies, (*run).leaderDies)}
		},
	},
	crowdWorkload,
}

// besideNodes returns a host without a cluster, and a cluster of three.
func (r *run) besideNodes(measure func(*run, context.Context, []*server.Process) (result.Round, error)) []subject {
	alone := r.service(func(r *run, ctx context.Context, proc *server.Process) (result.Round, error) {
		return measure(r, ctx, []*server.Process{proc})
	})
	return append(alone, r.onNodes(threeNodes, measure))
}

// onNodes returns a subject that measures a cluster of three hosts. The processes are the hosts, and then the members
// of etcd.
func (r *run) onNodes(name string, measure func(*run, context.Context, []*server.Process) (result.Round, error)) subject {
	return r.subject(name, r.host(), func(ctx context.Context) (round result.Round, err error) {
		err = r.withCluster(ctx, nodesOf, func(c *nodes) (err error) {
			procs := append(c.hosts[:len(c.hosts):len(c.hosts)], c.etcd...)
			if round, err = measure(r, ctx, procs); err != nil {
				err = errors.Join(err, c.alive())
			}
			return err
		})
		return round, err
	})
}

// nodes is a running cluster.
type nodes struct {
	r     *run
	dir   string // certificates and configurations
	etcd  []*server.Process
	hosts []*server.Process
}

// withCluster starts three members of etcd and some hosts, calls do, and stops all of them.
func (r *run) withCluster(ctx context.Context, hosts int, do func(c *nodes) error) (err error) {
	c := &nodes{r: r}
	if c.dir, err = os.MkdirTemp(r.dir, "cluster-"); err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	if err := peers.InitAuthority(c.dir, clusterName); err != nil {
		return err
	}
	if c.etcd, err = server.StartEtcd(ctx, r.o.Self.Bin, nodesOf); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	if err := c.add(ctx, hosts); err != nil {
		return err
	}
	return do(c)
}

// stop stops the hosts, and then etcd.
func (c *nodes) stop() (err error) {
	for _, p := range append(c.hosts, c.etcd...) {
		err = errors.Join(err, p.Stop())
	}
	return err
}

// alive returns an error if a process has ended.
func (c *nodes) alive() (err error) {
	for _, p := range append(c.hosts[:len(c.hosts):len(c.hosts)], c.etcd...) {
		err = errors.Join(err, p.Alive())
	}
	return err
}

func nodeName(i int) string { return fmt.Sprintf("node-%d", i+1) }

// add starts further hosts. It returns when all hosts offer room to each other.
func (c *nodes) add(ctx context.Context, hosts int) error {
	for range hosts {
		spec, err := c.spec(len(c.hosts))
		if err != nil {
			return err
		}
		proc, err := server.Start(ctx, spec)
		if err != nil {
			return err
		}
		c.hosts = append(c.hosts, proc)
	}
	if err := c.awaitRoom(ctx); err != nil { // then the leader has created the fleet
		return err
	}
	for _, p := range c.hosts {
		if err := p.AwaitFleet(ctx, serviceFleet); err != nil {
			return errors.Join(err, c.alive())
		}
	}
	return nil
}

// spec returns the spec of a host, with a certificate of its own.
func (c *nodes) spec(i int) (server.Spec, error) {
	name := nodeName(i)
	if err := peers.Issue(c.dir, name, nil); err != nil {
		return server.Spec{}, err
	}
	file := func(name string) string { return filepath.Join(c.dir, name) }
	spec := c.r.host("store.path=" + file(name+".db"))
	spec.Name, spec.FleetID, spec.Config = name, serviceFleet, file(name+".yaml")
	config := serviceConfig + fmt.Sprintf("cluster:\n  name: %s\n  node: %s\n  etcd: {endpoints: [%s]}\n  peers: {addr: \"127.0.0.1:0\", ca: %s, cert: %s, key: %s}\n",
		clusterName, name, strings.Join(endpoints(c.etcd), ", "), file("ca.pem"), file(name+".pem"), file(name+".key"))
	return spec, os.WriteFile(spec.Config, []byte(config), 0o600)
}

// endpoints returns the quoted URLs of the members of etcd.
func endpoints(members []*server.Process) (all []string) {
	for _, p := range members {
		all = append(all, fmt.Sprintf("%q", p.Announce.API))
	}
	return all
}

const clusterKeys = coord.Keys("/troupe/" + clusterName + "/")

// open returns a client of etcd.
func open(ctx context.Context, members []*server.Process) (*etcd.Client, error) {
	var urls []string
	for _, p := range members {
		urls = append(urls, p.Announce.API)
	}
	return etcd.Open(ctx, etcd.Options{Endpoints: urls})
}

// awaitRoom waits until each host has told the others that it has room.
func (c *nodes) awaitRoom(ctx context.Context) error {
	client, err := open(ctx, c.etcd)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, roomMax, errors.New("the hosts of the cluster have no room in time"))
	defer cancel()
	for {
		found, err := client.Read(ctx, coord.Query{Key: clusterKeys.Loads(), Prefix: true})
		if err == nil && ready(found.KVs) == len(c.hosts) {
			return rest(ctx, 200*time.Millisecond) // until it has reached all hosts
		}
		if err := rest(ctx, 50*time.Millisecond); err != nil {
			return errors.Join(err, c.alive())
		}
	}
}

// ready returns how many hosts have room.
func ready(loads []coord.KV) (n int) {
	for _, kv := range loads {
		if load, err := coord.Decode[coord.Load](kv); err == nil && len(load.Places) > 0 && load.Places[0].Room > 0 {
			n++
		}
	}
	return n
}

// ownerOf returns the index of the host that runs a game session.
func ownerOf(ctx context.Context, hosts []*server.Process, session string) (int, error) {
	port, err := hosts[0].Port(ctx, session)
	if err != nil {
		return 0, err
	}
	for i, p := range hosts {
		if _, own, err := net.SplitHostPort(p.Announce.WS); err == nil && own == fmt.Sprint(port) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("no host has the port %d of a game session", port)
}

// created creates game sessions at all hosts in turn.
func (r *run) created(ctx context.Context, procs []*server.Process) (result.Round, error) {
	all := apisOf(procs)
	defer all.close()
	return r.called(ctx, procs, func(ctx context.Context, k *calls) {
		r.pace(ctx, k, func(ctx context.Context, i int, due time.Time) {
			k.done(due, all.call(ctx, i, "CreateGameSession", newGame(i), new(struct{})))
		})
	})
}

// relayOnNode measures messages on a host that has all game sessions of a cluster, because the other two hosts join
// after they were created. Only that host is measured.
func (r *run) relayOnNode(ctx context.Context) (round result.Round, err error) {
	err = r.withCluster(ctx, 1, func(c *nodes) (err error) {
		round, err = r.relayOn(ctx, c.hosts[0], func() error { return c.add(ctx, nodesOf-1) })
		return err
	})
	return round, err
}

// relayOn measures messages on a host. filled, if not nil, is called when all players are there.
func (r *run) relayOn(ctx context.Context, proc *server.Process, filled func() error) (round result.Round, err error) {
	cfg := loadgen.Config{Hz: r.p.Hz, PayloadBytes: r.p.Payload, Seed: 1}
	err = r.filled(ctx, proc, cfg, r.p.Rooms*r.p.Players, func(swarm *loadgen.Swarm) (err error) {
		if filled != nil {
			if err := filled(); err != nil {
				return err
			}
		}
		var load *loadgen.Result
		if round, load, err = r.loaded(ctx, proc, swarm, loadgen.Plan{Warmup: r.p.Warmup, Measure: r.p.Measure}); err != nil {
			return err
		}
		if why, bound := isBound(load); bound {
			r.provesNothing("%s: use a smaller load, or a machine that is idle or has more cores", why)
		}
		return nil
	})
	return round, err
}
