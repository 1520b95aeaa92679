package suite

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/cluster"
	"troupe/messages/coord"
)

// "cluster" stands for all workloads of a cluster, wherever it is among others.
func TestExpand(t *testing.T) {
	t.Parallel()
	all := Expand([]string{"idle", "cluster", "relay-25x8"})
	if len(all) != 2+len(clusterWorkloads) || all[0] != "idle" || all[len(all)-1] != "relay-25x8" {
		t.Errorf("%q", all)
	}
	for _, name := range all {
		if _, err := Find(name); err != nil {
			t.Error(err)
		}
	}
	for _, w := range Workloads() {
		if strings.HasPrefix(w.Name, "cluster-") && !slices.Contains(all, w.Name) {
			t.Errorf("%s is not among them", w.Name)
		}
	}
}

// A host is ready when others see its room, not already when it is registered.
func TestHostsWithRoom(t *testing.T) {
	t.Parallel()
	load := func(places ...coord.Place) coord.KV { return coord.KV{Value: coord.Encode(coord.Load{Places: places})} }
	if n := ready([]coord.KV{load(coord.Place{Room: 3}), load(coord.Place{}), load(), {Value: []byte("?")}, load(coord.Place{Room: 1}, coord.Place{})}); n != 2 {
		t.Errorf("%d hosts have room, want 2", n)
	}
}

// What a watcher applies counts from the time at which its put was due. The put before the load does not count, nor do
// records that a watch finds when it begins.
func TestWatchedFromWhenItWasDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &watching{epoch: time.Now(), began: make(chan struct{})}
		w.calls = newCalls(time.Now().Add(time.Second))
		close(w.began)
		time.Sleep(2 * time.Second)
		w.applied(cluster.Changes{Events: []coord.Event{
			{KV: coord.KV{Value: stamped(0)}},
			{KV: coord.KV{Value: stamped(1900 * time.Millisecond)}},
			{KV: coord.KV{Value: []byte("another's")}},
		}})
		if got := w.calls.latency.Quantiles().Max; w.calls.latency.Count() != 1 || got < 100*time.Millisecond || got > 101*time.Millisecond || w.calls.failed != 0 {
			t.Errorf("%d latencies, the longest %v, %d failed", w.calls.latency.Count(), got, w.calls.failed)
		}
	})
}
