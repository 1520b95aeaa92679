package cluster_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"troupe/actors/cluster"
	"troupe/actors/cluster/clustertest"
	"troupe/messages/coord"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// follower records the calls of a replica's apply function.
type follower struct {
	*testing.T
	kvs  map[string]coord.KV
	told map[string][]int64 // revisions of the changes, by key
	at   int64
}

func (f *follower) apply(c cluster.Changes) {
	if c.At < f.at && !c.Restored {
		f.Errorf("changes up to %d after %d", c.At, f.at)
	}
	if c.Restored {
		clear(f.told)
	}
	f.at = c.At
	last := int64(0)
	for _, e := range c.Events {
		if e.Changed < last || e.Changed > c.At {
			f.Errorf("revision %d after %d in changes up to %d", e.Changed, last, c.At)
		}
		last = e.Changed
		if told := f.told[e.Key]; len(told) > 0 && told[len(told)-1] >= e.Changed {
			f.Errorf("%s changed at %v, then at %d", e.Key, told, e.Changed)
		}
		f.told[e.Key] = append(f.told[e.Key], e.Changed)
		if _, there := f.kvs[e.Key]; e.Deleted && !there {
			f.Errorf("%s was deleted before it was there", e.Key)
		}
		if f.kvs[e.Key] = e.KV; e.Deleted {
			delete(f.kvs, e.Key)
		}
	}
}

func show(kvs []coord.KV) string {
	var b strings.Builder
	for _, kv := range kvs {
		fmt.Fprintf(&b, "%s=%s %d %d %d\n", kv.Key, kv.Value, kv.Created, kv.Changed, kv.Lease)
	}
	return b.String()
}

// CL-32: once all faults have ended, a replica equals a fresh listing, and apply has been called with every change
// between.
func TestReplicaEqualsAListing(t *testing.T) {
	seeds := 300
	if !testing.Short() {
		seeds = 2000
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { replicaUnderFaults(t, rand.New(rand.NewPCG(uint64(seed), 1))) })
		})
	}
}

func replicaUnderFaults(t *testing.T, random *rand.Rand) {
	s := clustertest.NewStore()
	defer s.Close()
	writer, reader := s.Client(), s.Client()
	f := &follower{T: t, kvs: map[string]coord.KV{}, told: map[string][]int64{}}
	r := cluster.NewReplica(reader, "/a/", f.apply)
	go r.Run(t.Context())
	synctest.Wait()
	backup, listed := s.Revision(), false
	history := map[string][]int64{} // revisions of the changes by key, as received from another watch
	batches := writer.Watch(t.Context(), "/a/", backup)
	go func() {
		for b := range batches {
			for _, e := range b.Events {
				history[e.Key] = append(history[e.Key], e.Changed)
			}
		}
	}()
	lease, _ := writer.Grant(t.Context(), 5*time.Second)
	for range 60 {
		switch random.IntN(14) {
		case 0:
			reader.SetFaults(clustertest.Faults{Requests: random.IntN(2) == 0, Answers: random.IntN(2) == 0, Break: random.IntN(2) == 0})
		case 1, 2:
			reader.SetFaults(clustertest.Faults{Delay: time.Duration(random.IntN(300)) * time.Millisecond})
		case 3:
			if listed = true; writer.Compact(t.Context(), s.Revision()) == nil {
				backup = s.Revision()
			}
		case 4:
			backup = s.Revision()
		case 5:
			s.SetAway(true)
			time.Sleep(time.Duration(random.IntN(5000)) * time.Millisecond)
			s.SetAway(false)
		case 6:
			if random.IntN(3) == 0 {
				listed = true
				s.SetBack(backup, 2_000_000_000)
				backup = s.Revision()
			}
		case 8:
			lease, _ = writer.Grant(t.Context(), time.Duration(1+random.IntN(5))*time.Second)
		default:
			var changes []coord.Change
			for i := range 6 {
				switch key := fmt.Sprint("/", string("ab"[random.IntN(2)]), "/", i); random.IntN(5) {
				case 0:
					changes = append(changes, coord.Put(key, fmt.Append(nil, random.Uint32())))
				case 1:
					changes = append(changes, coord.Delete(key))
				case 2:
					changes = append(changes, coord.Change{Key: key, Lease: lease})
				}
			}
			_, _, _ = writer.Commit(t.Context(), nil, changes)
		}
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
	}
	reader.SetFaults(clustertest.Faults{})
	time.Sleep(10 * time.Second)
	synctest.Wait()
	found, err := writer.Read(t.Context(), coord.Query{Key: "/a/", Prefix: true})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := show(r.Records()), show(found.KVs); got != want {
		t.Errorf("the replica has\n%s\nthe store\n%s", got, want)
	}
	var model []coord.KV
	for _, kv := range f.kvs {
		model = append(model, kv)
	}
	slices.SortFunc(model, func(a, b coord.KV) int { return strings.Compare(a.Key, b.Key) })
	if got, want := show(model), show(found.KVs); got != want {
		t.Errorf("its owner was told of\n%s\nthe store has\n%s", got, want)
	}
	if got, want := fmt.Sprint(f.told), fmt.Sprint(history); !listed && got != want {
		t.Errorf("changes at %s, want %s", got, want)
	}
}

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, f func(t *testing.T, s *clustertest.Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := clustertest.NewStore()
		defer s.Close()
		f(t, s)
	})
}

