package shared

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
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
