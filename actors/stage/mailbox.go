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
	// ErrFull says that the data lane is at its bound; see Ref.AwaitRoom.
	ErrFull = errors.New("stage: data lane is full")
	// ErrStopped says that the actor is stopping or gone.
	ErrStopped = errors.New("stage: actor is stopped")
)

// DeadLetter is a message that must not vanish: OnDeadLetter is called once, anywhere, if no actor gets or knows it.
type DeadLetter interface{ OnDeadLetter() }

// Sized is a message that counts against the byte limit even in order. For data messages the sender passes the size.
type Sized interface{ Size() int }

// LaneLimits bound the data lane. Zero means no bound of that kind.
type LaneLimits struct {
	MessagesMax int
	// BytesMax may be exceeded by one message larger than half of it: a half full lane takes any, as AwaitRoom promises.
	BytesMax int
	// LongRunning says that a call of the actor may take long, as into scripts. Only a goroutine that
	// posts to this very actor may run it inline (PostRun).
	LongRunning bool
}

type laneLimits struct {
	messagesMax, bytesMax int32
	longRunning           bool
}

func limitsOf(l LaneLimits) laneLimits {
	return laneLimits{int32(min(l.MessagesMax, math.MaxInt32)), int32(min(l.BytesMax, math.MaxInt32)), l.LongRunning}
}

// mailbox is that of one actor. Its lanes in order of priority: system messages, control, then data and ordered messages
// in order of arrival. Its booleans have different guards (the worker, an atomic, mu), so they cannot share a field.
type mailbox struct {
	// set once, before the actor is spawned
	limits laneLimits
	shard  *Shard
	// set once, before start
	invoker actor.MessageInvoker
	// yielded belongs to the worker that runs the mailbox; see yield
	yielded bool
	// group is that of the shard; set once, here because it takes no room between the others
	group uint8
	// urgent is set under mu when the worker should leave its batch of data; checked between messages
	urgent atomic.Bool

	mu sync.Mutex
	// guarded by mu
	lastWorker *worker // the worker that runs it, or ran it last
	system     ring[any]
	control    ring[any]
	data       ring[envelope]
	dataBytes  int
	state      mailboxState
	stopping   bool          // a stop was asked for
	closed     bool          // refuses control and data; also read without mu, see isClosedFast
	room       chan struct{} // created by AwaitRoom, closed when the data lane is half empty
}

// mailboxState says whether a mailbox has a turn on its shard.
type mailboxState uint8

const (
	mailboxUnstarted mailboxState = iota // the actor is not spawned yet: messages only wait
	mailboxIdle
	mailboxScheduled // the mailbox waits for its shard, or a worker runs it
)

// envelope is a message of the data lane with its size in bytes.
type envelope struct {
	msg  any
	size int
}

// runBatch is how many data messages are taken per lock; runMax how many of any kind before other mailboxes' turn.
const (
	runBatch = 32
	runMax   = 512
)

// Messages of the library: the first one and the last one that a guard handles.
var (
	startedMessage any = &actor.Started{}
	stoppedMessage any = &actor.Stopped{}
)

// Tell sends a control message: before all data, never refused as too many. If the actor has
// stopped, msg is a dead letter and it returns false.
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

// postData queues msg on the data lane unless full. With inline, the caller runs the mailbox if the shard is free.
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

// TellInOrder sends a message behind the waiting data, never refused as too many: for
// bounded events that must not overtake data. It returns what Tell does.
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

// AwaitRoom blocks until the data lane is half full at most, the actor stops, or d is over. Not for actors.
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

// scheduleLocked queues the mailbox at its shard, unless it is; with inline, the caller runs it if the shard is free. It releases mu.
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

// Stop ends the actor after the current message. Those that wait become dead letters; without
// an actor yet, all do, and one that is spawned later stops once started.
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

// close turns waiting control and data into dead letters, and refuses more. The guard calls it.
func (m *mailbox) close() {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return
	}
	m.closeLocked()
}

// closeLocked is close for an open mailbox. It releases mu.
func (m *mailbox) closeLocked() {
	m.closed = true
	m.urgent.Store(true) // the worker gives its batch back
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

// abandon takes the actor out of a call that never returns, calls last, and stops it; false if the mailbox is not being run.
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
	for i, p := range w.batch { // messages that it has not delivered
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

// HandOver gives the shard to another worker while the actor's call takes long; without it, the stage finds out later.
func (m *mailbox) HandOver() {
	m.mu.Lock()
	w := m.lastWorker
	m.mu.Unlock()
	if w != nil { // else the actor was abandoned
		m.shard.handOver(w)
	}
}

// Depth returns the number of waiting messages, except for the few that the worker has taken.
func (m *mailbox) Depth() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.control.len() + m.data.len()
}

// run delivers messages until none is left or its turn is used up, and reports whether it
// needs another. One worker runs a mailbox at a time; after mailboxIdle, it must not touch it.
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
				m.system = ring[any]{} // most actors get no other before they stop
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

// rests ends the turns of a mailbox that is empty, and reports whether it is.
func (m *mailbox) rests() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.system.len() > 0 || m.control.len() > 0 || m.data.len() > 0 {
		return false
	}
	m.state = mailboxIdle
	return true
}

// deliver passes data to the actor and returns how many it took; the rest goes back when something is more urgent or the actor ends.
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

// giveBack puts data back into the lane, or into dead letters if the actor has ended meanwhile.
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

// yield ends the turn after the current message. The actor calls it.
func (m *mailbox) yield() {
	m.yielded = true
	m.urgent.Store(true) // the worker gives its batch back
}

// isClosedFast reads closed without the lock: once started, only who runs the mailbox closes it.
func (m *mailbox) isClosedFast() bool { return m.closed }

// deadLetter calls OnDeadLetter and contains its panic: other messages and the worker go on.
func (m *mailbox) deadLetter(msg any) {
	u, ok := msg.(DeadLetter)
	if !ok {
		return
	}
	defer m.shard.stage.contain("dead letter", msg)
	u.OnDeadLetter()
}

// postSystem queues msg on the system lane.
func (m *mailbox) postSystem(msg any) {
	m.mu.Lock()
	m.system.push(msg)
	m.urgent.Store(true)
	m.scheduleLocked(false)
}

// start runs the messages posted before. An earlier stop comes after Started, which is one of them.
func (m *mailbox) start() {
	m.mu.Lock()
	m.state = mailboxIdle
	if m.stopping {
		m.system.push(stopAsked{})
	}
	m.scheduleLocked(false)
}
