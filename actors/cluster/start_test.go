package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/actors/cluster"
	"troupe/actors/cluster/clustertest"
	"troupe/messages"
	"troupe/messages/coord"
)

// refused starts a node that must not start. It returns the time until the start was refused.
func (w *world) refused(h *host, because string) time.Duration {
	w.Helper()
	begin := time.Now()
	err := h.node.Start(w.Context())
	if err == nil || !strings.Contains(err.Error(), because) || strings.Contains(err.Error(), "\n") {
		w.Errorf("Start: %v, want one line with %q", err, because)
	}
	return time.Since(begin)
}

// CL-35, in part: each refusal tells the operator what to do, in one line.
func TestStartIsRefused(t *testing.T) {
	for because, change := range map[string]func(o *cluster.Options){
		"node a runs already at a:1: stop it, or set cluster.node": func(o *cluster.Options) { o.Self.Name, o.Self.Peers = "a", "z:1" },
		"belongs to another cluster (another, not":                 func(o *cluster.Options) { o.ClusterID = "another" },
		"only letters, digits and hyphens":                         func(o *cluster.Options) { o.Self.Name = "a/b" },
		"upgrade one minor version at a time":                      func(o *cluster.Options) { o.Self.Protocol = coord.Range{Low: 2, High: 3} },
		"its records have schema 1":                                func(o *cluster.Options) { o.Self.Schema = coord.Range{Low: 2, High: 3} },
		"use the newer configuration file":                         func(o *cluster.Options) { o.Self.Generation = 6 },
		"upgrade it to": func(o *cluster.Options) {
			o.Check = func(context.Context) error { return errors.New("etcd is too old: upgrade it to 3.5.13") }
		},
		"other queues: raise cluster.generation": func(o *cluster.Options) { o.Self.Resources = "fleets=1 queues=3" },
	} {
		newWorld(t, func(w *world) {
			a := w.add("a")
			a.options.Self.Generation, a.options.Self.Resources = 7, "fleets=1 queues=2"
			a.renew()
			a.start()
			z := w.add("z")
			z.options.Self.Generation, z.options.Self.Resources = 7, "fleets=1 queues=2"
			change(&z.options)
			z.renew()
			w.refused(z, because)
		})
	}
}

// CL-35, in part: a full coordinator.
func TestStartIsRefusedByAFullCoordinator(t *testing.T) {
	newWorld(t, func(w *world) {
		w.store.SetFull(true)
		w.refused(w.add("a"), "raise the quota of etcd, then etcdctl alarm disarm")
	})
}

// distrusted are peers that do not accept a node's certificate.
type distrusted struct {
	cluster.Peers
	names string
}

func (p *distrusted) Call(ctx context.Context, to coord.Node, q messages.Request) (any, error) {
	if strings.Contains(p.names, to.Name) {
		return nil, fmt.Errorf("%w: node %s at %s: %w", coord.ErrUnavailable, to.Name, to.Peers, coord.ErrUntrusted)
	}
	return p.Peers.Call(ctx, to, q)
}

// CL-35, in part: a node whose certificate no other node accepts would be registered, and answer nobody.
func TestStartIsRefusedForItsCertificate(t *testing.T) {
	newWorld(t, func(w *world) {
		_, _, _ = w.three()
		d := w.add("d")
		d.distrusted = "abc"
		d.renew()
		w.within("the refusal", w.refused(d, "the certificates do not fit: set cluster.peers.ca, cert and key to files that troupe admin cluster cert has made"), time.Second, 2*time.Second)
		if got := w.keys(keys.Nodes()); len(got) != 3 {
			t.Errorf("registered: %v", got)
		}
		d.distrusted = "ac" // another node has the wrong certificates
		d.renew()
		d.start()
	})
}

func TestStartWithoutCoordinator(t *testing.T) {
	newWorld(t, func(w *world) {
		w.store.SetAway(true)
		a := w.add("a")
		w.within("the refusal", w.refused(a, "etcd does not answer: start it, or correct cluster.etcd.endpoints"), time.Minute, time.Minute+time.Second)

		a.renew()
		w.work.Go(func() { time.Sleep(50 * time.Second); w.store.SetAway(false) })
		begin := time.Now()
		a.start()
		w.within("the start", time.Since(begin), 50*time.Second, 52*time.Second)
	})
}

