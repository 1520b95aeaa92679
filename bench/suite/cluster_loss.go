package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"troupe/bench/result"
	"troupe/bench/server"
	"troupe/messages/coord"
	"troupe/transport/etcd"
)

const (
	lossMax  = time.Minute            // maximum time until a loss has had all its consequences
	askMax   = 500 * time.Millisecond // maximum time of one question about a lost game session
	askPause = 10 * time.Millisecond
)

// loss is a cluster that loses a host.
type loss struct {
	hosts  []*server.Process
	client *etcd.Client
	leader int   // index of the host that leads
	at     int64 // a revision before the loss
}

// lossOf finds out who leads.
func lossOf(ctx context.Context, procs []*server.Process) (*loss, error) {
	client, err := open(ctx, procs[nodesOf:])
	if err != nil {
		return nil, err
	}
	l := &loss{hosts: procs[:nodesOf], client: client}
	found, err := client.Read(ctx, coord.Query{Key: clusterKeys.Lead()})
	if err == nil && len(found.KVs) == 0 {
		err = errors.New("no host leads")
	}
	var lead coord.Lead
	if err == nil {
		l.at = found.At
		lead, err = coord.Decode[coord.Lead](found.KVs[0])
	}
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	for i := range l.hosts {
		if nodeName(i) == lead.Node {
			l.leader = i
		}
	}
	return l, nil
}

// others returns the hosts that remain.
func (l *loss) others(lost int) (all []*server.Process) {
	for i, p := range l.hosts {
		if i != lost {
			all = append(all, p)
		}
	}
	return all
}

// lose ends a host, and records in f how long its consequences take. awaited, if not nil, waits for a further one.
func (l *loss) lose(ctx context.Context, lost int, end func(p *server.Process) error, f result.Figures, awaited func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, lossMax, errors.New("the loss of a host has no consequence in time"))
	defer cancel()
	begun := time.Now()
	var mu sync.Mutex
	var errs []error
	var all sync.WaitGroup
	after := func(figure string, await func(context.Context) error) {
		all.Go(func() {
			err := await(ctx)
			mu.Lock()
			defer mu.Unlock()
			if f.Set(figure, time.Since(begun).Seconds()); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", figure, err))
			}
		})
	}
	if err := end(l.hosts[lost]); err != nil {
		return err
	}
	after("known_s", func(ctx context.Context) error {
		return l.await(ctx, clusterKeys.Node(nodeName(lost)), func(e coord.Event) bool { return e.Deleted })
	})
	if lost == l.leader {
		after("leads_s", func(ctx context.Context) error {
			return l.await(ctx, clusterKeys.Lead(), func(e coord.Event) bool { return !e.Deleted })
		})
	}
	after("placed_s", func(ctx context.Context) error { return placeNext(ctx, l.others(lost)) })
	if awaited != nil {
		after("terminated_s", awaited)
	}
	all.Wait()
	return errors.Join(errs...)
}

// await waits for a change of a key.
func (l *loss) await(ctx context.Context, key string, is func(coord.Event) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for b := range l.client.Watch(ctx, key, l.at) {
		if b.Err != nil {
			return b.Err
		}
		for _, e := range b.Events {
			if e.Key == key && is(e) {
				return nil
			}
		}
	}
	return context.Cause(ctx)
}

// placeNext starts placements at the hosts in turn until one is fulfilled.
func placeNext(ctx context.Context, hosts []*server.Process) error {
	all := apisOf(hosts)
	defer all.close()
	for i := 0; ; i++ {
		err := place(ctx, all[i%len(all)], fmt.Sprintf("after-%d", i))
		if err == nil {
			return nil
		}
		if late := rest(ctx, askPause); late != nil {
			return errors.Join(late, err)
		}
	}
}

// place starts a placement and waits until it is fulfilled.
func place(ctx context.Context, api *server.API, id string) error {
	if err := api.Call(ctx, "StartGameSessionPlacement", placement(id), new(struct{})); err != nil {
		return err
	}
	for {
		var out struct {
			GameSessionPlacement struct{ Status string }
		}
		err := api.Call(ctx, "DescribeGameSessionPlacement", struct{ PlacementId string }{id}, &out)
		switch status := out.GameSessionPlacement.Status; {
		case err == nil && status == "FULFILLED":
			return nil
		case err == nil && status != "PENDING":
			return errors.New("the placement is " + status)
		}
		if late := rest(ctx, askPause); late != nil {
			return errors.Join(late, err)
		}
	}
}

// lostNode kills a host that does not lead, with game sessions.
func (r *run) lostNode(ctx context.Context, procs []*server.Process) (round result.Round, err error) {
	l, err := lossOf(ctx, procs)
	if err != nil {
		return round, err
	}
	defer func() { err = errors.Join(err, l.client.Close()) }()
	lost := (l.leader + 1) % nodesOf
	var sessions []string
	for i := range nodesOf * r.p.Rooms {
		id, err := l.hosts[i%nodesOf].CreateGameSession(ctx, serviceFleet, 8)
		if err != nil {
			return round, err
		}
		owner, err := ownerOf(ctx, l.hosts, id)
		if err != nil {
			return round, err
		}
		if owner == lost {
			sessions = append(sessions, id)
		}
	}
	round.Figures = make(result.Figures)
	err = l.lose(ctx, lost, kill, round.Figures, func(ctx context.Context) error {
		for _, p := range l.others(lost) {
			for _, id := range sessions {
				if err := awaitTerminated(ctx, p, id); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return round, err
}

// awaitTerminated asks a host until it says that a game session is TERMINATED.
func awaitTerminated(ctx context.Context, p *server.Process, id string) error {
	for {
		asking, cancel := context.WithTimeout(ctx, askMax)
		status, err := p.Status(asking, id)
		cancel()
		if err == nil && status == "TERMINATED" {
			return nil
		}
		if late := rest(ctx, askPause); late != nil {
			return errors.Join(late, fmt.Errorf("a game session is %s", strings.TrimSpace(status+" ")), err)
		}
	}
}

func kill(p *server.Process) error {
	p.Kill()
	return nil
}

// leaderStops ends the leader in order.
func (r *run) leaderStops(ctx context.Context, procs []*server.Process) (result.Round, error) {
	return lostLeader(ctx, procs, (*server.Process).Terminate)
}

// leaderDies kills the leader.
func (r *run) leaderDies(ctx context.Context, procs []*server.Process) (result.Round, error) {
	return lostLeader(ctx, procs, kill)
}

func lostLeader(ctx context.Context, procs []*server.Process, end func(*server.Process) error) (round result.Round, err error) {
	l, err := lossOf(ctx, procs)
	if err != nil {
		return round, err
	}
	defer func() { err = errors.Join(err, l.client.Close()) }()
	round.Figures = make(result.Figures)
	return round, l.lose(ctx, l.leader, end, round.Figures, nil)
}
