package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"troupe/transport/ops"
)

const (
	listenersMax = 16
	// listenerQueue bounds the frames that wait for a listener. A slower one is cut off, and connects again by itself.
	listenerQueue        = 256
	tick                 = time.Second      // how often the overview is sent
	listenerWriteTimeout = 10 * time.Second // ends a stalled listener
)

// hub sends events and overviews to listeners. Its goroutine runs while there are any.
type hub struct {
	c *Console

	mu        sync.Mutex
	listeners map[chan []byte]bool
	stop      chan struct{} // closed to end the goroutine; nil while it does not run
	closed    bool
	running   sync.WaitGroup
}

// enter adds a listener. Its channel is closed when it was too slow, or the host stops.
func (h *hub) enter() (listener chan []byte, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.listeners) >= listenersMax {
		return nil, false
	}
	if h.listeners == nil {
		h.listeners = make(map[chan []byte]bool)
	}
	listener = make(chan []byte, listenerQueue)
	h.listeners[listener] = true
	if h.stop == nil {
		h.stop = make(chan struct{})
		stop, next := h.stop, h.newest() // before the listener reads the recent events: it misses none
		h.running.Go(func() { h.run(stop, next) })
	}
	return listener, true
}

func (h *hub) leave(listener chan []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(listener)
}

// drop ends a listener. The caller holds mu.
func (h *hub) drop(listener chan []byte) {
	if !h.listeners[listener] {
		return
	}
	delete(h.listeners, listener)
	close(listener)
	if len(h.listeners) == 0 && h.stop != nil {
		close(h.stop)
		h.stop = nil
	}
}

func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.cutAll()
	h.running.Wait()
}

func (h *hub) cutAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		h.drop(l)
	}
}

// send gives a frame to all listeners, and ends those that have no room for it.
func (h *hub) send(frame []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		select {
		case l <- frame:
		default:
			h.drop(l)
		}
	}
}

// run sends events from number next on until the last listener has left. A new listener may get some of what is kept twice.
func (h *hub) run(stop <-chan struct{}, next uint64) {
	beat := time.NewTicker(tick)
	defer beat.Stop()
	for {
		select {
		case <-stop:
			return
		default:
		}
		events, after, more := h.c.o.Events.Since(next)
		for _, e := range events {
			h.send(frameOf("event", ops.ShortIDs(e)))
		}
		next = after
		if len(events) > 0 {
			continue
		}
		select {
		case <-stop:
			return
		case <-more: // nil after the end of the events
		case <-beat.C:
			if text, err := json.Marshal(h.c.sample()); err == nil {
				h.send(frameOf("overview", text))
			}
		}
	}
}

func (h *hub) newest() (next uint64) {
	for {
		events, after, _ := h.c.o.Events.Since(next)
		if next = after; len(events) == 0 {
			return next
		}
	}
}

func frameOf(name string, data []byte) []byte {
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, data)
}

const recentMax = 100 // bounds the events that a new listener gets at once

func (c *Console) recent() [][]byte {
	var all [][]byte
	for next := uint64(0); ; {
		events, after, _ := c.o.Events.Since(next)
		if len(events) == 0 {
			return all
		}
		all, next = append(all, events...), after
		if len(all) > recentMax {
			all = all[len(all)-recentMax:]
		}
	}
}

// events streams the newest events, then each one as it happens, and an overview every second.
func (c *Console) events(w http.ResponseWriter, r *http.Request, q query) *problem {
	listener, ok := c.hub.enter()
	if !ok {
		w.Header().Set("Retry-After", "5")
		return &problem{http.StatusServiceUnavailable, "TooManyListeners", fmt.Sprintf("there are %d listeners, or the host stops: try again", listenersMax)}
	}
	defer c.hub.leave(listener)
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the deadline of requests would end the stream
	defer func() { _ = control.SetWriteDeadline(time.Time{}) }()
	send := func(frame []byte) bool {
		_ = control.SetWriteDeadline(time.Now().Add(listenerWriteTimeout))
		_, err := w.Write(frame)
		return err == nil && control.Flush() == nil
	}
	for _, e := range c.recent() {
		if !send(frameOf("recent", ops.ShortIDs(e))) {
			return nil
		}
	}
	if text, err := json.Marshal(c.sample()); err != nil || !send(frameOf("overview", text)) {
		return nil
	}
	for {
		select {
		case frame, ok := <-listener:
			if !ok || !q.who.stays() || !send(frame) { // a frame comes at least every second
				return nil
			}
		case <-r.Context().Done():
			return nil
		}
	}
}