func put(t *testing.T, c cluster.Coordinator, key, value string) int64 {
	t.Helper()
	_, at, err := c.Commit(t.Context(), nil, []coord.Change{coord.Put(key, []byte(value))})
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestReplicaIsSetBack(t *testing.T) {
	for bump, want := range map[int64]time.Duration{0: 5 * time.Second, 1_000_000_000: 50 * time.Millisecond} {
		inBubble(t, func(t *testing.T, s *clustertest.Store) {
			c := s.Client()
			backup := put(t, c, "/a/1", "old")
			for range 5 {
				put(t, c, "/a/1", "new")
			}
			restored := make(chan cluster.Changes, 1)
			r := cluster.NewReplica(s.Client(), "/a/", func(c cluster.Changes) {
				if c.Restored {
					restored <- c
				}
			})
			go r.Run(t.Context())
			synctest.Wait()
			s.SetBack(backup, bump)
			begin := time.Now()
			c1 := <-restored
			if took := time.Since(begin); took != want && took != want+50*time.Millisecond {
				t.Errorf("noticed after %v, want %v", took, want)
			}
			if len(c1.Events) != 1 || string(c1.Events[0].Value) != "old" || c1.At != backup+bump {
				t.Errorf("%+v", c1)
			}
		})
	}
}

func TestReplicaWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, s *clustertest.Store) {
		c, slow := s.Client(), s.Client()
		r := cluster.NewReplica(slow, "/a/", nil)
		go r.Run(t.Context())
		synctest.Wait()
		slow.SetFaults(clustertest.Faults{Delay: 300 * time.Millisecond})
		begin := time.Now()
		if err := r.WaitFor(t.Context(), put(t, c, "/a/1", "")); err != nil || time.Since(begin) != 300*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		if kv, there := r.Get("/a/1"); !there || kv.Changed != r.At() {
			t.Errorf("%+v at %d", kv, r.At())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.WaitFor(ctx, r.At()+1); err != context.DeadlineExceeded {
			t.Error(err)
		}
	})
}

// An outage of the store of one minute ends no leases.
func TestStoreIsAway(t *testing.T) {
	inBubble(t, func(t *testing.T, s *clustertest.Store) {
		c := s.Client()
		lease, _ := c.Grant(t.Context(), 6*time.Second)
		_, at, _ := c.Commit(t.Context(), nil, []coord.Change{{Key: "k", Lease: lease}})
		time.Sleep(5 * time.Second)
		s.SetAway(true)
		if _, err := c.Read(t.Context(), coord.Query{Key: "k"}); err != coord.ErrUnavailable {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		s.SetAway(false)
		begin := time.Now()
		if b := <-c.Watch(t.Context(), "k", at); !b.Events[0].Deleted || time.Since(begin) != 6*time.Second {
			t.Errorf("%+v after %v", b, time.Since(begin))
		}
	})
}
