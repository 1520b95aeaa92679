package transporttest

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"troupe/messages"
	"troupe/transport"
)

// hub is the suite's Acceptor. It creates a link for each connection and checks that ids are unique.
type hub struct {
	tb     TB
	refuse atomic.Uint32 // reason of type messages.CloseReason to refuse with; 0 accepts
	onUnit func(l *link, unit []byte)

	mu    sync.Mutex
	ids   map[uint64]bool
	all   []*link
	fresh []*link // links that take has not returned yet
	calls int
}

func newHub(tb TB) *hub { return &hub{tb: tb, ids: make(map[uint64]bool)} }

// Accept implements transport.Acceptor.
func (h *hub) Accept(c transport.Conn) (transport.Handler, messages.CloseReason) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls++
	if h.ids[c.ID()] {
		h.tb.Errorf("connection id %d twice", c.ID())
	}
	h.ids[c.ID()] = true
	if reason := messages.CloseReason(h.refuse.Load()); reason != 0 {
		return nil, reason
	}
	l := &link{Conn: c, hub: h, tb: h.tb}
	h.all, h.fresh = append(h.all, l), append(h.fresh, l)
	return l, 0
}

// take returns a matching link that it has not returned before, or nil.
func (h *hub) take(match func(l *link) bool) *link {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, l := range h.fresh {
		if match(l) {
			h.fresh = slices.Delete(h.fresh, i, i+1)
			return l
		}
	}
	return nil
}

// links returns all links so far.
func (h *hub) links() []*link {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.all)
}

// accepts returns the number of Accept calls.
func (h *hub) accepts() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls
}

// link is the host's end of a connection, and its Handler.
type link struct {
	transport.Conn
	hub  *hub
	tb   TB
	busy atomic.Bool // a call of the Handler is running

	mu     sync.Mutex
	expect *reader // nil if anything may arrive
	broken bool    // an unexpected unit was already reported
	units  int
	pongs  []string
	alive  int
	last   time.Time     // time of the last sign of life
	silent time.Duration // longest time between two signs of life
	ended  bool
	end    transport.End
}

// enter begins a call of the Handler and checks that no other call is running.
func (l *link) enter(what string) (leave func()) {
	if !l.busy.CompareAndSwap(false, true) {
		l.tb.Errorf("%s while another call of the handler is under way", what)
	}
	l.mu.Lock()
	if l.ended {
		l.tb.Errorf("%s after OnClosed", what)
	}
	l.mu.Unlock()
	return func() { l.busy.Store(false) }
}

// OnUnit implements transport.Handler.
func (l *link) OnUnit(unit []byte) {
	defer l.enter("OnUnit")()
	if f := l.hub.onUnit; f != nil {
		f(l, unit)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.units++
	if l.expect != nil && !l.broken {
		if err := l.expect.take(unit); err != nil {
			l.broken = true
			l.tb.Errorf("client to host, %v", err)
		}
	}
}

// OnAlive implements transport.Handler.
func (l *link) OnAlive(pong []byte) {
	defer l.enter("OnAlive")()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.alive++
	now := time.Now()
	if !l.last.IsZero() {
		l.silent = max(l.silent, now.Sub(l.last))
	}
	l.last = now
	if pong != nil {
		l.pongs = append(l.pongs, string(pong))
	}
}

// OnClosed implements transport.Handler.
func (l *link) OnClosed(end transport.End) {
	defer l.enter("OnClosed")()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended, l.end = true, end
}

// expects makes the link compare the following units with a series.
func (l *link) expects(s series) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expect = &reader{want: s.message}
}

// counts returns the number of received units, of pongs, and of all signs of life without a packet.
func (l *link) counts() (units, pongs, alive int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.units, len(l.pongs), l.alive
}

func (l *link) closed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

func (l *link) how() transport.End {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}
