package console

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"troupe/transport/ops"
)

const (
	listenersMax = 16
	// listenerQueue is the maximum number of frames that wait for a listener. A listener that is slower is
	// disconnected, and reconnects by itself.
	listenerQueue        = 256
	tick                 = time.Second      // interval of overviews
	listenerWriteTimeout = 10 * time.Second // maximum time for a write to a listener
)

// hub sends events and overviews to listeners. Its goroutine runs only while there are listeners.
type hub struct {
	c *Console

	mu        sync.Mutex
	listeners map[chan []byte]bool
	stop      chan struct{} // closed to stop the goroutine; nil while the goroutine does not run
	closed    bool
	running   sync.WaitGroup
}

// enter adds a listener. Its channel is closed if the listener is too slow, or if the host stops.
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
		stop, next := h.stop, h.newest() // determined before the listener reads the recent events, so that it misses none
		h.running.Go(func() { h.run(stop, next) })
	}
	return listener, true
}

func (h *hub) leave(listener chan []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(listener)
}

// drop removes a listener and closes its channel. The caller holds mu.
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

// send queues a frame for all listeners, and drops those whose queue is full.
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

// run sends events, starting with number next, until the last listener has left. A new listener may receive
// some recent events twice.
func (h *hub) run(stop <-chan struct{}, next uint64) {
	defer h.c.o.Events.Watch()()
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
		case <-more: // more is nil after the last event
		case <-beat.C:
			if text, err := json.Marshal(h.c.sampleAll(context.Background())); err == nil {
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

const recentMax = 100 // maximum number of recent events that a new listener gets at once

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

// recentEvents lists the recent events of this host alone.
func (c *Console) recentEvents(w http.ResponseWriter, _ *http.Request, _ query) *problem {
	list := recentList{Events: []string{}}
	for _, e := range c.recent() {
		list.Events = append(list.Events, string(ops.ShortIDs(e)))
	}
	return answer(w, list)
}

type recentList struct {
	Events []string `json:"events"` // JSON
}

// recentOfAll returns the recent events of all nodes, in the order of their times.
func (c *Console) recentOfAll(ctx context.Context, q query) [][]byte {
	all := c.recent()
	others, _ := gather[recentList](ctx, c, http.MethodGet, "events/recent", query{who: q.who})
	if len(others) == 0 {
		return all
	}
	for _, o := range others {
		for _, e := range o.Events {
			all = append(all, []byte(e))
		}
	}
	seen := make(map[string]bool)
	all = slices.DeleteFunc(all, func(e []byte) bool { // followed events are there twice
		id := about(e).ID
		known := seen[id]
		seen[id] = true
		return known && id != ""
	})
	slices.SortStableFunc(all, func(a, b []byte) int { return cmp.Compare(about(a).Time, about(b).Time) })
	return all[max(0, len(all)-recentMax):]
}

func about(event []byte) (e struct{ ID, Time string }) {
	_ = json.Unmarshal(event, &e) // without them, both are empty
	return e
}

// events streams recent events, then each new event, and an overview every second.
func (c *Console) events(w http.ResponseWriter, r *http.Request, q query) *problem {
	listener, ok := c.hub.enter()
	if !ok {
		w.Header().Set("Retry-After", "5")
		return refusal(http.StatusServiceUnavailable, "TooManyListeners", fmt.Sprintf("there are %d listeners, or the host stops: try again", listenersMax))
	}
	defer c.hub.leave(listener)
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the read deadline of requests would end the stream
	defer func() { _ = control.SetWriteDeadline(time.Time{}) }()
	send := func(frame []byte) bool {
		_ = control.SetWriteDeadline(time.Now().Add(listenerWriteTimeout))
		_, err := w.Write(frame)
		return err == nil && control.Flush() == nil
	}
	for _, e := range c.recentOfAll(r.Context(), q) {
		if !send(frameOf("recent", ops.ShortIDs(e))) {
			return nil
		}
	}
	if text, err := json.Marshal(c.sampleAll(r.Context())); err != nil || !send(frameOf("overview", text)) {
		return nil
	}
	for {
		select {
		case frame, ok := <-listener:
			if !ok || !q.who.stays() || !send(frame) { // checked at least once a second, because an overview is sent every second
				return nil
			}
		case <-r.Context().Done():
			return nil
		}
	}
}
