package cluster_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/cluster"
	"troupe/messages/coord"
)

// supports sets the versions of the records that a host's next process supports.
func (h *host) supports(low, high int) {
	h.options.Self.Schema = coord.Range{Low: low, High: high}
	h.renew()
}

func (w *world) meta() coord.Meta {
	w.Helper()
	found, err := w.admin.Read(w.Context(), coord.Query{Key: keys.Meta()})
	if err != nil || len(found.KVs) != 1 {
		w.Fatalf("%+v, %v", found, err)
	}
	m, err := coord.Decode[coord.Meta](found.KVs[0])
	if err != nil {
		w.Fatal(err)
	}
	return m
}

// upgrade replaces a host's process with one that supports other versions.
func (h *host) upgrade(low, high int) {
	h.w.Helper()
	h.node.Close()
	h.process.Stop()
	h.supports(low, high)
	h.start()
}

// CL-28: neighbouring versions work together. The schema of the records rises once all nodes have supported the new one
// for an hour. Until then an upgrade can be taken back; afterwards an old node is told what to do.
func TestTheSchemaRises(t *testing.T) {
	newWorld(t, func(w *world) {
		a, b, c := w.three()
		id := w.meta().ID
		a.upgrade(1, 2)
		b.upgrade(1, 2)
		time.Sleep(3 * time.Hour)
		w.see(a, "a live, b live, c live; "+a.node.View().Leader+" leads")
		if m := w.meta(); m.Schema != 1 {
			t.Errorf("schema %d, although c does not support it", m.Schema)
		}
		c.upgrade(1, 2)
		time.Sleep(50 * time.Minute)
		c.upgrade(1, 1) // back
		time.Sleep(50 * time.Minute)
		c.upgrade(1, 2)
		time.Sleep(58 * time.Minute)
		if m := w.meta(); m.Schema != 1 {
			t.Errorf("schema %d, within an hour", m.Schema)
		}
		time.Sleep(5 * time.Minute)
		if m := w.meta(); m.Schema != 2 || m.ID != id {
			t.Errorf("%+v, want schema 2 of %s", m, id)
		}
		old := w.add("old")
		w.refused(old, "its records have schema 2, and this version (1.0.0) knows 1 to 1: start the version of Troupe that the other nodes run")
		b.upgrade(2, 3) // the next version works with both neighbours
		time.Sleep(2 * time.Hour)
		w.see(a, "a live, b live, c live; "+a.node.View().Leader+" leads")
		if m := w.meta(); m.Schema != 2 {
			t.Errorf("schema %d, although only b supports 3", m.Schema)
		}
	})
}

// A registration that this version cannot read belongs to a node of unknown abilities.
func TestTheSchemaDoesNotRiseBesideAnUnknownNode(t *testing.T) {
	newWorld(t, func(w *world) {
		w.three()
		for _, h := range w.hosts {
			h.upgrade(1, 2)
		}
		if _, _, err := w.admin.Commit(w.Context(), nil, []coord.Change{coord.Put(keys.Node("other"), []byte("?"))}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Hour)
		if m := w.meta(); m.Schema != 1 {
			t.Errorf("schema %d", m.Schema)
		}
	})
}

// before calls a function once, before a commit that changes a key.
type before struct {
	cluster.Coordinator
	key string
	do  func()
}

func (c *before) Commit(ctx context.Context, when []coord.Condition, changes []coord.Change) (bool, int64, error) {
	if do := c.do; do != nil && slices.ContainsFunc(changes, func(o coord.Change) bool { return o.Key == c.key }) {
		c.do = nil
		do()
	}
	return c.Coordinator.Commit(ctx, when, changes)
}

