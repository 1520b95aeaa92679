package store

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
)

// 64 callers; each commits two records of 600 bytes after the answer to its last commit.
func BenchmarkCommit(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "store.db"))
	value := make([]byte, 600)
	const callers = 64
	var mu sync.Mutex
	var took []time.Duration
	next := make(chan int)
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			var own []time.Duration
			for n := range next {
				at := time.Now()
				id := fmt.Sprintf("arn:aws:gamelift:us-east-1::gamesession/fleet-dev/%08d", n)
				if err := commitNow(s, Change{GameSession, id, value}, Change{Placement, id, value}); err != nil {
					b.Error(err)
				}
				own = append(own, time.Since(at))
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, own...)
		})
	}
	n := 0
	for b.Loop() {
		next <- n
		n++
	}
	close(next)
	wg.Wait()
	slices.Sort(took)
	at := func(q float64) float64 { return float64(took[int(q*float64(len(took)-1))].Microseconds()) / 1000 }
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
	b.ReportMetric(float64(s.count.StoreCommits.Load())/float64(s.count.StoreBatches.Load()), "commits/sync")
	b.ReportMetric(at(0.5), "p50-ms")
	b.ReportMetric(at(0.99), "p99-ms")
}

// The start of a host: open and check the store, and read 100,000 records of 600 bytes.
func BenchmarkStart(b *testing.B) {
	path := filepath.Join(b.TempDir(), "store.db")
	fill(b, path, 100_000)
	for b.Loop() {
		s := assert.Value(Open(Options{Path: path}))(b)
		n := 0
		at := time.Now()
		assert.OK(s.Load(GameSession, func(string, []byte) error { n++; return nil }))(b)
		b.ReportMetric(float64(time.Since(at).Milliseconds()), "load-ms")
		if n != 100_000 {
			b.Fatal(n)
		}
		closeStore(b, s)
	}
}

func fill(t testing.TB, path string, records int) {
	s := open(t, path)
	value := make([]byte, 600)
	for n := 0; n < records; n += 1000 {
		var changes []Change
		for i := range min(1000, records-n) {
			changes = append(changes, Change{GameSession, fmt.Sprintf("arn:aws:gamelift:us-east-1::gamesession/fleet-dev/%08d", n+i), value})
		}
		assert.NoError(t, commitNow(s, changes...))
	}
	closeStore(t, s)
}
