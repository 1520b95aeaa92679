package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"troupe/actors/cluster"
	"troupe/actors/cluster/clustertest"
	"troupe/messages"
	"troupe/messages/coord"
)

// registry is a directory with two nodes that are registered, and a leader.
type registry struct {
	*testing.T
	c    *clustertest.Client
	term int64
}

func newRegistry(t *testing.T, f func(r *registry)) {
	t.Helper()
	inBubble(t, func(t *testing.T, s *clustertest.Store) {
		r := &registry{T: t, c: s.Client()}
		r.term = put(t, r.c, keys.Lead(), "")
		f(r)
	})
}

func (r *registry) register(name string) cluster.Owner {
	r.Helper()
	return cluster.Owner{Keys: keys, Name: name, Incarnation: put(r.T, r.c, keys.Node(name), "")}
}

func (r *registry) delete(key string) {
	r.Helper()
	if _, _, err := r.c.Commit(r.Context(), nil, []coord.Change{coord.Delete(key)}); err != nil {
		r.Fatal(err)
	}
}

// run makes transactions, and returns which were made.
func (r *registry) run(all ...cluster.Transaction) string {
	r.Helper()
	var done []bool
	for _, t := range all {
		ok, _, err := r.c.Commit(r.Context(), t.When, t.Changes)
		if err != nil {
			r.Fatal(err)
		}
		done = append(done, ok)
	}
	return fmt.Sprint(done)
}

func (r *registry) want(what, got, want string) {
	r.Helper()
	if got != want {
		r.Errorf("%s: %s, want %s", what, got, want)
	}
}

func (r *registry) get(key string) *coord.KV {
	r.Helper()
	found, err := r.c.Read(r.Context(), coord.Query{Key: key})
	if err != nil || len(found.KVs) == 0 {
		return nil
	}
	return &found.KVs[0]
}

// has returns what the directory has: game, host and gone.
func (r *registry) has(tag coord.Tag, owner string) string {
	r.Helper()
	return fmt.Sprint(r.get(keys.Game(tag)) != nil, r.get(keys.HostGame(owner, tag)) != nil, r.get(keys.Gone(tag)) != nil)
}

func game(n int, token string) (coord.Game, coord.Tag) {
	g := coord.Game{ARN: messages.GameSessionID(fmt.Sprint("arn:", n)), Fleet: "f", Location: "l", Token: token}
	return g, coord.TagOf(g.ARN)
}

func TestClaim(t *testing.T) {
	newRegistry(t, func(r *registry) {
		a, b := r.register("a"), r.register("b")
		g, tag := game(1, "token")
		r.want("a's claim", r.run(a.Claim(g)), "[true]")
		r.want("b's claim, and a's again", r.run(b.Claim(g), a.Claim(g)), "[false false]")
		r.want("the directory", r.has(tag, "a"), "true true false")
		if kv := r.get(keys.Game(tag)); !a.Has(*kv) || b.Has(*kv) {
			t.Error("a has it")
		}
		r.want("b's end", r.run(b.End([]cluster.Ended{{Game: g}})...), "[false]")
		r.want("a's end", r.run(a.End([]cluster.Ended{{Game: g, Record: r.get(keys.Game(tag)).Changed}})...), "[true]")
		r.want("the directory", r.has(tag, "a"), "false false true")
		r.want("a claim of what has ended", r.run(b.Claim(g)), "[false]")
	})
}

// The transactions of an old incarnation are refused.
func TestOldIncarnation(t *testing.T) {
	newRegistry(t, func(r *registry) {
		a := r.register("a")
		g, tag := game(1, "")
		r.run(a.Claim(g))
		r.delete(keys.Node("a"))
		again := r.register("a")
		other, _ := game(2, "")
		record := r.get(keys.Game(tag)).Changed
		kept := []cluster.Kept{{Tag: tag, Entry: r.get(keys.HostGame("a", tag)).Changed, Game: &g}}
		r.want("a claim", r.run(a.Claim(other)), "[false]")
		r.want("an end", r.run(a.End([]cluster.Ended{{Game: g, Record: record}})...), "[false]")
		r.want("a return", r.run(a.Return(kept)...), "[false]")
		r.want("the return of the new one", r.run(again.Return(kept)...), "[true]")
		if !again.Has(*r.get(keys.Game(tag))) {
			t.Error("it has returned")
		}
	})
}

func TestReap(t *testing.T) {
	newRegistry(t, func(r *registry) {
		a, b := r.register("a"), r.register("b")
		g, tag := game(1, "")
		moved, movedTag := game(2, "")
		r.run(a.Claim(g), b.Claim(moved))
		put(r.T, r.c, keys.HostGame("a", movedTag), "")
		put(r.T, r.c, keys.HostGame("a", "alone"), "")
		reap := func(term int64) string {
			event := coord.Put(string(keys)+"event/1", nil)
			return r.run(cluster.Reap(keys, term, "a", "its host was lost", time.Now(), []cluster.Reaped{
				{Tag: tag, Record: r.get(keys.Game(tag)), Also: []coord.Change{event}}, {Tag: movedTag, Record: r.get(keys.Game(movedTag))}, {Tag: "alone"},
			})...)
		}
		r.want("of a node that is registered", reap(r.term), "[false]")
		entry := r.get(keys.HostGame("a", tag)).Changed
		r.delete(keys.Node("a"))
		r.want("in an old term", reap(r.term-1), "[false]")
		r.want("in the term", reap(r.term), "[true]")
		r.want("what was a's", r.has(tag, "a"), "false false true")
		r.want("what was b's", r.has(movedTag, "a"), "true false false")
		r.want("the entry alone", r.has("alone", "a"), "false false false")
		gone, err := coord.Decode[coord.Gone](*r.get(keys.Gone(tag)))
		if err != nil || gone.Text != "its host was lost" || gone.ARN != g.ARN || !gone.Ended.Equal(time.Now()) {
			t.Errorf("%+v, %v", gone, err)
		}
		r.want("the return of what was reaped", r.run(r.register("a").Return([]cluster.Kept{{Tag: tag, Entry: entry, Game: &g}})...), "[false]")
	})
}

