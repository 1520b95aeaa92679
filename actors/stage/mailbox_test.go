package stage

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"troupe/actors/actorstest/assert"
)

// note is a message of the model test. Its effects when it is received are drawn once, and apply to the
// mailbox and to the model.
type note struct {
	id      int
	control []*note // control messages that it sends to its own actor
	ordered []*note // ordered messages that it sends to its own actor
	stop    bool    // it closes the mailbox
	yield   bool    // it ends the turn
	box     *mailbox
	lost    *[]int
}

// OnDeadLetter implements DeadLetter.
func (n *note) OnDeadLetter() { *n.lost = append(*n.lost, n.id) }

// big is a note with a size in bytes, which also counts when it is sent in order.
type big struct {
	*note
	size int
}

func (b big) Size() int { return b.size }

func noteOf(msg any) *note {
	if b, ok := msg.(big); ok {
		return b.note
	}
	return msg.(*note)
}

// recorder is the invoker of the mailbox.
type recorder struct{ got []int }

func (r *recorder) InvokeSystemMessage(msg any)             { r.got = append(r.got, msg.(int)) }
func (r *recorder) EscalateFailure(reason any, message any) { panic("escalated") }
func (r *recorder) InvokeUserMessage(msg any) {
	n := noteOf(msg)
	r.got = append(r.got, n.id)
	for _, c := range n.control {
		n.box.Tell(c)
	}
	for _, o := range n.ordered {
		n.box.TellInOrder(o)
	}
	if n.stop {
		n.box.close()
	}
	if n.yield {
		n.box.yield()
	}
}

// model simulates a mailbox, one message at a time.
type model struct {
	limits  LaneLimits
	system  []int
	control []*note
	data    []big
	closed  bool
	got     []int
	lost    []int
}

func (m *model) bytes() (n int) {
	for _, b := range m.data {
		n += b.size
	}
	return n
}

func (m *model) full(size int) bool {
	l := m.limits
	return l.MessagesMax > 0 && len(m.data) >= l.MessagesMax ||
		l.BytesMax > 0 && m.bytes()+size > l.BytesMax && m.bytes() > l.BytesMax/2
}

func (m *model) step() bool {
	var n *note
	switch {
	case len(m.system) > 0:
		m.got = append(m.got, m.system[0])
		m.system = m.system[1:]
		return true
	case len(m.control) > 0:
		n, m.control = m.control[0], m.control[1:]
	case len(m.data) > 0:
		n, m.data = m.data[0].note, m.data[1:]
	default:
		return false
	}
	m.got = append(m.got, n.id)
	for _, c := range n.control {
		m.tell(c)
	}
	for _, o := range n.ordered {
		m.order(big{o, 0})
	}
	if n.stop {
		m.close()
	}
	return true
}

func (m *model) tell(n *note) {
	if m.closed {
		m.lost = append(m.lost, n.id)
		return
	}
	m.control = append(m.control, n)
}

func (m *model) order(b big) {
	if m.closed {
		m.lost = append(m.lost, b.id)
		return
	}
	m.data = append(m.data, b)
}

func (m *model) close() {
	if m.closed {
		return
	}
	m.closed = true
	for _, n := range m.control {
		m.lost = append(m.lost, n.id)
	}
	for _, b := range m.data {
		m.lost = append(m.lost, b.id)
	}
	m.control, m.data = nil, nil
}

func TestMailboxAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := LaneLimits{
			MessagesMax: rapid.SampledFrom([]int{0, 1, 5, 100}).Draw(t, "messages"),
			BytesMax:    rapid.SampledFrom([]int{0, 1, 50, 1000}).Draw(t, "bytes"),
		}
		shard := bare()
		var lost []int
		rec := &recorder{}
		box := &mailbox{limits: limitsOf(limits), shard: shard}
		box.invoker = rec
		m := &model{limits: limits}
		w := &worker{shard: shard}
		next := 0
		var draw func(t *rapid.T, deep int) *note
		draw = func(t *rapid.T, deep int) *note {
			next++
			n := &note{id: next, box: box, lost: &lost}
			if deep > 0 && rapid.IntRange(0, 3).Draw(t, "acts") == 0 {
				for range rapid.IntRange(0, 2).Draw(t, "control") {
					n.control = append(n.control, draw(t, deep-1))
				}
				for range rapid.IntRange(0, 2).Draw(t, "ordered") {
					n.ordered = append(n.ordered, draw(t, deep-1))
				}
				n.yield = rapid.IntRange(0, 5).Draw(t, "yield") == 0
				n.stop = rapid.IntRange(0, 40).Draw(t, "stop") == 0
			}
			return n
		}
		started := rapid.Bool().Draw(t, "started")
		if started {
			box.start()
		}
		t.Repeat(map[string]func(*rapid.T){
			"control": func(t *rapid.T) {
				n := draw(t, 2)
				if box.Tell(n) == m.closed {
					t.Fatal("Tell reports the wrong thing")
				}
				m.tell(n)
			},
			"ordered": func(t *rapid.T) {
				n := draw(t, 2)
				b := big{n, rapid.IntRange(0, 60).Draw(t, "size")}
				var msg any = b
				if b.size == 0 {
					msg = n
				}
				if box.TellInOrder(msg) == m.closed {
					t.Fatal("TellInOrder reports the wrong thing")
				}
				m.order(b)
			},
			"data": func(t *rapid.T) {
				for range rapid.IntRange(1, 50).Draw(t, "n") {
					b := big{draw(t, 2), rapid.IntRange(0, 60).Draw(t, "size")}
					var want error
					switch {
					case m.closed:
						want = ErrStopped
					case m.full(b.size):
						want = ErrFull
					default:
						m.data = append(m.data, b)
					}
					// The size also counts for a message without a Size method.
					if err := box.postData(b.note, b.size, false); err != want {
						t.Fatalf("post: %v, want %v", err, want)
					}
				}
			},
			"system": func(*rapid.T) {
				next++
				m.system = append(m.system, -next)
				box.postSystem(-next)
			},
			"start": func(*rapid.T) {
				if !started {
					started = true
					box.start()
				}
			},
			"run": func(t *rapid.T) {
				b, ok := shard.ready.pop()
				if !ok {
					if started && m.step() {
						t.Fatal("messages wait and nobody knows")
					}
					return
				}
				for b.run(w) {
				}
				for m.step() {
				}
			},
			"": func(t *rapid.T) {
				if !slices.Equal(rec.got, m.got) {
					t.Fatalf("delivered\n%v, want\n%v", rec.got, m.got)
				}
				// Each dead letter occurs once; the order does not matter.
				slices.Sort(lost)
				slices.Sort(m.lost)
				if !slices.Equal(lost, m.lost) {
					t.Fatalf("dead letters\n%v, want\n%v", lost, m.lost)
				}
				if box.Depth() != len(m.control)+len(m.data) || box.dataBytes != m.bytes() {
					t.Fatalf("%d messages, %d bytes; want %d, %d", box.Depth(), box.dataBytes, len(m.control)+len(m.data), m.bytes())
				}
				if shard.ready.len() > 1 {
					t.Fatal("scheduled twice")
				}
				for i, p := range w.batch {
					if p.msg != nil {
						t.Fatalf("the worker still holds %v at %d", fmt.Sprint(p.msg), i)
					}
				}
			},
		})
	})
}

// A mailbox that never becomes empty lets others have their turns.
func TestMailboxLeavesItsWorkerAfterItsShare(t *testing.T) {
	shard := bare()
	var lost []int
	rec := &recorder{}
	box := &mailbox{shard: shard}
	box.invoker = rec
	box.start()
	for i := range 3 * runMax {
		if i%2 == 0 {
			box.Tell(&note{id: i, box: box, lost: &lost})
		} else {
			_ = box.postData(&note{id: i, box: box, lost: &lost}, 0, false)
		}
	}
	w := &worker{shard: shard}
	for turns := 1; box.run(w); turns++ {
		if n := len(rec.got); n < turns*runMax || n > turns*runMax+runBatch {
			t.Fatalf("%d messages in %d turns", n, turns)
		}
	}
	if len(rec.got) != 3*runMax {
		t.Fatalf("%d messages", len(rec.got))
	}
}

// explosive is a message that panics in OnDeadLetter.
type explosive struct{}

func (explosive) OnDeadLetter() { panic("on the way out") }

func TestAPanicInOnDeadLetterIsContained(t *testing.T) {
	shard := bare()
	var lost []int
	box := &mailbox{shard: shard}
	box.Tell(explosive{})
	box.Tell(&note{id: 1, box: box, lost: &lost})
	_ = box.postData(explosive{}, 0, false)
	_ = box.postData(&note{id: 2, box: box, lost: &lost}, 0, false)
	box.close()
	box.TellInOrder(explosive{})
	assert.List(t, "dead letters", lost, []int{1, 2})
	assert.Equal(t, "panics counted", shard.stage.count.ActorPanics.Load(), 3)
}
