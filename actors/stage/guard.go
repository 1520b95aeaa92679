package stage

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"troupe/messages/counters"
)

// Actor is the behaviour behind a Ref; its methods never run concurrently. A panic
// in one ends the actor in order: Stopped still runs, and Exited carries the text.
type Actor interface {
	// Started is called once, first.
	Started(c *Context)
	// Receive handles one message: one sent to the Ref, a timer's, or Exited.
	Receive(c *Context, msg any)
	// Stopped is called once, after all children have stopped. It releases what the actor
	// holds, also after a panic half way. It must not spawn, and its timers never fire.
	Stopped(c *Context)
}

// Exited tells a parent that a child has stopped and released all. It may spawn a replacement under a fresh Ref.
type Exited struct {
	Ref *Ref
	// Crash is the panic's text, empty after an orderly stop.
	Crash string
}

// Panic makes the receiving actor panic; fault tests send it to every kind (reliability.md 4).
type Panic struct{ Text string }

// Context gives an actor access to its stage. It is valid during the calls to the actor only.
type Context guard

// guard runs an Actor: its mailbox calls the guard. The tree of actors, and with it the order of stopping, is kept here.
// An actor stops in three steps: it gets no more messages, its children stop, and then it stops itself.
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
	newest   *guard // child
	timers   *Timer // the first of those that are armed
	// owned by the parent: its other children
	older, newer *guard
}

// Messages on the system lane, besides those of the library.
type (
	stopAsked    struct{}
	childStopped guard // a child has stopped
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

// EscalateFailure implements actor.MessageInvoker. It is for mailboxes that catch panics; ours does not.
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
		// Queued behind the child's last messages; a parent that stops gets no more.
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

// stop refuses all further messages, and stops the children, the newest first. The actor stops once none is left.
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
		g.actor = nil // frees it, even if a timer still holds the Ref
		g.self.stage().live.Add(g.self.kind, -1)
	}()
	g.actor.Stopped((*Context)(g))
}

// recover turns a panic into an orderly stop.
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

// crashText is never empty: an empty text would mean an orderly stop.
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

// Log returns a new logger that names the actor: keep it, or call Log rarely.
func (c *Context) Log() *zerolog.Logger {
	log := c.self.stage().log.With().Str("actor", c.self.Name()).Logger()
	return &log
}

// Crash returns the reason of a crash, to be called in Stopped; empty after an orderly stop.
func (c *Context) Crash() string { return c.self.crashed() }

// Counters returns the metrics of the host.
func (c *Context) Counters() *counters.Set { return c.self.stage().count }

// Unknown counts an unknown message and makes it a dead letter: no sender waits in vain. It is the default of every Receive.
func (c *Context) Unknown(msg any) {
	c.Counters().ActorMessages.Add(1)
	c.self.mailbox.deadLetter(msg)
}

// Stage returns the stage, for making Refs.
func (c *Context) Stage() *Stage { return c.self.stage() }

// Spawn starts a child behind ref, fresh but for messages, which come after Started. The
// parent receives Exited when the child has stopped, unless it stops first.
func (c *Context) Spawn(ref *Ref, a Actor) {
	g := (*guard)(c)
	if g.stopped {
		ref.Stop()
		panic("stage: " + g.self.Name() + " spawns " + ref.Name() + " in Stopped")
	}
	g.self.stage().spawn(g, ref, a)
}

// StopSelf ends the actor after the current message; those that wait become dead letters.
func (c *Context) StopSelf() {
	c.self.mailbox.close()
	c.self.mailbox.Stop()
}

// Dirty schedules a flush of f at the end of the batch, once per call: avoid a second for the same output.
func (c *Context) Dirty(f Flusher) {
	m := &c.self.mailbox
	m.shard.markDirty(f, m.group)
}

// Yield lets other ready actors of the shard run first, such as one that was asked what the next messages depend on.
func (c *Context) Yield() { c.self.mailbox.yield() }