// However many game sessions there are and however large their records, each transaction keeps the limits, and none is left out.
func TestTransactionsKeepTheLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := cluster.Owner{Keys: keys, Name: "a", Incarnation: 7}
		var ended []cluster.Ended
		var kept []cluster.Kept
		var reaped []cluster.Reaped
		var want []coord.Tag
		token := rapid.SampledFrom([]string{"", "token"})
		for i := range rapid.IntRange(0, 150).Draw(t, "games") {
			g, tag := game(i, token.Draw(t, "token"))
			g.Name = strings.Repeat("x", rapid.SampledFrom([]int{0, 100, 60_000, 300_000}).Draw(t, "name"))
			want = append(want, tag)
			ended = append(ended, cluster.Ended{Game: g, Record: 3})
			kept = append(kept, cluster.Kept{Tag: tag, Entry: 3, Game: &g})
			record := &coord.KV{Value: coord.Encode(g), Changed: 3}
			reaped = append(reaped, cluster.Reaped{Tag: tag, Record: record, Also: []coord.Change{coord.Put(fmt.Sprint("event/", i), nil)}})
		}
		for what, all := range map[string][]cluster.Transaction{
			"End": o.End(ended), "Return": o.Return(kept), "Reap": cluster.Reap(keys, 1, "a", "", time.Time{}, reaped),
		} {
			var got []coord.Tag
			for _, x := range all {
				if err := coord.Check(x.When, x.Changes); err != nil || len(x.Games) == 0 || len(x.Games) > 50 {
					t.Errorf("%s: %d game sessions, %v", what, len(x.Games), err)
				}
				got = append(got, x.Games...)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %v, want %v", what, got, want)
			}
		}
	})
}

// counting counts reads.
type counting struct {
	cluster.Coordinator
	reads atomic.Int64
}

func (c *counting) Read(ctx context.Context, q coord.Query) (coord.Found, error) {
	c.reads.Add(1)
	return c.Coordinator.Read(ctx, q)
}

// An unknown id costs one read, and none when it is repeated.
func TestOwners(t *testing.T) {
	newRegistry(t, func(r *registry) {
		r.c.SetFaults(clustertest.Faults{Delay: 10 * time.Millisecond})
		c := &counting{Coordinator: r.c}
		o := cluster.NewOwners(c, keys)
		g, tag := game(1, "")
		find := func(want string, reads int64) {
			t.Helper()
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					if name, err := o.Find(r.Context(), tag, true); name != want || err != nil {
						t.Errorf("%q, %v, want %q", name, err, want)
					}
				})
			}
			all.Wait()
			if n := c.reads.Swap(0); n != reads {
				t.Errorf("%d reads, want %d", n, reads)
			}
		}
		find("", 1)
		r.run(r.register("a").Claim(g))
		find("", 0)
		time.Sleep(5 * time.Second)
		find("a", 1)
		time.Sleep(time.Hour)
		find("a", 0)
		o.Forget(tag)
		find("a", 1)
		o.Set(tag, "b")
		find("b", 0)
		if got, err := o.Read(r.Context(), tag); err != nil || got.Owner != "a" {
			t.Errorf("%+v, %v", got, err)
		}
		c.reads.Store(0)
		find("a", 0)
	})
}

func TestOwnersLimits(t *testing.T) {
	newRegistry(t, func(r *registry) {
		c := &counting{Coordinator: r.c}
		o := cluster.NewOwners(c, keys)
		logins := func() (refused int) {
			for i := range 250 {
				if _, err := o.Find(r.Context(), coord.Tag(fmt.Sprint("x", i)), true); errors.Is(err, cluster.ErrTooManyReads) {
					refused++
				}
			}
			return refused
		}
		if n := logins(); n != 50 {
			t.Errorf("%d of 250 refused, want 50", n)
		}
		if name, err := o.Find(r.Context(), "y", false); err != nil {
			t.Errorf("not a login: %q, %v", name, err)
		}
		time.Sleep(time.Second)
		if n := logins(); n != 0 {
			t.Errorf("%d of 250 refused, of which 50 are not known", n)
		}
		for i := range 150_000 {
			o.Set(coord.Tag(fmt.Sprint(i)), "a")
		}
		c.reads.Store(0)
		for i := range 150_000 {
			_, _ = o.Find(r.Context(), coord.Tag(fmt.Sprint(149_999-i)), false)
			if c.reads.Load() > 0 {
				if i < 50_000 || i > 100_000 {
					t.Errorf("%d are remembered", i)
				}
				break
			}
		}
		r.c.SetFaults(clustertest.Faults{Requests: true})
		if _, err := o.Find(r.Context(), "z", false); !errors.Is(err, coord.ErrUnavailable) {
			t.Error(err)
		}
	})
}

func TestSecret(t *testing.T) {
	newRegistry(t, func(r *registry) {
		secrets := make(chan string, 10)
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				secret, err := cluster.Secret(r.Context(), r.c, keys, "ids")
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
		put(r.T, r.c, keys.Secret("short"), "x")
		if _, err := cluster.Secret(r.Context(), r.c, keys, "short"); err == nil {
			t.Error("a short secret")
		}
	})
}
