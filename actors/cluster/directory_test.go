package cluster_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/cluster"
	"troupe/actors/cluster/clustertest"
	"troupe/messages"
	"troupe/messages/coord"
	"troupe/messages/counters"
)

const testKeys = coord.Keys("/troupe/test/")

// library is a set of nodes, each with a directory, on one coordinator in a bubble.
type library struct {
	*testing.T
	store *clustertest.Store
	raw   *clustertest.Client // a client without faults
	nodes []*shelf
}

// shelf is one node: its directory and the game sessions that it runs.
type shelf struct {
	name   string
	client *clustertest.Client
	d      *cluster.Directory
	mu     sync.Mutex
	inc    int64
	runs   map[messages.GameSessionID]bool
	began  map[messages.GameSessionID]bool // game sessions that were claimed and not ended
	lost   []messages.GameSessionID
}

func withLibrary(t *testing.T, test func(l *library)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &library{T: t, store: clustertest.NewStore()}
		l.raw = l.store.Client()
		for _, name := range []string{"a", "b", "c"} {
			n := &shelf{name: name, client: l.store.Client(), runs: make(map[messages.GameSessionID]bool), began: make(map[messages.GameSessionID]bool)}
			n.d = cluster.NewDirectory(cluster.DirectoryOptions{Coordinator: n.client, Keys: testKeys, Node: name, Incarnation: n.incarnation, Count: new(counters.Set), Lost: n.lose})
			l.nodes = append(l.nodes, n)
			l.register(n)
		}
		test(l)
		for _, n := range l.nodes {
			n.d.Close()
		}
		l.store.Close()
	})
}

func (n *shelf) incarnation() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.inc
}

func (n *shelf) lose(id messages.GameSessionID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.runs, id)
	delete(n.began, id)
	n.lost = append(n.lost, id)
}

// register registers a node again.
func (l *library) register(n *shelf) {
	l.Helper()
	key := testKeys.Node(n.name)
	_, _, err := l.raw.Commit(l.Context(), nil, []coord.Change{coord.Delete(key)})
	_, at, err2 := l.raw.Commit(l.Context(), nil, []coord.Change{coord.Put(key, []byte("{}"))})
	if err = errors.Join(err, err2); err != nil {
		l.Fatal(err)
	}
	n.mu.Lock()
	n.inc = at
	n.mu.Unlock()
}

// claim claims a game session for a node. The game session runs unless the claim is refused.
func (l *library) claim(n *shelf, id messages.GameSessionID, done func(error)) {
	n.mu.Lock()
	n.began[id] = true
	n.mu.Unlock()
	n.d.Claim(&messages.GameSession{ID: id, FleetID: "fleet-a", Location: "home", IPAddress: "192.0.2.1", Port: 80, IdempotencyToken: token(id),
		Properties: []messages.Property{{Key: "k", Value: "v"}}, Created: time.Now(), MaxPlayers: 4}, [32]byte{1}, func(err error) {
		n.mu.Lock()
		if err == nil && n.began[id] {
			n.runs[id] = true
		} else {
			delete(n.began, id)
		}
		n.mu.Unlock()
		if done != nil {
			done(err)
		}
	})
}

// token returns a token for every second game session, and "" for the others.
func token(id messages.GameSessionID) string {
	if strings.HasSuffix(string(id), "0") {
		return "token"
	}
	return ""
}

func (l *library) claimed(n *shelf, id messages.GameSessionID) error {
	answer := make(chan error, 1)
	l.claim(n, id, func(err error) { answer <- err })
	return <-answer
}

func (l *library) end(n *shelf, id messages.GameSessionID) {
	n.mu.Lock()
	delete(n.runs, id)
	delete(n.began, id)
	n.mu.Unlock()
	n.d.End(id, true)
}

// keys returns the keys below the cluster's prefix that begin with one of the given words.
func (l *library) keys(words ...string) (keys []string) {
	l.Helper()
	found, err := l.raw.Read(l.Context(), coord.Query{Key: string(testKeys), Prefix: true, Keys: true})
	if err != nil {
		l.Fatal(err)
	}
	for _, kv := range found.KVs {
		key := strings.TrimPrefix(kv.Key, string(testKeys))
		if word, _, _ := strings.Cut(key, "/"); slices.Contains(words, word) {
			keys = append(keys, key)
		}
	}
	return keys
}

func id(n int) messages.GameSessionID {
	return messages.GameSessionID(fmt.Sprintf("arn:aws:gamelift:home::gamesession/fleet-a/%03d", n))
}

func tagOf(id messages.GameSessionID) coord.Tag { return coord.TagOf(id) }

func (l *library) owner(n *shelf, id messages.GameSessionID, fresh bool) string {
	l.Helper()
	name, err := n.d.Owner(l.Context(), tagOf(id), fresh)
	if err != nil {
		l.Error(err)
	}
	return name
}

