package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"troupe/bench/server"
)

// settle is how long to wait for what is under way when the load has ended.
const settle = 10 * time.Second

// placements starts placements for two players with latencies, and waits for the event of each.
func (b *bench) placements(ctx context.Context) error {
	for round := range b.Rounds {
		if err := b.placementRound(ctx, round); err != nil {
			return err
		}
	}
	p99 := spreadOf(b.res.Placements, func(f figures) float64 { return f.P99 })
	rate := spreadOf(b.res.Placements, func(f figures) float64 { return f.Rate })
	failed := spreadOf(b.res.Placements, func(f figures) float64 { return float64(f.Failed) })
	b.res.Bars.Add("placements, p99 ms", b.barPlacement, p99.Median, p99.Median <= b.barPlacement && failed.Max == 0)
	b.res.Bars.Add("placements per second, at least", 0.98*b.PlacementRate, rate.Median, rate.Median >= 0.98*b.PlacementRate)
	return nil
}

func (b *bench) placementRound(ctx context.Context, round int) (err error) {
	proc, err := b.host(ctx, fmt.Sprintf("placements-%d.db", round))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, proc.Stop()) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := waiters{clock: newClock()}
	listening, err := w.listen(ctx, proc)
	if err != nil {
		return err
	}
	api := proc.API(b.Workers)
	defer api.Close()
	answers := newClock()
	begun := pace(ctx, b.PlacementRate, b.Measure, b.Workers, func(ctx context.Context, i int, due time.Time) {
		id := fmt.Sprintf("p-%d-%d", round, i)
		w.expect(id, due)
		err := api.Call(ctx, "StartGameSessionPlacement", placement(id), new(struct{}))
		answers.record(due, err)
		if err != nil {
			w.clock.record(due, err)
			w.take(id)
		}
	})
	w.await(ctx)
	cancel()
	<-listening
	b.res.Answers = append(b.res.Answers, answers.figures(begun))
	b.res.Placements = append(b.res.Placements, w.clock.figures(begun))
	return nil
}

func placement(id string) any {
	type latency struct {
		PlayerId, RegionIdentifier string
		LatencyInMilliseconds      float32
	}
	type player struct{ PlayerId string }
	return struct {
		PlacementId, GameSessionQueueName string
		MaximumPlayerSessionCount         int
		PlayerLatencies                   []latency
		DesiredPlayerSessions             []player
	}{
		id, "queue-a", 8,
		[]latency{{"one", "us-east-1", 100}, {"one", "us-west-2", 50}, {"two", "us-east-1", 120}, {"two", "us-west-2", 150}},
		[]player{{"one"}, {"two"}},
	}
}

// waiters are the placements whose event has not come yet.
type waiters struct {
	clock *clock
	mu    sync.Mutex
	due   map[string]time.Time
}

func (w *waiters) expect(id string, due time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.due[id] = due
}

func (w *waiters) take(id string) (time.Time, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	due, ok := w.due[id]
	delete(w.due, id)
	return due, ok
}

func (w *waiters) left() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.due)
}

// listen reads events until ctx ends; then the channel is closed.
func (w *waiters) listen(ctx context.Context, proc *server.Process) (done chan struct{}, err error) {
	w.due = make(map[string]time.Time)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+proc.Announce.API+"/events", nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		res.Body.Close()
		return nil, fmt.Errorf("events: %s", res.Status)
	}
	done = make(chan struct{})
	go func() {
		defer close(done)
		defer res.Body.Close()
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data:"); ok {
				w.event([]byte(data))
			}
		}
	}()
	return done, nil
}

func (w *waiters) event(data []byte) {
	var e struct {
		Detail struct{ Type, PlacementId string }
	}
	if json.Unmarshal(data, &e) != nil {
		return
	}
	due, ok := w.take(e.Detail.PlacementId)
	if !ok {
		return
	}
	var err error
	if e.Detail.Type != "PlacementFulfilled" {
		err = errors.New(e.Detail.Type)
	}
	w.clock.record(due, err)
}

// await waits until there is no event to come, or it takes too long: those have failed.
func (w *waiters) await(ctx context.Context) {
	for late := time.Now().Add(settle); w.left() > 0 && time.Now().Before(late); {
		if rest(ctx, 5*time.Millisecond) != nil {
			return
		}
	}
	for range w.left() {
		w.clock.record(time.Now(), errors.New("no event"))
	}
}
