package suite

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"troupe/actors/cluster"
	"troupe/bench/result"
	"troupe/bench/server"
	"troupe/messages/coord"
	"troupe/transport/etcd"
)

const (
	watchers     = 100  // nodes that watch, each with a client of its own
	watchedBytes = 1024 // size of a watched record
	stampBytes   = 8
)

// watched returns a subject: puts at a rate, each applied by all watchers.
func (r *run) watched(name string, rate float64) subject {
	return r.subject(name, r.host(), func(ctx context.Context) (round result.Round, err error) {
		members, err := server.StartEtcd(ctx, r.o.Self.Bin, nodesOf)
		if err != nil {
			return round, err
		}
		defer func() {
			for _, p := range members {
				err = errors.Join(err, p.Stop())
			}
		}()
		r.p.Rate = rate
		w := &watching{epoch: time.Now()}
		if err := w.start(ctx, members); err != nil {
			return round, errors.Join(err, w.close())
		}
		round, err = r.called(ctx, members, func(ctx context.Context, k *calls) {
			w.calls = k
			close(w.began)
			r.pace(ctx, k, func(ctx context.Context, i int, due time.Time) {
				if err := w.put(ctx, i, due); err != nil {
					k.done(due, err)
				}
			})
			w.drain(ctx)
		})
		for _, figure := range []string{"cpu_cores", "cpu_call_us", "resident_mib"} { // of hosts, and there are none
			delete(round.Figures, figure)
		}
		return round, errors.Join(err, w.close())
	})
}

// watching is a number of watchers of one prefix.
type watching struct {
	epoch   time.Time // from which the stamps in records count
	clients []*etcd.Client
	cancel  context.CancelFunc
	work    sync.WaitGroup
	began   chan struct{} // closed when calls is set
	calls   *calls
	last    int64 // revision of the last put
	mu      sync.Mutex
	copies  []*cluster.Replica
}

// start makes the watchers follow the prefix. The first client puts.
func (w *watching) start(ctx context.Context, members []*server.Process) error {
	ctx, w.cancel = context.WithCancel(ctx)
	w.began = make(chan struct{})
	for range watchers + 1 {
		client, err := open(ctx, members)
		if err != nil {
			return err
		}
		w.clients = append(w.clients, client)
	}
	if err := w.put(ctx, 0, w.epoch); err != nil {
		return err
	}
	for _, client := range w.clients[1:] {
		listed := false
		copied := cluster.NewReplica(client, clusterKeys.Loads(), func(c cluster.Changes) {
			if !listed { // what was there before
				listed = true
				return
			}
			w.applied(c)
		})
		w.copies = append(w.copies, copied)
		w.work.Go(func() { copied.Run(ctx) })
	}
	return w.wait(ctx)
}

// put writes a record with the time at which it was due.
func (w *watching) put(ctx context.Context, i int, due time.Time) error {
	_, at, err := w.clients[0].Commit(ctx, nil, []coord.Change{coord.Put(clusterKeys.Load(nodeName(i%watchers)), stamped(due.Sub(w.epoch)))})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = max(w.last, at)
	return err
}

// stamped returns a record with a time.
func stamped(at time.Duration) []byte {
	value := make([]byte, watchedBytes)
	binary.LittleEndian.PutUint64(value, uint64(at))
	return value
}

// applied records how long changes took to reach a watcher.
func (w *watching) applied(c cluster.Changes) {
	<-w.began
	for _, e := range c.Events {
		if len(e.Value) == watchedBytes {
			w.calls.done(w.epoch.Add(time.Duration(binary.LittleEndian.Uint64(e.Value[:stampBytes]))), nil)
		}
	}
}

// wait waits until all watchers have applied all puts.
func (w *watching) wait(ctx context.Context) error {
	w.mu.Lock()
	last := w.last
	w.mu.Unlock()
	for _, c := range w.copies {
		if err := c.WaitFor(ctx, last); err != nil {
			return err
		}
	}
	return nil
}

// drain waits for late changes, for at most drainMax. Watchers that have missed one count as failed.
func (w *watching) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, drainMax)
	defer cancel()
	if err := w.wait(ctx); err != nil {
		w.calls.done(time.Now(), fmt.Errorf("a watcher has missed changes: %w", err))
	}
}

func (w *watching) close() (err error) {
	w.cancel()
	w.work.Wait()
	for _, c := range w.clients {
		err = errors.Join(err, c.Close())
	}
	if err != nil && strings.Contains(err.Error(), context.Canceled.Error()) {
		return nil // connections that were still being made
	}
	return err
}