func TestClaims(t *testing.T) {
	withLibrary(t, func(l *library) {
		a, b := l.nodes[0], l.nodes[1]
		if err := l.claimed(a, id(0)); err != nil {
			t.Fatal(err)
		}
		if err := l.claimed(b, id(0)); !errors.Is(err, &messages.Error{Code: messages.Conflict}) {
			t.Errorf("the second claim: %v", err)
		}
		for _, n := range l.nodes {
			if got := l.owner(n, id(0), false); got != "a" {
				t.Errorf("at %s the owner is %q", n.name, got)
			}
		}
		l.end(a, id(0))
		time.Sleep(time.Second)
		if got, fresh := l.owner(b, id(0), false), l.owner(b, id(0), true); got != "a" || fresh != "" {
			t.Errorf("after its end the owner is %q by memory, and %q", got, fresh)
		}
		if keys := l.keys("game", "host"); len(keys) > 0 {
			t.Errorf("after its end there are %q", keys)
		}
		gone, err := b.d.Gone(l.Context(), tagOf(id(0)))
		if err != nil || gone == nil || gone.Token != "token" || len(gone.Fingerprint) == 0 {
			t.Errorf("the token is %+v, %v", gone, err)
		}
		l.store.SetAway(true)
		start := time.Now()
		if err := l.claimed(a, id(1)); !errors.Is(err, &messages.Error{Code: messages.Internal}) || time.Since(start) != 2*time.Second {
			t.Errorf("without the coordinator: %v after %v", err, time.Since(start))
		}
	})
}

// CL-16: writes of an old incarnation's process, and of an old term's leader, are refused.
func TestOldIncarnations(t *testing.T) {
	withLibrary(t, func(l *library) {
		a, b := l.nodes[0], l.nodes[1]
		for i := range 60 {
			if err := l.claimed(a, id(i)); err != nil {
				t.Fatal(err)
			}
		}
		old := a.inc
		l.register(a)
		a.inc = old // the node does not know its new incarnation yet
		if err := l.claimed(a, id(100)); err == nil {
			t.Error("a claim of an old incarnation is made")
		}
		_, term, err := l.raw.Commit(l.Context(), nil, []coord.Change{coord.Put(testKeys.Lead(), []byte("b"))})
		if err != nil {
			t.Fatal(err)
		}
		leads := coord.Incarnation(testKeys.Lead(), term)
		if err := b.d.Reap(l.Context(), "a", leads); !errors.Is(err, cluster.ErrTaken) {
			t.Errorf("a registered node is reaped: %v", err)
		}
		if _, _, err := l.raw.Commit(l.Context(), nil, []coord.Change{coord.Delete(testKeys.Node("a"))}); err != nil {
			t.Fatal(err)
		}
		if err := b.d.Reap(l.Context(), "a", coord.Incarnation(testKeys.Lead(), term+1)); !errors.Is(err, cluster.ErrTaken) {
			t.Errorf("an old leader reaps: %v", err)
		}
		if err := b.d.Reap(l.Context(), "a", leads); err != nil {
			t.Fatal(err)
		}
		if game, gone := l.keys("game", "host"), l.keys("gone"); len(game) > 0 || len(gone) != 60 {
			t.Errorf("a reaped node has %q, %d are gone", game, len(gone))
		}
		gone, err := a.d.Gone(l.Context(), tagOf(id(7)))
		if g := cluster.Session(gone); err != nil || g.Status != messages.GameSessionTerminated || g.Port != 80 || g.EndText != "its host was lost" || len(g.Properties) != 1 {
			t.Errorf("a reaped game session is %+v, %v", g, err)
		}
		l.register(a)
		a.d.Registered(l.Context(), a.inc)
		if len(a.lost) != 60 {
			t.Errorf("%d game sessions were lost", len(a.lost))
		}
	})
}

