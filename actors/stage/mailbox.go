package stage

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Errors of Ref.Post.
var (
	// ErrFull means that the data lane has reached its limit; see Ref.AwaitRoom.
	ErrFull = errors.New("stage: data lane is full")
	// ErrStopped means that the actor is stopping or has stopped.
	ErrStopped = errors.New("stage: actor is stopped")
)

// DeadLetter is implemented by messages that must not be lost silently. OnDeadLetter is called once, on any
// goroutine, if no actor receives the message or the receiving actor does not know its type.
type DeadLetter interface{ OnDeadLetter() }

// Sized is implemented by ordered messages that count against BytesMax. For data messages, the sender passes
// the size.
type Sized interface{ Size() int }

// LaneLimits limit the data lane. Zero values mean no limit.
type LaneLimits struct {
	MessagesMax int
	// BytesMax is exceeded at times: a lane that is at most half full accepts a message of any size, as
	// AwaitRoom promises.
	BytesMax int
	// LongRunning marks actors with calls that may take long, such as calls into scripts. Only a goroutine
	// that posts to this very actor may run it inline (PostRun).
	LongRunning bool
}

type laneLimits struct {
	messagesMax, bytesMax int32
	longRunning           bool
}

func limitsOf(l LaneLimits) laneLimits {
	return laneLimits{int32(min(l.MessagesMax, math.MaxInt32)), int32(min(l.BytesMax, math.MaxInt32)), l.LongRunning}
}

// mailbox is the mailbox of one actor. Its lanes, by priority, are: system messages, control messages, and
// then data and ordered messages in order of arrival. The booleans are guarded in different ways (by the
// worker, as an atomic, by mu), so they cannot share one field.
type mailbox struct {
	// set once, before the actor is spawned
	limits laneLimits
	shard  *Shard
	// set once, before start
	invoker actor.MessageInvoker
	// owned by the worker that runs the mailbox; see yield
	yielded bool
	// group of the shard; set once. It is placed here because it needs no extra memory between these fields.
	group uint8
	// set under mu to make the worker stop delivering its batch of data; the worker checks it between
	// messages
	urgent atomic.Bool

	mu sync.Mutex
	// guarded by mu
	lastWorker *worker // the worker that runs the mailbox, or ran it last
	system     ring[any]
	control    ring[any]
	data       ring[envelope]
	dataBytes  int
	state      mailboxState
	stopping   bool          // a stop was requested
	closed     bool          // control and data messages are refused; for reads without mu see isClosedFast
	room       chan struct{} // created by AwaitRoom, closed when the data lane is half empty
}

// mailboxState tells whether a mailbox is scheduled on its shard.
type mailboxState uint8

const (
	mailboxUnstarted mailboxState = iota // the actor is not spawned yet; messages are only queued
	mailboxIdle
	mailboxScheduled // the mailbox is in the shard's ready queue, or a worker is running it
)

// envelope is a message in the data lane with its size in bytes.
type envelope struct {
	msg  any
	size int
}

// runBatch is how many data messages a worker takes at a time. runMax is how many messages of all kinds it
// handles before it runs other mailboxes.
const (
	runBatch = 32
	runMax   = 512
)

// The first and the last message of the library that a guard handles.
var (
	startedMessage any = &actor.Started{}
	stoppedMessage any = &actor.Stopped{}
)

// Tell sends a control message. It is delivered before all data and never refused because of limits. If the
// actor has stopped, msg becomes a dead letter and Tell returns false.
func (m *mailbox) Tell(msg any) bool {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		m.deadLetter(msg)
		return false
	}
	m.control.push(msg)
	m.urgent.Store(true)
	m.scheduleLocked(false)
	return true
}

// postData adds msg to the data lane unless the lane is full. If inline is true and the shard is free, the
// caller runs the mailbox.
func (m *mailbox) postData(msg any, size int, inline bool) error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return ErrStopped
	}
	if m.fullLocked(size) {
		m.mu.Unlock()
		return ErrFull
	}
	m.dataBytes += size
	m.data.push(envelope{msg, size})
	m.scheduleLocked(inline)
	return nil
}

