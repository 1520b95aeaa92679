package cluster_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/cluster"
	"troupe/actors/cluster/clustertest"
	"troupe/messages/coord"
)

// lead makes a node the leader, and returns the condition of its term.
func (l *library) lead() coord.Condition {
	l.Helper()
	_, _, err := l.raw.Commit(l.Context(), nil, []coord.Change{coord.Delete(testKeys.Lead())})
	if err != nil {
		l.Fatal(err)
	}
	_, term, err := l.raw.Commit(l.Context(), nil, []coord.Change{coord.Put(testKeys.Lead(), nil)})
	if err != nil {
		l.Fatal(err)
	}
	return coord.Incarnation(testKeys.Lead(), term)
}

// gone writes the records of n game sessions that ended before some time.
func (l *library) gone(from, n int, age time.Duration) {
	l.Helper()
	for i := 0; i < n; i += 90 {
		var changes []coord.Change
		for k := i; k < min(n, i+90); k++ {
			changes = append(changes, coord.Put(testKeys.Gone(tagOf(id(from+k))), coord.Encode(coord.Gone{Ended: time.Now().Add(-age)})))
		}
		if _, _, err := l.raw.Commit(l.Context(), nil, changes); err != nil {
			l.Fatal(err)
		}
	}
}

// A record is kept for 24 h, and deleted at the next pass: ten minutes later at most. Faults only delay that.
func TestSweep(t *testing.T) {
	withLibrary(t, func(l *library) {
		leads := l.lead()
		ctx, cancel := context.WithCancel(l.Context())
		var work sync.WaitGroup
		defer work.Wait()
		defer cancel()
		sweep := func(of *shelf) { work.Go(func() { of.d.Sweep(ctx, leads) }) }
		l.gone(0, 1200, 23*time.Hour)
		l.gone(3000, 120, 30*time.Hour)
		if _, _, err := l.raw.Commit(l.Context(), nil, []coord.Change{coord.Put(testKeys.Gone("broken"), []byte("{"))}); err != nil {
			t.Fatal(err)
		}
		sweep(l.nodes[0])
		time.Sleep(5 * time.Second)
		if n := len(l.keys("gone")); n != 1200 {
			t.Errorf("%d records", n)
		}
		time.Sleep(50 * time.Minute)
		if n := len(l.keys("gone")); n != 1200 {
			t.Errorf("%d records before their time", n)
		}
		l.nodes[0].client.SetFaults(clustertest.Faults{Answers: true})
		time.Sleep(12 * time.Minute)
		l.nodes[0].client.SetFaults(clustertest.Faults{})
		time.Sleep(15 * time.Minute)
		if n := len(l.keys("gone")); n != 0 {
			t.Errorf("%d records", n)
		}

		l.gone(0, 10, 25*time.Hour) // another node leads now
		leads = l.lead()
		time.Sleep(time.Hour)
		if n := len(l.keys("gone")); n != 10 {
			t.Errorf("a former leader has deleted %d records", 10-n)
		}
		sweep(l.nodes[1])
		time.Sleep(time.Second)
		if n := len(l.keys("gone")); n != 0 {
			t.Errorf("%d records", n)
		}
	})
}

// The leader discards history that is older than ten minutes, and never a current record.
func TestKeepHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clustertest.NewStore()
		defer s.Close()
		c := s.Client()
		put := func() int64 {
			_, at, err := c.Commit(t.Context(), nil, []coord.Change{coord.Put(string(testKeys)+"k", []byte(fmt.Sprint(time.Now())))})
			if err != nil {
				t.Fatal(err)
			}
			return at
		}
		kept := func(at int64) bool {
			_, err := c.Read(t.Context(), coord.Query{Key: string(testKeys) + "k", At: at})
			return err == nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		work.Go(func() { cluster.KeepHistory(ctx, c, testKeys, 10*time.Minute) })
		defer work.Wait()
		defer cancel()
		first := put()
		time.Sleep(time.Second)
		second := put()
		time.Sleep(10*time.Minute + 30*time.Second)
		if !kept(first) {
			t.Error("history of ten minutes was discarded")
		}
		time.Sleep(time.Minute)
		if kept(first) || !kept(second) {
			t.Errorf("kept: %v, %v", kept(first), kept(second))
		}
		time.Sleep(20 * time.Minute)
		if found, err := c.Read(t.Context(), coord.Query{Key: string(testKeys) + "k"}); err != nil || len(found.KVs) != 1 {
			t.Errorf("%+v, %v", found, err)
		}
		for range 5 {
			put()
			time.Sleep(4 * time.Minute)
		}
		back := s.Revision() - 2
		s.SetBack(back, 0) // restored: the revisions begin again
		for range 5 {
			put()
		}
		time.Sleep(5 * time.Minute)
		if !kept(back + 1) {
			t.Error("history of after the restore was discarded at once")
		}
	})
}