// A node that was not reaped keeps its game sessions, even if the coordinator was restored from an older backup.
func TestANodeReturns(t *testing.T) {
	withLibrary(t, func(l *library) {
		a := l.nodes[0]
		for i := range 30 {
			if err := l.claimed(a, id(i)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 10 { // the backup does not contain these game sessions
			tag := tagOf(id(i))
			if _, _, err := l.raw.Commit(l.Context(), nil, []coord.Change{coord.Delete(testKeys.Game(tag)), coord.Delete(testKeys.HostGame("a", tag))}); err != nil {
				t.Fatal(err)
			}
		}
		l.register(a)
		a.d.Registered(l.Context(), a.inc)
		if game, host := l.keys("game"), l.keys("host"); len(game) != 30 || len(host) != 30 || len(a.lost) > 0 {
			t.Errorf("%d game sessions, %d in the index, lost %q", len(game), len(host), a.lost)
		}
		for i := range 30 {
			l.end(a, id(i))
		}
		time.Sleep(time.Minute)
		if keys := l.keys("game", "host"); len(keys) > 0 {
			t.Errorf("left: %q", keys)
		}
	})
}

// A claim whose answer is lost is refused, although its record is written. A retry of the same request finds neither that
// record nor the end of a game session that nobody had.
func TestARefusedClaimLeavesNothing(t *testing.T) {
	withLibrary(t, func(l *library) {
		a := l.nodes[0]
		a.client.SetFaults(clustertest.Faults{Answers: true})
		if err := l.claimed(a, id(1)); !errors.Is(err, &messages.Error{Code: messages.Internal}) {
			t.Fatal(err)
		}
		a.client.SetFaults(clustertest.Faults{})
		time.Sleep(time.Minute)
		if keys := l.keys("game", "host", "gone"); len(keys) > 0 {
			t.Errorf("left: %q", keys)
		}
		if err := l.claimed(a, id(1)); err != nil {
			t.Errorf("the retry: %v", err)
		}
	})
}

func TestTheNextProcessClears(t *testing.T) {
	withLibrary(t, func(l *library) {
		a := l.nodes[0]
		for i := range 60 {
			if err := l.claimed(a, id(i)); err != nil {
				t.Fatal(err)
			}
		}
		a.d.Close()
		l.register(a)
		a.d = cluster.NewDirectory(cluster.DirectoryOptions{Coordinator: a.client, Keys: testKeys, Node: "a", Incarnation: a.incarnation, Count: new(counters.Set), Lost: a.lose})
		if err := a.d.Clear(l.Context()); err != nil {
			t.Fatal(err)
		}
		if keys, gone := l.keys("game", "host"), l.keys("gone"); len(keys) > 0 || len(gone) != 60 {
			t.Errorf("left: %q, and %d of ended game sessions", keys, len(gone))
		}
	})
}

// Requests and answers are lost at random. No game session ever runs on two nodes. Once the faults end, the directory
// contains exactly the running game sessions.
func TestDirectorySeeds(t *testing.T) {
	for seed := range uint64(cmp.Or(*seedsFlag, 100)) {
		withLibrary(t, func(l *library) {
			r := rand.New(rand.NewPCG(seed, 1))
			for range 150 {
				n := l.nodes[r.IntN(3)]
				switch game := id(r.IntN(40)); r.IntN(10) {
				case 0:
					n.client.SetFaults(clustertest.Faults{Delay: time.Duration(r.IntN(1200)) * time.Millisecond, Late: time.Duration(max(0, r.IntN(6000)-3000)) * time.Millisecond, Answers: r.IntN(3) == 0, Requests: r.IntN(4) == 0})
				case 1:
					n.client.SetFaults(clustertest.Faults{})
				case 2:
					l.register(n)
					go n.d.Registered(context.WithoutCancel(l.Context()), n.incarnation())
				case 9:
					if r.IntN(3) == 0 {
						l.reap(n, l.nodes[r.IntN(3)])
					}
				case 3, 4, 5, 6:
					n.mu.Lock()
					runs := n.began[game]
					n.mu.Unlock()
					if !runs {
						l.claim(n, game, nil)
					}
				default:
					l.end(n, game)
				}
				time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond)
				l.once(seed)
			}
			for _, n := range l.nodes {
				n.client.SetFaults(clustertest.Faults{})
			}
			time.Sleep(time.Minute)
			l.once(seed)
			want := []string{}
			for _, n := range l.nodes {
				for game := range n.runs {
					want = append(want, "game/"+string(tagOf(game)), "host/"+n.name+"/"+string(tagOf(game)))
				}
			}
			slices.Sort(want)
			if got := l.keys("game", "host"); !slices.Equal(got, want) {
				in := func(list []string) func(string) bool {
					return func(key string) bool { return slices.Contains(list, key) }
				}
				t.Errorf("seed %d: the directory has %q too many, %q are missing", seed,
					slices.DeleteFunc(slices.Clone(got), in(want)), slices.DeleteFunc(slices.Clone(want), in(got)))
			}
		})
		if t.Failed() {
			return
		}
	}
}

// reap makes another node declare a node lost, which may fail, and registers the lost node again.
func (l *library) reap(n, by *shelf) {
	l.Helper()
	_, term, err := l.raw.Commit(l.Context(), nil, []coord.Change{coord.Put(testKeys.Lead(), []byte(by.name)), coord.Delete(testKeys.Node(n.name))})
	if err != nil {
		l.Fatal(err)
	}
	found, err := l.raw.Read(l.Context(), coord.Query{Key: testKeys.Lead()})
	if err != nil || term == 0 {
		l.Fatal(err)
	}
	_ = by.d.Reap(l.Context(), n.name, coord.Incarnation(testKeys.Lead(), found.KVs[0].Created))
	l.register(n)
	go n.d.Registered(context.WithoutCancel(l.Context()), n.incarnation())
}

// once fails if a game session runs on two nodes (CL-201).
func (l *library) once(seed uint64) {
	l.Helper()
	synctest.Wait()
	on := map[messages.GameSessionID]string{}
	for _, n := range l.nodes {
		n.mu.Lock()
		for game := range n.runs {
			if on[game] != "" {
				l.Errorf("seed %d: %s runs on %s and %s", seed, game, on[game], n.name)
			}
			on[game] = n.name
		}
		n.mu.Unlock()
	}
}