// The registration of a killed process remains until its lease has expired.
func TestStartAgain(t *testing.T) {
	for known, want := range map[bool]time.Duration{true: 0, false: 6250 * time.Millisecond} {
		newWorld(t, func(w *world) {
			a := w.add("a")
			var lease coord.Lease
			a.lease = func(l coord.Lease) { lease = l }
			a.start()
			id := a.node.ClusterID()
			a.kill()
			a.options.ClusterID = id
			if a.lease = nil; known {
				a.options.OldLease = lease
			}
			a.renew()
			begin := time.Now()
			a.start()
			w.within("the start", time.Since(begin), 0, want)
			if a.node.ClusterID() != id || id == "" {
				t.Errorf("cluster %q, then %q", id, a.node.ClusterID())
			}
		})
	}
}

// A stopped process keeps its name until its lease has expired.
func TestNameOfAStoppedProcess(t *testing.T) {
	newWorld(t, func(w *world) {
		a := w.add("a")
		a.start()
		a.freeze(true)
		again := w.add("again")
		again.options.Self.Name, again.options.Self.Peers = "a", "again:1"
		again.renew()
		begin := time.Now()
		again.start()
		w.within("the start", time.Since(begin), 4*time.Second, 8*time.Second)
		a.freeze(false)
		time.Sleep(20 * time.Second)
		if v := again.node.View(); v.Member("a").Incarnation != v.Self.Incarnation {
			t.Errorf("%+v", v)
		}
	})
}

// clock is a node whose clock is wrong.
type clock struct {
	messages.Doer
	apart time.Duration
}

func (c *clock) Do(ctx context.Context, q messages.Request) (any, error) {
	answer, err := c.Doer.Do(ctx, q)
	if hello, ok := answer.(coord.HelloAnswer); ok {
		hello.Clock = hello.Clock.Add(c.apart)
		answer = hello
	}
	return answer, err
}

func TestClocks(t *testing.T) {
	for apart, because := range map[time.Duration]string{
		29 * time.Second: "", -31 * time.Second: "the clock of this machine is 31s ahead of that of node a: set both clocks by NTP",
		31 * time.Second: "31s behind that of node a",
	} {
		newWorld(t, func(w *world) {
			a := w.add("a")
			a.start()
			w.net.Start(coord.Node{Name: "a", Peers: "a:1", Incarnation: a.node.View().Self.Incarnation}, &clock{a.node, apart})
			b := w.add("b")
			if because == "" {
				b.start()
			} else {
				w.refused(b, because)
				if got := w.keys(keys.Nodes()); len(got) != 1 {
					t.Errorf("registered: %v", got)
				}
			}
		})
	}
}

// Registrations and loads are written only when they have changed enough.
func TestLoads(t *testing.T) {
	newWorld(t, func(w *world) {
		a, b, _ := w.three()
		room := func(n int) coord.Load { return coord.Load{Places: []coord.Place{{Fleet: "f", Location: "l", Room: n}}} }
		set := func(n int, least, most time.Duration) {
			t.Helper()
			b.node.SetLoad(room(n))
			took := w.until(a, "the load", func(v *cluster.View) bool {
				p := v.Member("b").Load.Places
				return len(p) == 1 && p[0].Room == n
			})
			w.within("a load", took, least, most)
		}
		set(80, 0, 0)
		set(70, time.Second, time.Second)
		time.Sleep(time.Second)
		set(71, 14*time.Second, 29*time.Second)
		set(0, time.Second, time.Second)
		time.Sleep(time.Minute)
		set(1, 0, 0)
		b.client.SetFaults(clustertest.Faults{Requests: true})
		w.until(a, "b adrift", state("b", cluster.Adrift))
		if l := a.node.View().Member("b").Load; len(l.Places) != 0 {
			t.Errorf("%+v", l)
		}
		b.client.SetFaults(clustertest.Faults{})
		w.until(a, "b's load", func(v *cluster.View) bool { return len(v.Member("b").Load.Places) == 1 })
	})
}
