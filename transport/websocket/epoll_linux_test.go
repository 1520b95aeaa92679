package websocket

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"troupe/messages"
	"troupe/transport"
)

// crowd opens two connections more than there are event loops, so at least two share the first one's.
func crowd(t *testing.T, h *host) (clients []*client, peers []*peer) {
	t.Helper()
	for range 2 * (runtime.GOMAXPROCS(0) + 1) {
		cl, p := h.connect(t)
		clients, peers = append(clients, cl), append(peers, p)
	}
	return clients, peers
}

// A handler that blocks holds up its own connection, whether it says so or not. What it has not read yet is handled later, in
// order.
func TestAHandlerThatBlocksHoldsUpNobodyElse(t *testing.T) {
	for name, says := range map[string]bool{"it says so": true, "unexpectedly": false} {
		t.Run(name, func(t *testing.T) {
			blocked, release := make(chan struct{}), make(chan struct{})
			r := newRecorder()
			r.onUnit = func(c transport.Conn, unit []byte) {
				if string(unit) != "block" {
					return
				}
				if says {
					c.(transport.Looped).WillBlock()
				}
				close(blocked)
				<-release
			}
			h := serve(t, Options{Engine: EngineEpoll}, r)
			clients, peers := crowd(t, h)
			clients[0].write(append(binaryFrame("block"), binaryFrame("behind it")...))
			<-blocked
			clients[0].write(binaryFrame("later"))
			for round := range 3 {
				for i, cl := range clients[1:] {
					cl.write(binaryFrame("x"))
					p := peers[i+1]
					p.await(t, "others go on", func() bool { return len(p.units) == round+1 })
				}
			}
			peers[0].note(func() {
				if len(peers[0].units) != 0 {
					t.Errorf("units while blocked: %q", peers[0].units)
				}
			})
			close(release)
			peers[0].await(t, "the rest", func() bool { return len(peers[0].units) == 3 })
			clients[0].write(binaryFrame("last"))
			peers[0].await(t, "it goes on", func() bool { return len(peers[0].units) == 4 })
			peers[0].note(func() {
				if u := peers[0].units; u[0] != "block" || u[1] != "behind it" || u[2] != "later" || u[3] != "last" {
					t.Errorf("units %q", u)
				}
			})
		})
	}
}

// A connection that is closed while its handler blocks ends when the handler returns.
func TestAConnectionEndsWhileItsHandlerBlocks(t *testing.T) {
	blocked, release := make(chan struct{}), make(chan struct{})
	r := newRecorder()
	r.onUnit = func(c transport.Conn, _ []byte) {
		c.(transport.Looped).WillBlock()
		close(blocked)
		<-release
	}
	h := serve(t, Options{Engine: EngineEpoll, CloseLinger: 50 * time.Millisecond}, r)
	cl, p := h.connect(t)
	cl.write(binaryFrame("x"))
	<-blocked
	p.Close(messages.CloseKicked)
	close(release)
	if end := p.awaitEnd(t); end.ByHost != messages.CloseKicked {
		t.Errorf("end %+v", end)
	}
}

// work is a transport.Batch that counts.
type work struct {
	mu         sync.Mutex
	left, done int
}

func (w *work) add() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left++
}

// RunNext implements transport.Batch.
func (w *work) RunNext() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left == 0 {
		return false
	}
	w.left--
	w.done++
	return true
}

func (w *work) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.done
}

// What handlers put into the batch of their loop is run after they have returned; also what one put there before it blocked,
// while it blocks.
func TestALoopRunsItsBatch(t *testing.T) {
	blocked, release := make(chan struct{}), make(chan struct{})
	var all []*work
	var nilBatches atomic.Int32
	r := newRecorder()
	r.onUnit = func(c transport.Conn, unit []byte) {
		l := c.(transport.Looped)
		if b, ok := l.Batch().(*work); ok {
			b.add()
		}
		if string(unit) == "block" {
			l.WillBlock()
			if l.Batch() == nil {
				nilBatches.Add(1)
			}
			close(blocked)
			<-release
		}
	}
	h := serve(t, Options{Engine: EngineEpoll, NewBatch: func() transport.Batch { w := new(work); all = append(all, w); return w }}, r)
	done := func() (n int) {
		for _, w := range all {
			n += w.count()
		}
		return n
	}
	clients, _ := crowd(t, h)
	want := len(clients)
	for i, cl := range clients {
		text := "x"
		if i == 0 {
			text = "block"
		}
		cl.write(binaryFrame(text))
	}
	<-blocked
	eventually(t, "everything is run", func() bool { return done() == want })
	if nilBatches.Load() != 1 {
		t.Error("a handler without its loop has a batch")
	}
	close(release)
}