// TellInOrder adds a message to the data lane, behind the queued data. It is never refused because of limits.
// Use it for events that are limited in number and must not overtake data. If the actor has stopped, msg
// becomes a dead letter and TellInOrder returns false.
func (m *mailbox) TellInOrder(msg any) bool {
	size := 0
	if s, ok := msg.(Sized); ok {
		size = s.Size()
	}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		m.deadLetter(msg)
		return false
	}
	m.dataBytes += size
	m.data.push(envelope{msg, size})
	m.scheduleLocked(false)
	return true
}

// AwaitRoom blocks until the data lane is at most half full, the actor stops, or d has passed. Actors must
// not call it.
func (m *mailbox) AwaitRoom(d time.Duration) {
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

func (m *mailbox) fullLocked(size int) bool {
	messages, bytes := int(m.limits.messagesMax), int(m.limits.bytesMax)
	return messages > 0 && m.data.len() >= messages ||
		bytes > 0 && m.dataBytes+size > bytes && m.dataBytes > bytes/2
}

func (m *mailbox) halfEmptyLocked() bool {
	messages, bytes := int(m.limits.messagesMax), int(m.limits.bytesMax)
	return (messages == 0 || m.data.len() <= messages/2) &&
		(bytes == 0 || m.dataBytes <= bytes/2)
}

// scheduleLocked puts an idle mailbox into the ready queue of its shard. If inline is true and the shard is
// free, the caller runs it instead. scheduleLocked releases mu.
func (m *mailbox) scheduleLocked(inline bool) {
	schedule := m.state == mailboxIdle
	if schedule {
		m.state = mailboxScheduled
	}
	m.mu.Unlock()
	switch {
	case !schedule:
	case inline:
		m.shard.runInline(m)
	default:
		m.shard.schedule(m)
	}
}

// Stop stops the actor after the current message. Queued messages become dead letters. If no actor has been
// spawned yet, all messages become dead letters, and an actor that is spawned later stops right after
// Started.
func (m *mailbox) Stop() {
	m.mu.Lock()
	if m.stopping {
		m.mu.Unlock()
		return
	}
	m.stopping = true
	if m.state == mailboxUnstarted {
		m.closeLocked()
		return
	}
	m.system.push(stopAsked{})
	m.urgent.Store(true)
	m.scheduleLocked(false)
}

// close refuses further control and data messages, and turns the queued ones into dead letters. The guard
// calls it.
func (m *mailbox) close() {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return
	}
	m.closeLocked()
}

// closeLocked is close for a mailbox that is not closed yet. It releases mu.
func (m *mailbox) closeLocked() {
	m.closed = true
	m.urgent.Store(true) // makes the worker return its batch
	control, data, room := m.control, m.data, m.room
	m.control, m.data, m.dataBytes, m.room = ring[any]{}, ring[envelope]{}, 0, nil
	m.mu.Unlock()
	if room != nil {
		close(room)
	}
	for msg, ok := control.pop(); ok; msg, ok = control.pop() {
		m.deadLetter(msg)
	}
	for p, ok := data.pop(); ok; p, ok = data.pop() {
		m.deadLetter(p.msg)
	}
}

// abandon removes the actor from a call that never returns, calls last, and stops the actor. It returns false
// if no worker is running the mailbox.
func (m *mailbox) abandon(last func()) bool {
	m.mu.Lock()
	w := m.lastWorker
	if m.state != mailboxScheduled || w == nil {
		m.mu.Unlock()
		return false
	}
	m.lastWorker = nil
	m.mu.Unlock()
	last()
	m.shard.discard(w)
	m.close()
	for i, p := range w.batch { // messages not delivered yet
		if p.msg != nil {
			w.batch[i] = envelope{}
			m.deadLetter(p.msg)
		}
	}
	m.mu.Lock()
	m.stopping, m.state, m.yielded = true, mailboxIdle, false
	m.system.push(stopAsked{})
	m.scheduleLocked(false)
	return true
}

// HandOver gives the shard to another worker while a call of the actor takes long. Without HandOver, the
// watch of the stage does so later.
func (m *mailbox) HandOver() {
	m.mu.Lock()
	w := m.lastWorker
	m.mu.Unlock()
	if w != nil { // otherwise the actor was abandoned
		m.shard.handOver(w)
	}
}

