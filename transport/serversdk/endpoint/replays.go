package endpoint

import (
	"slices"
	"sync"
	"time"
)

const (
	// replaysMax and replayTime limit the answers that a process keeps (D-411), and replayBytesMax their size.
	replaysMax     = 256
	replayTime     = 5 * time.Minute
	replayBytesMax = 128 << 10
	// waitersMax limits the connections that wait for the answer to one request.
	waitersMax = 4
)

// replays are the answers to the last requests of a process. It is safe for concurrent use.
type replays struct {
	mu    sync.Mutex
	all   []replay // oldest first
	bytes int      // of the answers
}

type replay struct {
	id      string
	at      time.Time
	text    []byte  // nil while the request is being answered
	waiters []*conn // get the answer
}

// begin begins a request. If it is a repetition, stored is the answer, or again says that c gets the answer later, if it can.
func (r *replays) begin(id string, c *conn) (stored []byte, again bool) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.all) > 0 && r.all[0].text != nil && (len(r.all) >= replaysMax || r.bytes > replayBytesMax || now.Sub(r.all[0].at) > replayTime) {
		r.bytes -= len(r.all[0].text)
		r.all = slices.Delete(r.all, 0, 1)
	}
	if i := r.find(id); i >= 0 {
		e := &r.all[i]
		if e.text == nil && len(e.waiters) < waitersMax && !slices.Contains(e.waiters, c) && c.begins() {
			e.waiters = append(e.waiters, c)
		}
		return e.text, true
	}
	if !c.begins() {
		return nil, true
	}
	r.all = append(r.all, replay{id: id, at: now, waiters: []*conn{c}})
	return nil, false
}

// empty reports whether there is nothing that may be asked for again.
func (r *replays) empty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.all) == 0
}

func (r *replays) find(id string) int {
	return slices.IndexFunc(r.all, func(e replay) bool { return e.id == id })
}

// end keeps the answer to a request, and returns the connections that get it. Without keep, a repetition is a new
// request. A request that was never begun has c alone.
func (r *replays) end(id string, text []byte, keep bool, c *conn) []*conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.find(id)
	if i < 0 || r.all[i].text != nil {
		return []*conn{c}
	}
	waiters := r.all[i].waiters
	if keep {
		r.all[i].text, r.all[i].waiters = text, nil
		r.bytes += len(text)
	} else {
		r.all = slices.Delete(r.all, i, i+1)
	}
	return waiters
}
