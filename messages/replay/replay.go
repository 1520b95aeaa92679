package replay

import (
	"container/list"
	"sync"
	"time"
)

// Limits of the kept answers (service-api.md 1.5, D-202). Above them, the oldest answers are dropped first.
const (
	Keep     = 5 * time.Minute
	Max      = 10_000
	BytesMax = 64 << 20
	overhead = 512 // approximate bytes of an entry in addition to its answer
)

// Answers keeps the first successful answer of each call. Failures are not kept. Its methods may be called from any
// goroutine.
type Answers[K comparable] struct {
	now func() time.Time

	mu      sync.Mutex
	kept    map[K]*list.Element
	order   list.List // *answer values, oldest first
	bytes   int
	running map[K]chan struct{} // closed when the attempt ends
}

type answer[K comparable] struct {
	key  K
	body []byte
	at   time.Time
}

// New returns an Answers without answers. now is its clock.
func New[K comparable](now func() time.Time) *Answers[K] {
	return &Answers[K]{now: now, kept: make(map[K]*list.Element), running: make(map[K]chan struct{})}
}

// Begin returns the kept answer of a call. If there is none, but another attempt is running, it returns a channel that is
// closed when that attempt has ended; the caller then calls Begin again. If it returns neither, the caller must run the
// attempt and then call End.
func (a *Answers[K]) Begin(key K) (body []byte, wait <-chan struct{}, done bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget(0)
	if e, ok := a.kept[key]; ok {
		return e.Value.(*answer[K]).body, nil, true
	}
	if running, ok := a.running[key]; ok {
		return nil, running, false
	}
	a.running[key] = make(chan struct{})
	return nil, nil, false
}

// End ends the attempt that Begin has begun. ok says that the attempt has succeeded; then body, which must not be
// modified, is kept.
func (a *Answers[K]) End(key K, body []byte, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if cost := len(body) + overhead; ok && cost <= BytesMax {
		a.forget(cost)
		a.kept[key] = a.order.PushBack(&answer[K]{key: key, body: body, at: a.now()})
		a.bytes += cost
	}
	close(a.running[key])
	delete(a.running, key)
}

// forget drops expired answers, and then the oldest ones until need more bytes fit.
func (a *Answers[K]) forget(need int) {
	for e := a.order.Front(); e != nil; e = a.order.Front() {
		old := e.Value.(*answer[K])
		full := a.bytes+need > BytesMax || (need > 0 && len(a.kept) >= Max)
		if !full && a.now().Sub(old.at) < Keep {
			return
		}
		a.order.Remove(e)
		delete(a.kept, old.key)
		a.bytes -= len(old.body) + overhead
	}
}
