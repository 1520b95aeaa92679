package kcp

import "sync"

// workerPool is the goroutines that deliver what has arrived. While there are
// connections, the last few stay when they are done, because a new one would have
// to grow its stack for every message.
type workerPool struct {
	most int // that stay

	mu    sync.Mutex
	users int           // connections
	idle  []chan func() // of those that stay, the latest last
}

func newWorkerPool(most int) *workerPool { return &workerPool{most: most} }

// join tells of a connection, leave of its end.
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

// do runs f soon, in a goroutine that stayed or in a new one. It does not wait.
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
	next <- f // it has the room
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
	if h.users == 0 || len(h.idle) >= h.most {
		return false
	}
	h.idle = append(h.idle, work)
	return true
}
