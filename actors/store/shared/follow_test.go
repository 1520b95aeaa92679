package shared

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/actors/cluster/clustertest"
	"troupe/actors/store"
	"troupe/messages/coord"
)

// copied contains the records that a Follower has passed on.
type copied map[string]string

func (c copied) apply(changes []store.Change) {
	for _, change := range changes {
		key := string(change.Kind) + " " + change.ID
		if c[key] = string(change.Value); change.Value == nil {
			delete(c, key)
		}
	}
}

// After Synced, a Follower has all changes that any leader answered before the call, including values in pieces.
// Requests and answers are lost at random.
func TestFollower(t *testing.T) {
	for seed := range uint64(15) {
		inBubble(t, func(w *world) {
			r := rand.New(rand.NewPCG(seed, 0))
			ctx, cancel := context.WithCancel(w.Context())
			client := w.coordinator.Client()
			all := copied{}
			f := NewFollower(client, prefix, all.apply)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				f.Run(ctx)
			}()
			want := copied{}
			s, _ := w.lead(Options{})
			for range 60 {
				var changes []store.Change
				for range 1 + r.IntN(3) {
					kind := []store.Kind{store.Fleet, store.Content, store.Placement}[r.IntN(3)]
					c := put(kind, fmt.Sprint(r.IntN(5)), strings.Repeat(fmt.Sprint(r.IntN(10)), 1+r.IntN(10)))
					if kind == store.Content {
						c.Value = []byte(strings.Repeat(string(c.Value), 1+r.IntN(100_000)))
					}
					if r.IntN(4) == 0 {
						c.Value = nil
					}
					changes = append(changes, c)
				}
				w.ok(commitNow(s, changes...))
				for _, c := range changes {
					if c.Kind != store.Placement {
						want.apply([]store.Change{c})
					}
				}
				switch r.IntN(12) {
				case 0:
					client.SetFaults(clustertest.Faults{Delay: 300 * time.Millisecond, Break: r.IntN(2) == 0, Answers: r.IntN(2) == 0})
					time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
					client.SetFaults(clustertest.Faults{})
				case 1:
					s.End()
					s, _ = w.lead(Options{})
				case 2:
					found, err := client.Read(ctx, coord.Query{Key: prefix})
					w.ok(err)
					w.ok(client.Compact(ctx, found.At))
				case 3, 4:
					w.ok(f.Synced(ctx))
					if len(all) != len(want) {
						t.Fatalf("seed %d: %d records, want %d", seed, len(all), len(want))
					}
					for key, value := range want {
						if all[key] != value {
							t.Fatalf("seed %d: %s has %d bytes, want %d", seed, key, len(all[key]), len(value))
						}
					}
				}
			}
			s.End()
			cancel()
			<-ended
		})
	}
}

// Three nodes add to one record by Change, while requests and answers are lost at random and the leader changes other
// records. No addition is lost or made twice, and each is in the node's own copy when Change returns. Once the node's
// registration is gone, it changes nothing.
func TestChange(t *testing.T) {
	for seed := range uint64(15) {
		inBubble(t, func(w *world) {
			ctx, cancel := context.WithCancel(w.Context())
			var nodes, followers sync.WaitGroup
			s, _ := w.lead(Options{})
			_, at, err := w.coordinator.Client().Commit(ctx, nil, []coord.Change{coord.Put(prefix+"node/n", nil)})
			w.ok(err)
			writer := coord.Incarnation(prefix+"node/n", at)
			record := func(c copied) []string { return strings.Fields(c["ban all"]) }
			var last *Follower
			var all copied
			for n := range 3 {
				client, own := w.coordinator.Client(), copied{}
				var mu sync.Mutex
				f := NewFollower(client, prefix, func(changes []store.Change) {
					mu.Lock()
					defer mu.Unlock()
					own.apply(changes)
				})
				last, all = f, own
				followers.Go(func() { f.Run(ctx) })
				nodes.Go(func() {
					r := rand.New(rand.NewPCG(seed, uint64(n)))
					for i := range 20 {
						one := fmt.Sprint(n, "-", i)
						client.SetFaults(clustertest.Faults{Delay: time.Duration(r.IntN(300)) * time.Millisecond, Break: r.IntN(3) == 0, Answers: r.IntN(3) == 0})
						heal := time.AfterFunc(time.Duration(r.IntN(3000))*time.Millisecond, func() { client.SetFaults(clustertest.Faults{}) })
						add := func() ([]store.Change, error) {
							mu.Lock()
							defer mu.Unlock()
							if now := record(own); !slices.Contains(now, one) {
								return []store.Change{put(store.Ban, "all", strings.Join(append(now, one), " "))}, nil
							}
							return nil, nil
						}
						if err := f.Change(ctx, writer, add); err != nil {
							t.Errorf("seed %d: node %d: %v", seed, n, err)
						}
						mu.Lock()
						if !slices.Contains(record(own), one) {
							t.Errorf("seed %d: node %d does not have its own addition %s", seed, n, one)
						}
						mu.Unlock()
						heal.Stop()
						client.SetFaults(clustertest.Faults{})
					}
				})
			}
			for i := range 20 {
				w.ok(commitNow(s, put(store.Fleet, "f", fmt.Sprint(i))))
				time.Sleep(100 * time.Millisecond)
			}
			nodes.Wait()
			w.ok(last.Synced(ctx))
			got := record(all)
			slices.Sort(got)
			if len(got) != 60 || len(slices.Compact(got)) != 60 {
				t.Fatalf("seed %d: %d additions: %v", seed, len(got), got)
			}
			_, _, err = w.coordinator.Client().Commit(ctx, nil, []coord.Change{coord.Delete(prefix + "node/n")})
			w.ok(err)
			if err := last.Change(ctx, writer, func() ([]store.Change, error) { return []store.Change{store.Delete(store.Ban, "all")}, nil }); !errors.Is(err, ErrNotWriter) {
				t.Errorf("seed %d: a node that is not registered: %v", seed, err)
			}
			if got := record(all); len(got) != 60 {
				t.Errorf("seed %d: it has changed the record: %v", seed, got)
			}
			cancel()
			followers.Wait()
			w.ok(s.Close())
		})
	}
}