// Depth returns the number of queued messages, without those in the worker's current batch.
func (m *mailbox) Depth() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.control.len() + m.data.len()
}

// run delivers messages until none is left or the turn of the mailbox ends. It returns true if the mailbox
// needs another turn. Only one worker runs a mailbox at a time. Once run has set mailboxIdle, it must not
// access the mailbox.
func (m *mailbox) run(w *worker) (again bool) {
	for handled := 0; ; {
		if m.yielded || handled >= runMax || handled > 0 && m.shard.overdue() {
			m.yielded = false
			return !m.rests()
		}
		m.mu.Lock()
		m.lastWorker = w
		if msg, ok := m.system.pop(); ok {
			if m.system.len() == 0 {
				m.system = ring[any]{} // free it: most actors get no further system message before they stop
			}
			m.mu.Unlock()
			m.invoker.InvokeSystemMessage(msg)
			handled++
			continue
		}
		if msg, ok := m.control.pop(); ok {
			m.mu.Unlock()
			m.invoker.InvokeUserMessage(msg)
			handled++
			continue
		}
		m.urgent.Store(false)
		if m.data.len() == 0 {
			m.state = mailboxIdle
			m.mu.Unlock()
			return false
		}
		n := 0
		for ; n < len(w.batch) && m.data.len() > 0; n++ {
			w.batch[n], _ = m.data.pop()
			m.dataBytes -= w.batch[n].size
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
		taken := m.deliver(w.batch[:n])
		handled, w.messages = handled+taken, w.messages+uint64(taken)
	}
}

// rests sets an empty mailbox to idle, and reports whether it is empty.
func (m *mailbox) rests() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.system.len() > 0 || m.control.len() > 0 || m.data.len() > 0 {
		return false
	}
	m.state = mailboxIdle
	return true
}

// deliver passes data messages to the actor and returns how many. If something more urgent arrives or the
// actor stops, it returns the rest to the lane.
func (m *mailbox) deliver(batch []envelope) (taken int) {
	for i := range batch {
		if m.urgent.Load() {
			m.giveBack(batch[i:])
			return i
		}
		msg := batch[i].msg
		batch[i] = envelope{}
		m.invoker.InvokeUserMessage(msg)
	}
	return len(batch)
}

// giveBack returns data messages to the front of the lane. If the actor has stopped meanwhile, they become
// dead letters.
func (m *mailbox) giveBack(batch []envelope) {
	defer clear(batch)
	if m.isClosedFast() {
		for _, p := range batch {
			m.deadLetter(p.msg)
		}
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := len(batch) - 1; i >= 0; i-- {
		m.data.pushFront(batch[i])
		m.dataBytes += batch[i].size
	}
}

// yield ends the turn of the mailbox after the current message. Only the actor calls it.
func (m *mailbox) yield() {
	m.yielded = true
	m.urgent.Store(true) // makes the worker return its batch
}

// isClosedFast reads closed without the lock. This is safe for the worker that runs the mailbox: once the
// mailbox is started, only this worker closes it.
func (m *mailbox) isClosedFast() bool { return m.closed }

// deadLetter calls OnDeadLetter and recovers from its panics, so that the worker and other messages are not
// affected.
func (m *mailbox) deadLetter(msg any) {
	u, ok := msg.(DeadLetter)
	if !ok {
		return
	}
	defer m.shard.stage.contain("dead letter", msg)
	u.OnDeadLetter()
}

// postSystem adds msg to the system lane.
func (m *mailbox) postSystem(msg any) {
	m.mu.Lock()
	m.system.push(msg)
	m.urgent.Store(true)
	m.scheduleLocked(false)
}

// start schedules the mailbox with the messages posted so far; Started is among them. A stop that was
// requested before takes effect after Started.
func (m *mailbox) start() {
	m.mu.Lock()
	m.state = mailboxIdle
	if m.stopping {
		m.system.push(stopAsked{})
	}
	m.scheduleLocked(false)
}
