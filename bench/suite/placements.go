package suite

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

	"troupe/bench/loadgen"
	"troupe/bench/result"
	"troupe/bench/server"
)

// eventsMax is the maximum wait for the last events after the load.
const eventsMax = 10 * time.Second

// placements starts placements for two players with latencies and waits for the event of each placement.
func (r *run) placements(ctx context.Context, proc *server.Process) (round result.Round, err error) {
	return r.placed(ctx, []*server.Process{proc})
}

// placed starts placements at all hosts in turn. The event of a placement may come from any of them.
func (r *run) placed(ctx context.Context, procs []*server.Process) (round result.Round, err error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &waiters{due: make(map[string]time.Time)}
	defer w.reading.Wait()
	defer cancel()
	if err := w.listen(ctx, procs); err != nil {
		return round, err
	}
	all := apisOf(procs)
	defer all.close()
	answers := loadgen.NewHistogram()
	round, err = r.called(ctx, procs, func(ctx context.Context, k *calls) {
		w.await(k)
		r.pace(ctx, k, func(ctx context.Context, i int, due time.Time) {
			id := fmt.Sprintf("p-%d", i)
			w.expect(id, due)
			if err := all.call(ctx, i, "StartGameSessionPlacement", placement(id), new(struct{})); err != nil {
				k.done(due, err)
				w.take(id)
			} else if !due.Before(k.from) {
				answers.Record(time.Since(due))
			}
		})
		w.finish(ctx)
	})
	if err == nil {
		round.Figures.Set("answer_p99_ms", ms(answers.Quantiles().P99))
	}
	return round, err
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

// waiters are the placements whose event has not arrived yet.
type waiters struct {
	reading sync.WaitGroup // readers of events

	mu    sync.Mutex // guards the fields below
	calls *calls
	due   map[string]time.Time
}

// await sets the calls that record the ended placements.
func (w *waiters) await(k *calls) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = k
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

// listen reads the events of all hosts until ctx ends.
func (w *waiters) listen(ctx context.Context, procs []*server.Process) error {
	for _, p := range procs {
		if p.Spec.Kind == server.Troupe {
			if err := w.listenTo(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *waiters) listenTo(ctx context.Context, proc *server.Process) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+proc.Announce.API+"/events", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("events: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		res.Body.Close()
		return fmt.Errorf("events: %s", res.Status)
	}
	w.reading.Go(func() {
		defer res.Body.Close()
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data:"); ok {
				w.event([]byte(data))
			}
		}
	})
	return nil
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
	w.calls.done(due, err) // calls is set before the first placement starts
}

// finish waits until no event is pending, for at most eventsMax. It records the remaining placements as failed.
func (w *waiters) finish(ctx context.Context) {
	for late := time.Now().Add(eventsMax); w.left() > 0 && time.Now().Before(late); {
		if rest(ctx, 5*time.Millisecond) != nil {
			return
		}
	}
	for range w.left() {
		w.calls.done(time.Now(), errors.New("no event"))
	}
}
