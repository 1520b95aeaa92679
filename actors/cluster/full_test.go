package cluster_test

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/cluster"
	"troupe/actors/cluster/clustertest"
	"troupe/messages/coord"
	"troupe/messages/counters"
)

// CL-33, NOSPACE: the nodes of a full coordinator stay registered and keep their leader, for as long as that lasts.
func TestFullCoordinator(t *testing.T) {
	newWorld(t, func(w *world) {
		a, b, c := w.three()
		before := a.node.View()
		w.store.SetFull(true)
		a.node.SetLoad(coord.Load{Players: 9})
		time.Sleep(10 * time.Minute)
		for _, h := range []*host{a, b, c} {
			v := h.node.View()
			if w.see(h, "a live, b live, c live; a leads"); v.Term != before.Term || v.Member("b").Incarnation != before.Member("b").Incarnation || h.node.CutOff() {
				t.Errorf("%+v", v)
			}
		}
		w.store.SetFull(false)
		time.Sleep(2 * time.Second)
		if v := b.node.View(); v.Member("a").Load.Players != 9 {
			t.Errorf("%+v", v)
		}
	})
}

// One line says that the database is full, and what to do. It is said again only if there was space in between.
func TestCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s, count := clustertest.NewStore(), new(counters.Set)
		defer s.Close()
		raw := s.Client()
		c := cluster.Counted(raw, count, zerolog.New(&log))
		put := func(want error) {
			t.Helper()
			if _, _, err := c.Commit(t.Context(), nil, []coord.Change{coord.Put("k", nil)}); err != want {
				t.Errorf("%v, want %v", err, want)
			}
		}
		lines := func(level string, want int) {
			t.Helper()
			if n := strings.Count(log.String(), `"level":"`+level+`"`); n != want {
				t.Errorf("%d lines of level %s, want %d:\n%s", n, level, want, log.String())
			}
		}
		put(nil)
		s.SetFull(true)
		for range 3 {
			put(coord.ErrFull)
		}
		lines("error", 1)
		if _, _, err := c.Commit(t.Context(), nil, []coord.Change{coord.Delete("k")}); err != nil || count.EtcdFull.Load() != 1 {
			t.Errorf("a deletion: %v, alarm %d", err, count.EtcdFull.Load())
		}
		s.SetFull(false)
		put(nil)
		lines("info", 1)
		raw.SetFaults(clustertest.Faults{Answers: true})
		put(coord.ErrUnknown)
		raw.SetFaults(clustertest.Faults{})
		l, err := c.Grant(t.Context(), 2*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		if err := c.Renew(t.Context(), l); err != coord.ErrGone {
			t.Error(err)
		}
		if count.EtcdFull.Load() != 0 || count.EtcdUnknown.Load() != 1 || count.LeasesLost.Load() != 1 || !strings.Contains(log.String(), "etcdctl alarm disarm") {
			t.Errorf("%d, %d, %d", count.EtcdFull.Load(), count.EtcdUnknown.Load(), count.LeasesLost.Load())
		}
	})
}

// A node that does not reach the coordinator is cut off only while another node reaches it.
func TestCutOff(t *testing.T) {
	newWorld(t, func(w *world) {
		a, b, c := w.three()
		wait := func(d time.Duration, want bool) {
			t.Helper()
			time.Sleep(d)
			if a.node.CutOff() || b.node.CutOff() || c.node.CutOff() != want {
				t.Errorf("cut off: %v, %v, %v", a.node.CutOff(), b.node.CutOff(), c.node.CutOff())
			}
		}
		wait(0, false)
		w.store.SetAway(true)
		wait(time.Minute, false)
		w.store.SetAway(false)
		wait(10*time.Second, false)
		c.client.SetFaults(clustertest.Faults{Requests: true})
		wait(4*time.Second, false)
		wait(10*time.Second, true)
		a.client.SetFaults(clustertest.Faults{Requests: true})
		for range 3 { // the coordinator is slow: now and then it answers
			time.Sleep(5 * time.Second)
			b.client.SetFaults(clustertest.Faults{Requests: true})
			time.Sleep(5 * time.Second)
			b.client.SetFaults(clustertest.Faults{})
			time.Sleep(3 * time.Second)
			if a.node.CutOff() || c.node.CutOff() {
				t.Error("cut off, while no node reaches the coordinator all the time")
			}
		}
		a.client.SetFaults(clustertest.Faults{})
		w.store.SetAway(true)
		wait(15*time.Second, false)
		w.store.SetAway(false)
		c.client.SetFaults(clustertest.Faults{})
		wait(5*time.Second, false)
	})
}

// slowCommits is a Coordinator whose commits are not answered in time, while leases are renewed.
type slowCommits struct {
	cluster.Coordinator
	slow atomic.Bool
}

func (c *slowCommits) Commit(ctx context.Context, when []coord.Condition, changes []coord.Change) (bool, int64, error) {
	if c.slow.Load() {
		<-ctx.Done()
		return false, 0, coord.ErrUnknown
	}
	return c.Coordinator.Commit(ctx, when, changes)
}

// A node whose lease is renewed reaches the coordinator, even if no load of it is written for a minute.
func TestSlowCommitsCutNoNodeOff(t *testing.T) {
	newWorld(t, func(w *world) {
		_, b, _ := w.three()
		b.kill()
		slow := &slowCommits{}
		b.wrap = func(c cluster.Coordinator) cluster.Coordinator { slow.Coordinator = c; return slow }
		b.renew()
		b.start()
		slow.slow.Store(true)
		for room := range 60 {
			b.node.SetLoad(coord.Load{Players: room, Places: []coord.Place{{Fleet: "f", Location: "l", Room: 2 * room}}})
			time.Sleep(time.Second)
			if b.node.CutOff() {
				t.Fatalf("cut off after %d s", room)
			}
		}
	})
}
