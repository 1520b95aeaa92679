package stage

import (
	"errors"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Errors of Ref.Post.
var (
	// ErrFull says that the data lane is at its bound; see Ref.AwaitRoom.
	ErrFull = errors.New("stage: data lane is full")
	// ErrStopped says that the actor is stopping or gone.
	ErrStopped = errors.New("stage: actor is stopped")
)

// Undeliverable is implemented by messages that must not vanish: it is called
// once, from any goroutine, when the message will not reach its actor.
type Undeliverable interface{ Undelivered() }

// Sized is implemented by data messages that count against a byte bound.
type Sized interface{ Size() int }

// LaneLimits bound the data lane. Zero means no bound of that kind.
type LaneLimits struct {
	MessagesMax int
	BytesMax    int
}

// Mailbox is the actor.Mailbox of every actor. Lanes, first to last:
// the library's system messages, control, then data and ordered messages
// together in order of arrival.
type Mailbox struct {
	// set once, before the actor is spawned
	limits LaneLimits
	shard  *Shard
	// set once by RegisterHandlers, before the first run
	invoker actor.MessageInvoker
	// owned by the worker that runs the mailbox
	worker *worker

	mu sync.Mutex
	// guarded by mu
	system    ring[any]
	control   ring[any]
	data      ring[any]
	dataBytes int
	scheduled bool
	started   bool
	closed    bool          // user lanes refuse
	room      chan struct{} // made by a waiter, closed when the data lane is half empty
}

// runBatch is how many data messages are taken per lock; runMax how many
// before the shard's other mailboxes get their turn.
const (
	runBatch = 32
	runMax   = 512
)

// postControl queues msg on the control lane.
func (m *Mailbox) postControl(msg any) bool {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		undelivered(msg)
		return false
	}
	m.control.push(msg)
	m.scheduleLocked()
	return true
}

// postData queues msg on the data lane unless it is full.
func (m *Mailbox) postData(msg any, size int) error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return ErrStopped
	}
	if m.limits.MessagesMax > 0 && m.data.n >= m.limits.MessagesMax ||
		m.limits.BytesMax > 0 && m.dataBytes+size > m.limits.BytesMax {
		m.mu.Unlock()
		return ErrFull
	}
	m.dataBytes += size
	m.data.push(msg)
	m.scheduleLocked()
	return nil
}

// postOrdered queues msg behind the data that is there, whatever the bound.
func (m *Mailbox) postOrdered(msg any) bool {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		undelivered(msg)
		return false
	}
	m.data.push(msg)
	m.scheduleLocked()
	return true
}

// awaitRoom waits until the data lane is at most half full, the actor stops, or
// d is over.
func (m *Mailbox) awaitRoom(d time.Duration) {
	m.mu.Lock()
	if m.closed || m.halfEmptyLocked() {
		m.mu.Unlock()
		return
	}
	if m.room == nil {
		m.room = make(chan struct{})
	}
	room := m.room
	m.mu.Unlock()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-room:
	case <-t.C:
	}
}

func (m *Mailbox) halfEmptyLocked() bool {
	return (m.limits.MessagesMax == 0 || m.data.n <= m.limits.MessagesMax/2) &&
		(m.limits.BytesMax == 0 || m.dataBytes <= m.limits.BytesMax/2)
}

// scheduleLocked hands the mailbox to its shard unless it is there already. It
// releases mu.
func (m *Mailbox) scheduleLocked() {
	hand := m.started && !m.scheduled
	if hand {
		m.scheduled = true
	}
	m.mu.Unlock()
	if hand {
		m.shard.schedule(m)
	}
}

// close makes the user lanes refuse and tells what is in them that it will not
// be delivered. Called by the guard.
func (m *Mailbox) close() {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return
	}
	m.closed = true
	control, data := m.control, m.data
	m.control, m.data, m.dataBytes = ring[any]{}, ring[any]{}, 0
	room := m.room
	m.room = nil
	m.mu.Unlock()
	if room != nil {
		close(room)
	}
	for _, lane := range []*ring[any]{&control, &data} {
		for msg, ok := lane.pop(); ok; msg, ok = lane.pop() {
			undelivered(msg)
		}
	}
}

func (m *Mailbox) isClosed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}

// depth returns the number of user messages that wait.
func (m *Mailbox) depth() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.control.n + m.data.n
}

// run delivers messages until the mailbox is empty or has had its share, and
// reports whether it wants another turn. Only one worker runs a mailbox at a time.
func (m *Mailbox) run(w *worker) (again bool) {
	m.worker = w
	defer func() { m.worker = nil }()
	batch := w.batch[:]
	for handled := 0; ; {
		m.mu.Lock()
		if msg, ok := m.system.pop(); ok {
			m.mu.Unlock()
			m.invoker.InvokeSystemMessage(msg)
			continue
		}
		if m.control.n == 0 && m.data.n == 0 {
			m.scheduled = false
			m.mu.Unlock()
			return false
		}
		if handled >= runMax {
			m.mu.Unlock()
			return true
		}
		if msg, ok := m.control.pop(); ok {
			m.mu.Unlock()
			m.invoker.InvokeUserMessage(msg)
			handled++
			continue
		}
		n := 0
		for n < len(batch) {
			msg, ok := m.data.pop()
			if !ok {
				break
			}
			if s, ok := msg.(Sized); ok {
				m.dataBytes -= s.Size()
			}
			batch[n] = msg
			n++
		}
		room := m.room
		if room != nil && m.halfEmptyLocked() {
			m.room = nil
		} else {
			room = nil
		}
		m.mu.Unlock()
		if room != nil {
			close(room)
		}
		m.deliver(batch[:n])
		handled += n
	}
}

// deliver hands a batch of data to the actor. If the actor fails or asks for
// its stop half way, what is left is undelivered.
func (m *Mailbox) deliver(batch []any) {
	for i, msg := range batch {
		batch[i] = nil
		if m.isClosedFast() {
			undelivered(msg)
			continue
		}
		m.invoker.InvokeUserMessage(msg)
	}
}

// isClosedFast reads closed without the lock: only the goroutine that runs the
// mailbox closes it.
func (m *Mailbox) isClosedFast() bool { return m.closed }

func undelivered(msg any) {
	if u, ok := msg.(Undeliverable); ok {
		u.Undelivered()
	}
}

// PostUserMessage implements actor.Mailbox: control lane.
func (m *Mailbox) PostUserMessage(msg any) { m.postControl(msg) }

// PostSystemMessage implements actor.Mailbox. The suspend and resume messages
// that the library sends around a restart never come: a guard lets no panic out.
func (m *Mailbox) PostSystemMessage(msg any) {
	m.mu.Lock()
	m.system.push(msg)
	m.scheduleLocked()
}

// RegisterHandlers implements actor.Mailbox.
func (m *Mailbox) RegisterHandlers(invoker actor.MessageInvoker, _ actor.Dispatcher) {
	m.invoker = invoker
}

// Start implements actor.Mailbox: what was posted before runs now.
func (m *Mailbox) Start() {
	m.mu.Lock()
	m.started = true
	m.scheduleLocked()
}

// UserMessageCount implements actor.Mailbox.
func (m *Mailbox) UserMessageCount() int { return m.depth() }
