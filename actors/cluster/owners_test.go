package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors/cluster"
	"troupe/actors/cluster/clustertest"
	"troupe/messages/coord"
	"troupe/messages/counters"
)

// counting counts the reads of a coordinator.
type counting struct {
	cluster.Coordinator
	reads atomic.Int64
}

func (c *counting) Read(ctx context.Context, q coord.Query) (coord.Found, error) {
	c.reads.Add(1)
	return c.Coordinator.Read(ctx, q)
}

// Concurrent requests for an id that is not cached cause one read. Requests for a cached id cause no read.
func TestOwners(t *testing.T) {
	inBubble(t, func(t *testing.T, s *clustertest.Store) {
		client := s.Client()
		client.SetFaults(clustertest.Faults{Delay: 10 * time.Millisecond})
		c := &counting{Coordinator: client}
		o := cluster.NewOwners(c, keys, new(counters.Set))
		const tag = coord.Tag("tag")
		fresh := false
		find := func(want string, reads int64) {
			t.Helper()
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					if w, err := o.Find(t.Context(), tag, fresh, true); w.Owner != want || err != nil {
						t.Errorf("%+v, %v, want %q", w, err, want)
					}
				})
			}
			all.Wait()
			if n := c.reads.Swap(0); n != reads {
				t.Errorf("%d reads, want %d", n, reads)
			}
		}
		find("", 1)
		put(t, client, keys.Game(tag), `{"owner":"a"}`)
		find("", 0)
		time.Sleep(5 * time.Second)
		find("a", 1)
		time.Sleep(time.Hour)
		find("a", 0)
		put(t, client, keys.Game(tag), `{"owner":"b"}`)
		fresh = true
		find("b", 1)
		fresh = false
		find("b", 0)
	})
}

// One read says that a game session has ended, and how.
func TestOwnersOfEndedGameSessions(t *testing.T) {
	inBubble(t, func(t *testing.T, s *clustertest.Store) {
		client := s.Client()
		c := &counting{Coordinator: client}
		o := cluster.NewOwners(c, keys, new(counters.Set))
		put(t, client, keys.Gone("lost"), `{"owner":"a","text":"its host was lost"}`)
		put(t, client, keys.Gone("ended"), `{"owner":"a","token":"t"}`)
		for range 3 {
			for tag, want := range map[coord.Tag]string{"lost": "true true", "ended": "true false", "unknown": "false false"} {
				w, err := o.Find(t.Context(), tag, false, true)
				if got := fmt.Sprint(w.Ended, w.Lost); got != want || w.Owner != "" || err != nil {
					t.Errorf("%s: %+v, %v, want %s", tag, w, err, want)
				}
			}
		}
		if n := c.reads.Load(); n != 3 {
			t.Errorf("%d reads, want 3", n)
		}
	})
}

func TestOwnersLimits(t *testing.T) {
	inBubble(t, func(t *testing.T, s *clustertest.Store) {
		client := s.Client()
		c := &counting{Coordinator: client}
		o := cluster.NewOwners(c, keys, new(counters.Set))
		logins := func() (refused int) {
			for i := range 250 {
				if _, err := o.Find(t.Context(), coord.Tag(fmt.Sprint("x", i)), false, true); errors.Is(err, cluster.ErrTooManyReads) {
					refused++
				}
			}
			return refused
		}
		if n := logins(); n != 50 {
			t.Errorf("%d of 250 refused, want 50", n)
		}
		if w, err := o.Find(t.Context(), "y", false, false); err != nil {
			t.Errorf("not a login: %+v, %v", w, err)
		}
		time.Sleep(time.Second)
		if n := logins(); n != 0 {
			t.Errorf("%d of 250 refused, of which 50 are not known", n)
		}
		for i := range 150_000 {
			_, _ = o.Find(t.Context(), coord.Tag(fmt.Sprint(i)), false, false)
		}
		c.reads.Store(0)
		for i := range 150_000 {
			_, _ = o.Find(t.Context(), coord.Tag(fmt.Sprint(149_999-i)), false, false)
			if c.reads.Load() > 0 {
				if i < 50_000 || i > 100_000 {
					t.Errorf("%d are remembered", i)
				}
				break
			}
		}
		client.SetFaults(clustertest.Faults{Requests: true})
		if _, err := o.Find(t.Context(), "z", false, false); !errors.Is(err, coord.ErrUnavailable) {
			t.Error(err)
		}
	})
}

func TestSecret(t *testing.T) {
	inBubble(t, func(t *testing.T, s *clustertest.Store) {
		client := s.Client()
		secrets := make(chan string, 10)
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				secret, err := cluster.Secret(t.Context(), client, keys, "ids")
				if err != nil {
					t.Error(err)
				}
				secrets <- string(secret)
			})
		}
		all.Wait()
		first := <-secrets
		for range 9 {
			if s := <-secrets; s != first || len(s) != 32 {
				t.Errorf("%x, %x", s, first)
			}
		}
		put(t, client, keys.Secret("short"), "x")
		if _, err := cluster.Secret(t.Context(), client, keys, "short"); err == nil {
			t.Error("a short secret")
		}
	})
}
