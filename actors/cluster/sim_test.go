package cluster_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/cluster/clustertest"
	"troupe/messages/coord"
)

// TestSimulation injects random faults, ends them, and checks whether the cluster recovers. These conditions must hold
// at all times:
//
//   - Only one node commits in a term. After that, no node commits in an older term, except after a restore
//     from a backup.
//   - A node is not reaped while it answers the leader.
//
// 30 s after the faults have ended, all nodes must be live and agree on one leader, and dead nodes must be reaped.
func TestSimulation(t *testing.T) {
	seeds := 300
	if !testing.Short() {
		seeds = 3000
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			newWorld(t, func(w *world) { simulate(w, uint64(seed)) })
		})
	}
}

// A seed repeats exactly: two simulations of it make the same changes in the same order and at the same times.
func TestASeedRepeats(t *testing.T) {
	seeds := 20
	if !testing.Short() {
		seeds = 200
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			var traces [2][]string
			for i := range traces {
				newWorld(t, func(w *world) { traces[i] = simulate(w, uint64(seed)) })
			}
			for i, line := range traces[0] {
				if i >= len(traces[1]) || traces[1][i] != line {
					t.Fatalf("change %d of %d and %d differs: %s\nand: %s", i, len(traces[0]), len(traces[1]), line, append(traces[1], "none")[min(i, len(traces[1]))])
				}
			}
			if len(traces[0]) != len(traces[1]) || len(traces[0]) < 30 {
				t.Errorf("%d changes, and %d", len(traces[0]), len(traces[1]))
			}
		})
	}
}

// sim is a world with random faults.
type sim struct {
	*world
	seed   uint64
	random *rand.Rand

	processes uint64 // number of processes that were started

	cut map[string]bool // names of the nodes from and to

	mu     sync.Mutex
	opened map[string]time.Time // start time of the period in which the leader (first name) and a node (second name) have reached each other
	trace  []string
}

// simulate runs one seed. It returns all changes of the coordinator's records, in their order.
func simulate(w *world, seed uint64) (trace []string) {
	random := rand.New(rand.NewPCG(seed, 7))
	w.apart = true
	s := &sim{world: w, seed: seed, random: random, opened: map[string]time.Time{}, cut: map[string]bool{}}
	n := 3 + random.IntN(3)
	for i := range n {
		h := w.add(string(rune('a' + i)))
		s.prepare(h)
		s.renew(h)
		h.start()
	}
	ctx, stop := context.WithCancel(w.Context())
	defer stop()
	s.follow(ctx)
	s.record(ctx)
	for range 6 + random.IntN(6) {
		s.fault()
		time.Sleep(time.Duration(random.IntN(25_000)) * time.Millisecond)
	}
	if w.Failed() {
		return nil
	}
	dead := s.heal()
	time.Sleep(30 * time.Second)
	synctest.Wait()
	s.check(dead)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trace
}

// renew creates a new process of a host, with random choices of its own.
func (s *sim) renew(h *host) {
	s.processes++
	h.options.Seed = s.seed<<8 + s.processes
	h.renew()
	s.faults(h, clustertest.Faults{})
}

// faults sets the faults of a host's connection. Each host has a delay of its own, so that no two hosts reach the
// coordinator at the same instant: their order would then depend on the scheduler.
func (s *sim) faults(h *host, f clustertest.Faults) {
	f.Delay += 500*time.Microsecond + time.Duration(slices.Index(s.hosts, h))*10_007
	h.client.SetFaults(f)
	time.Sleep(time.Nanosecond)
}

// record records all changes of the coordinator's records.
func (s *sim) record(ctx context.Context) {
	start := time.Now()
	s.work.Go(func() {
		for ctx.Err() == nil {
			for b := range s.admin.Watch(ctx, string(keys), s.store.Revision()) {
				s.mu.Lock()
				for _, e := range b.Events {
					s.trace = append(s.trace, fmt.Sprint(time.Since(start), " ", e.Changed, " ", e.Key, " ", string(e.Value)))
				}
				s.mu.Unlock()
			}
		}
	})
}

