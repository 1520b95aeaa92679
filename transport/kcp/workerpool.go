package kcp

import "sync"

// workerPool runs the handovers of all connections. It keeps a few idle goroutines, because new
// ones would have to grow their stacks first.
type workerPool struct {
	idleMax int // how many idle goroutines are kept

	mu    sync.Mutex
	users int           // number of connections
	idle  []chan func() // one channel for each idle goroutine; the last one became idle last
}

// join adds a connection. leave removes it, and the last leave ends the idle goroutines.
func (h *workerPool) join() {
	h.mu.Lock()
	h.users++
	h.mu.Unlock()
}

func (h *workerPool) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.users--; h.users > 0 {
		return
	}
	for _, work := range h.idle {
		work <- nil
	}
	h.idle = nil
}

// do runs f in an idle goroutine or in a new one. It does not wait.
func (h *workerPool) do(f func()) {
	h.mu.Lock()
	n := len(h.idle)
	if n == 0 {
		h.mu.Unlock()
		go h.run(f)
		return
	}
	next := h.idle[n-1]
	h.idle = h.idle[:n-1]
	h.mu.Unlock()
	next <- f // does not block: the channel has a buffer
}

func (h *workerPool) run(f func()) {
	work := make(chan func(), 1)
	for ; f != nil; f = <-work {
		f()
		if !h.stay(work) {
			return
		}
	}
}

func (h *workerPool) stay(work chan func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.users == 0 || len(h.idle) >= h.idleMax {
		return false
	}
	h.idle = append(h.idle, work)
	return true
}