// An old node registers at the moment of the rise: either it is registered and the schema stays, or it is refused.
func TestAnOldNodeRegistersWhileTheSchemaRises(t *testing.T) {
	t.Run("Before", func(t *testing.T) {
		newWorld(t, func(w *world) {
			a, old := w.add("a"), w.add("old")
			a.start()
			a.node.Close()
			a.process.Stop()
			a.options.Self.Schema.High = 2
			a.wrap = func(c cluster.Coordinator) cluster.Coordinator {
				return &before{c, keys.Meta(), old.start}
			}
			a.renew()
			a.start()
			time.Sleep(3 * time.Hour)
			if m := w.meta(); m.Schema != 1 {
				t.Errorf("schema %d, although an old node is registered", m.Schema)
			}
			w.see(a, "a live, old live; a leads")
		})
	})
	t.Run("After", func(t *testing.T) {
		newWorld(t, func(w *world) {
			a, old := w.add("a"), w.add("old")
			a.start()
			a.upgrade(1, 2)
			time.Sleep(60*time.Minute + 30*time.Second)
			old.wrap = func(c cluster.Coordinator) cluster.Coordinator {
				return &before{c, keys.Node("old"), func() {
					if m := w.meta(); m.Schema != 1 {
						t.Errorf("schema %d, before the old node registers", m.Schema)
					}
					time.Sleep(50 * time.Second)
				}}
			}
			old.renew()
			w.refused(old, "its records have schema 2")
			w.see(a, "a live; a leads")
		})
	})
}

// A node of an old version was cut off while the schema rose. It does not register again, and says why.
func TestAnOldNodeReturnsAfterTheRise(t *testing.T) {
	newWorld(t, func(w *world) {
		a, b, c := w.three()
		var log bytes.Buffer
		b.options.Log = zerolog.New(zerolog.SyncWriter(&log))
		for h, high := range map[*host]int{a: 2, b: 1, c: 2} {
			h.upgrade(1, high)
		}
		b.freeze(true)
		time.Sleep(2 * time.Hour)
		if m := w.meta(); m.Schema != 2 {
			t.Fatalf("schema %d", m.Schema)
		}
		b.freeze(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := strings.Count(log.String(), "its records have schema 2"); n != 1 {
			t.Errorf("the log says so %d times: %s", n, log.String())
		}
		if got := w.keys(keys.Nodes()); !slices.Equal(got, []string{"node/a", "node/c"}) {
			t.Errorf("registered: %v", got)
		}
	})
}

// The coordinator has lost all records: the nodes register anew, as the same cluster.
func TestTheCoordinatorLosesItsRecords(t *testing.T) {
	newWorld(t, func(w *world) {
		a, _, _ := w.three()
		m := w.meta()
		var all []coord.Change
		for _, key := range w.keys(string(keys)) {
			all = append(all, coord.Delete(string(keys)+key))
		}
		if _, _, err := w.admin.Commit(w.Context(), nil, all); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if again := w.meta(); again != m {
			t.Errorf("%+v, want %+v", again, m)
		}
		w.see(a, "a live, b live, c live; "+a.node.View().Leader+" leads")
	})
}

// A node whose store knows the cluster's id does not begin a new cluster where etcd has no records. It leaves etcd as it
// is, so that a backup can be restored.
func TestAnEmptyCoordinatorRefusesAKnownStore(t *testing.T) {
	newWorld(t, func(w *world) {
		a := w.add("a")
		a.options.ClusterID = "known"
		a.renew()
		w.refused(a, "etcd has no records of the cluster to which the store of node a belongs (known)")
		if all := w.keys(""); len(all) != 0 {
			t.Errorf("written: %q", all)
		}
	})
}

// Another cluster's records take the place of this one's: a running node does not register there.
func TestAForeignClusterID(t *testing.T) {
	newWorld(t, func(w *world) {
		a := w.add("a")
		a.start()
		id := a.node.ClusterID()
		all := []coord.Change{coord.Put(string(keys.Meta()), coord.Encode(coord.Meta{ID: "foreign", Schema: 1}))}
		for _, key := range w.keys(keys.Nodes()) {
			all = append(all, coord.Delete(string(keys)+key))
		}
		if _, _, err := w.admin.Commit(w.Context(), nil, all); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if registered := w.keys(keys.Nodes()); len(registered) != 0 || a.node.ClusterID() != id {
			t.Errorf("registered: %v in cluster %q, before %q", registered, a.node.ClusterID(), id)
		}
	})
}