// prepare sets the functions that a host runs for its terms, its registrations and lost nodes.
func (s *sim) prepare(h *host) {
	h.options.Lead = func(ctx context.Context, term int64) {
		for number := 0; ctx.Err() == nil; number++ {
			value := fmt.Appendf(nil, "%d %d %s", term, number, h.name)
			done, _, err := h.gated().Commit(ctx, []coord.Condition{coord.Incarnation(keys.Lead(), term)}, []coord.Change{coord.Put(string(keys)+"seq", value)})
			if err == nil && !done {
				return // the term is over
			}
			select {
			case <-time.After(500 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}
	h.options.Reap = func(ctx context.Context, term int64, lost coord.Node) error {
		h.gate.pass(lost.Name)
		err := h.reap(ctx, term, lost)
		if err == nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			x := s.named(lost.Name)
			if since, seen := s.opened[h.name+lost.Name]; x != nil && !x.dead && x.node.View().Self.Incarnation != 0 && seen && !since.IsZero() && time.Since(since) > 3*time.Second {
				s.Errorf("%s reaped %s, which it reaches since %v", h.name, lost.Name, time.Since(since))
			}
		}
		return err
	}
	h.registered = func(incarnation int64) {
		node := h.gated() // node uses the gate of the current process
		s.work.Go(func() {
			for range 100 { // until the record of the node's game session is written
				_, _, err := node.Commit(s.Context(), []coord.Condition{coord.Incarnation(keys.Node(h.name), incarnation)},
					[]coord.Change{coord.Put(keys.HostGame(h.name, "tag"), coord.Encode(coord.HostGame{Incarnation: incarnation, Peers: h.options.Self.Peers}))})
				if err == nil {
					return
				}
				time.Sleep(time.Second)
			}
		})
	}
}

func (s *sim) named(name string) *host {
	for _, h := range s.hosts {
		if h.name == name {
			return h
		}
	}
	return nil
}

// follow records the terms in which nodes commit.
func (s *sim) follow(ctx context.Context) {
	batches := s.admin.Watch(ctx, string(keys)+"seq", s.store.Revision())
	s.work.Go(func() {
		at := s.store.Revision()
		last, holder := int64(0), ""
		for {
			for b := range batches {
				if b.Err != nil {
					last, at = 0, s.store.Revision() // the coordinator was restored
				}
				at = max(at, b.At)
				for _, e := range b.Events {
					var term, number int64
					var name string
					_, _ = fmt.Sscan(string(e.Value), &term, &number, &name)
					if term < last || term == last && name != holder {
						s.Errorf("%s committed in term %d, after %s in term %d", name, term, holder, last)
					}
					last, holder = term, name
				}
			}
			if ctx.Err() != nil {
				return
			}
			batches = s.admin.Watch(ctx, string(keys)+"seq", at)
		}
	})
}

// paths records which nodes can reach each other.
func (s *sim) paths() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.hosts {
		for _, b := range s.hosts {
			open := !a.dead && !b.dead && !a.frozen && !b.frozen && !s.cut[a.name+b.name] && !s.cut[b.name+a.name]
			since, seen := s.opened[a.name+b.name]
			switch {
			case !open:
				s.opened[a.name+b.name] = time.Time{}
			case !seen || since.IsZero():
				s.opened[a.name+b.name] = time.Now()
			}
		}
	}
}

func (s *sim) set(a, b string, cut bool) {
	s.cut[a+b] = cut
	delay := 2*time.Millisecond + time.Duration(a[0])*101 + time.Duration(b[0])*1009 // see faults
	s.net.SetPath(a, b, clustertest.Path{Cut: cut, Delay: delay})
	time.Sleep(time.Nanosecond) // see faults
}

// fault injects one fault, or ends some faults.
func (s *sim) fault() {
	defer s.paths()
	h := s.hosts[s.random.IntN(len(s.hosts))]
	other := s.hosts[s.random.IntN(len(s.hosts))]
	coin := func() bool { return s.random.IntN(2) == 0 }
	switch kind := s.random.IntN(12); {
	case kind == 0 && !h.dead:
		s.mu.Lock()
		h.kill()
		h.frozen = false
		s.mu.Unlock()
	case kind == 1 && h.dead:
	case kind <= 3 && !h.dead:
		h.frozen = !h.frozen
		h.freeze(h.frozen)
	case kind <= 5 && !h.dead:
		s.faults(h, clustertest.Faults{Requests: coin(), Answers: coin(), Break: coin(), Delay: time.Duration(s.random.IntN(700)) * time.Millisecond})
	case kind <= 7:
		s.set(h.name, other.name, h != other && coin())
		s.set(other.name, h.name, h != other && coin())
	case kind == 8:
		s.store.RevokeEarly(keys.Node(h.name))
	case kind == 9:
		s.store.SetAway(true)
		time.Sleep(time.Duration(s.random.IntN(60_000)) * time.Millisecond)
		s.store.SetAway(false)
	case kind == 10 && s.random.IntN(3) == 0:
		s.store.SetBack(s.store.Revision()-int64(s.random.IntN(5)), 1_000_000_000)
	case !h.dead:
		s.faults(h, clustertest.Faults{})
	}
}

// again starts another process of a dead node.
func (s *sim) again(h *host) {
	s.mu.Lock()
	s.renew(h)
	s.mu.Unlock()
	node := h.node
	s.work.Go(func() { _ = node.Start(s.Context()) })
}

// heal ends all faults, and returns the nodes that stay dead.
func (s *sim) heal() (dead map[string]bool) {
	dead = map[string]bool{}
	s.store.SetAway(false)
	time.Sleep(time.Nanosecond)
	for _, h := range s.hosts {
		for _, other := range s.hosts {
			s.set(h.name, other.name, false)
		}
		if h.dead {
			dead[h.name] = true
			continue
		}
		s.faults(h, clustertest.Faults{})
		h.frozen = false
		h.freeze(false)
	}
	for _, h := range s.hosts {
		if h.dead && (s.random.IntN(2) == 0 || len(dead) == len(s.hosts)) {
			s.again(h)
			delete(dead, h.name)
		} else if !h.dead && h.node.View().Self.Incarnation == 0 { // its start was refused in the meantime
			h.node.Close()
			s.again(h)
		}
	}
	s.paths()
	return dead
}

// check fails unless the cluster has recovered.
func (s *sim) check(dead map[string]bool) {
	var first string
	for _, h := range s.hosts {
		if dead[h.name] {
			continue
		}
		v := h.node.View()
		var live []string
		for _, m := range v.Members {
			switch {
			case m.State.String() == "live":
				live = append(live, fmt.Sprint(m.Name, m.Incarnation))
			case !dead[m.Name]:
				s.Errorf("%s sees %s %v", h.name, m.Name, m.State)
			}
		}
		got := fmt.Sprint(live, v.Leader, v.Term)
		if first == "" {
			first = got
		}
		if m := v.Member(h.name); m != nil && m.Incarnation != v.Self.Incarnation {
			s.Errorf("%s is registered as %d, and knows %d", h.name, m.Incarnation, v.Self.Incarnation)
		}
		if got != first || len(live) != len(s.hosts)-len(dead) || v.Leader == "" {
			s.Errorf("%s sees %s\nanother %s", h.name, got, first)
		}
	}
	for _, key := range s.world.keys(keys.Hosts()) {
		if name := strings.Split(key, "/")[1]; dead[name] {
			s.Errorf("%s is not reaped", name)
		}
	}
}
