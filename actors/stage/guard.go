package stage

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"troupe/messages/counters"
)

// Actor is the behavior of an actor. Its methods never run concurrently. A panic in one of them leads to an
// orderly stop: Stopped is still called, and Exited contains the text of the panic.
type Actor interface {
	// Started is called first, once.
	Started(c *Context)
	// Receive handles one message: a message sent to the Ref, the message of a timer, or Exited.
	Receive(c *Context, msg any)
	// Stopped is called once, after all children have stopped. It releases the resources of the actor, even
	// if a panic has left them incomplete. It must not spawn actors, and timers that it sets never fire.
	Stopped(c *Context)
}

// Exited is sent to a parent when a child has stopped and released everything. The parent may spawn a
// replacement with a new Ref.
type Exited struct {
	Ref *Ref
	// Crash is the text of the panic; "" after an orderly stop.
	Crash string
}

// Panic makes the receiving actor panic. Fault tests send it to every kind of actor (reliability.md 4).
type Panic struct{ Text string }

// Context gives an actor access to its stage. It is valid only during calls to the actor.
type Context guard

// guard runs an Actor; it is the invoker of the actor's mailbox. The guards form the tree of actors, which
// determines the order of stopping. An actor stops in three steps: it receives no more messages, its children
// stop, and then its Stopped is called.
type guard struct {
	// set once
	self   *Ref
	parent *guard // nil for a root
	actor  Actor
	// owned by the actor
	crashed  bool
	stopping bool
	stopped  bool
	children int32
	newest   *guard // the child that was spawned last
	timers   *Timer // head of the list of armed timers
	// owned by the parent: links to the other children
	older, newer *guard
}

// Messages in the system lane, in addition to those of the library.
type (
	stopAsked    struct{}
	childStopped guard // the child with this guard has stopped
)

// InvokeUserMessage implements actor.MessageInvoker.
func (g *guard) InvokeUserMessage(msg any) {
	if !g.stopped {
		g.handle(msg)
	}
}

// InvokeSystemMessage implements actor.MessageInvoker.
func (g *guard) InvokeSystemMessage(msg any) {
	g.handle(msg)
	if msg == stoppedMessage && g.parent != nil {
		g.parent.self.mailbox.postSystem((*childStopped)(g))
	}
}

// EscalateFailure implements actor.MessageInvoker. It is for mailboxes that recover from panics; this
// package's mailbox does not.
func (g *guard) EscalateFailure(any, any) {}

func (g *guard) handle(msg any) {
	defer g.recover(msg)
	switch m := msg.(type) {
	case *actor.Started:
		g.actor.Started((*Context)(g))
	case stopAsked:
		g.stop()
	case *actor.Stopped:
		g.stopNow()
	case *childStopped:
		g.removeChild((*guard)(m))
		// This goes behind the child's last messages in the queue. If the parent is stopping, it does not
		// receive Exited.
		g.self.mailbox.Tell(Exited{Ref: m.self, Crash: m.self.crashed()})
		g.stopIfAlone()
	case *Timer:
		if m.due() {
			m.disarm()
			g.actor.Receive((*Context)(g), m.msg)
		}
	case Panic:
		panic(m.Text)
	default:
		g.actor.Receive((*Context)(g), msg)
	}
}

// stop refuses further messages and stops the children, newest first. When no child is left, the actor itself
// stops.
func (g *guard) stop() {
	if g.stopping {
		return
	}
	g.stopping = true
	g.self.mailbox.close()
	for g.timers != nil {
		g.timers.Stop()
	}
	for child := g.newest; child != nil; child = child.older {
		child.self.mailbox.Stop()
	}
	g.stopIfAlone()
}

func (g *guard) stopIfAlone() {
	if g.stopping && g.children == 0 {
		g.self.mailbox.postSystem(stoppedMessage)
	}
}

func (g *guard) addChild(child *guard) {
	child.older = g.newest
	if g.newest != nil {
		g.newest.newer = child
	}
	g.newest = child
	g.children++
}

func (g *guard) removeChild(child *guard) {
	if child.newer != nil {
		child.newer.older = child.older
	} else {
		g.newest = child.older
	}
	if child.older != nil {
		child.older.newer = child.newer
	}
	child.older, child.newer = nil, nil
	g.children--
}

func (g *guard) alarms() *alarms { return &g.self.mailbox.shard.alarms }

func (g *guard) stopNow() {
	g.stopped = true
	defer func() {
		g.actor = nil // so that it can be freed even if a timer still references the Ref
		g.self.stage().live.Add(g.self.kind, -1)
	}()
	g.actor.Stopped((*Context)(g))
}

// recover converts a panic to an orderly stop.
func (g *guard) recover(msg any) {
	r := recover()
	if r == nil {
		return
	}
	g.self.stage().panicked(g.self.Name(), msg, r)
	if g.crashed {
		return
	}
	g.crashed = true
	text := crashText(r)
	g.self.crash = &text
	g.self.mailbox.close()
	g.self.mailbox.Stop() // no effect if the panic was in Stopped
	if g.parent == nil && g.self.stage().onRootCrash != nil {
		g.self.stage().onRootCrash(text)
	}
}

// crashText returns the text of a panic. The result is never empty, because an empty text means an orderly
// stop.
func crashText(r any) string {
	if text := fmt.Sprint(r); text != "" {
		return text
	}
	return "panic"
}

// Self returns the actor's own Ref.
func (c *Context) Self() *Ref { return c.self }

// Now returns the wall clock.
func (c *Context) Now() time.Time { return c.self.stage().Now() }

// Log returns a new logger that includes the actor's name. Keep the logger, or call Log rarely.
func (c *Context) Log() *zerolog.Logger {
	log := c.self.stage().log.With().Str("actor", c.self.Name()).Logger()
	return &log
}

// Crash returns the text of the panic that stops the actor, or "" in an orderly stop. It is meant for
// Stopped.
func (c *Context) Crash() string { return c.self.crashed() }

// Counters returns the metrics of the host.
func (c *Context) Counters() *counters.Set { return c.self.stage().count }

// Unknown counts a message of an unknown type and makes it a dead letter, so that its sender does not wait
// forever. Receive methods call it in their default case.
func (c *Context) Unknown(msg any) {
	c.Counters().ActorMessages.Add(1)
	c.self.mailbox.deadLetter(msg)
}

// Stage returns the stage, which creates Refs.
func (c *Context) Stage() *Stage { return c.self.stage() }

// Spawn starts a child with a new ref. Messages may already have been sent to the ref; the child receives
// them after Started. The parent receives Exited when the child has stopped, unless the parent is stopping
// itself.
func (c *Context) Spawn(ref *Ref, a Actor) {
	g := (*guard)(c)
	if g.stopped {
		ref.Stop()
		panic("stage: " + g.self.Name() + " spawns " + ref.Name() + " in Stopped")
	}
	g.self.stage().spawn(g, ref, a)
}

// StopSelf stops the actor after the current message. Messages in the queue become dead letters.
func (c *Context) StopSelf() {
	c.self.mailbox.close()
	c.self.mailbox.Stop()
}

// Dirty schedules a flush of f at the end of the batch. Each call schedules another flush, so do not call it
// twice for the same output.
func (c *Context) Dirty(f Flusher) {
	m := &c.self.mailbox
	m.shard.markDirty(f, m.group)
}

// Yield lets other ready actors of the shard run first. Use it if the next messages depend on the answer of
// such an actor.
func (c *Context) Yield() { c.self.mailbox.yield() }
