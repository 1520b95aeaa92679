package stage

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"troupe/messages/counters"
)

// Actor is the behaviour behind a Ref. Its methods are never called
// concurrently. A panic in any of them ends the actor in order: Stopped still
// runs, and the parent's Exited carries the panic's text.
type Actor interface {
	// Started is called once, first.
	Started(c *Context)
	// Receive takes one message: what was sent to the Ref, what a timer sends,
	// or Exited.
	Receive(c *Context, msg any)
	// Stopped is called once, last, after all children have stopped. It releases
	// what the actor holds and must be safe after a panic half way through.
	Stopped(c *Context)
}

// Exited tells a parent that a child has stopped and released what it held. A
// replacement may be spawned now, under a fresh Ref.
type Exited struct {
	Ref *Ref
	// Crash is the panic's text, empty after an orderly stop.
	Crash string
}

// Panic makes the receiving actor panic: the fault suite's hook into every
// kind of actor (reliability.md 4).
type Panic struct{ Text string }

// Inspect asks an actor for a few words about itself; Reply is called once.
type Inspect struct{ Reply func(map[string]string) }

// Inspector is implemented by actors that answer Inspect.
type Inspector interface{ Inspect() map[string]string }

// Context is what an actor may use of its surroundings, during its calls only.
type Context struct {
	guard *guard
}

type guard struct {
	// set once
	self   *Ref
	parent *Ref
	actor  Actor
	stage  *Stage
	// owned by the actor
	library  actor.Context
	context  Context
	children map[string]*Ref // by pid id
	timers   []*Timer
	crashed  bool
	stopped  bool
}

// Receive implements actor.Actor.
func (g *guard) Receive(lib actor.Context) {
	g.library = lib
	msg := lib.Message()
	defer g.recover(msg)
	switch m := msg.(type) {
	case *actor.Started:
		g.actor.Started(&g.context)
	case *actor.Stopping:
		g.self.mailbox.close()
		g.stopTimers()
	case *actor.Stopped:
		g.self.mailbox.close()
		g.stopTimers()
		g.stopOnce()
	case *actor.Restarting:
		panic("stage: the library restarts an actor, which a guard rules out")
	case *actor.Terminated:
		if child := g.children[m.Who.Id]; child != nil {
			delete(g.children, m.Who.Id)
			if !g.crashed && !g.self.mailbox.isClosedFast() {
				g.actor.Receive(&g.context, Exited{Ref: child, Crash: child.crash})
			}
		}
	case *Timer:
		if m.due() {
			m.disarm()
			g.actor.Receive(&g.context, m.msg)
		}
	case Panic:
		panic(m.Text)
	case Inspect:
		if i, ok := g.actor.(Inspector); ok {
			m.Reply(i.Inspect())
		} else {
			m.Reply(nil)
		}
	default:
		if g.crashed {
			undelivered(msg)
			return
		}
		g.actor.Receive(&g.context, msg)
	}
}

func (g *guard) stopOnce() {
	if g.stopped {
		return
	}
	g.stopped = true
	g.stage.live.Add(g.self.kind, -1)
	g.actor.Stopped(&g.context)
}

// recover turns a panic into an orderly stop.
func (g *guard) recover(msg any) {
	r := recover()
	if r == nil {
		return
	}
	first := !g.crashed
	g.crashed = true
	g.stage.count.ActorPanics.Add(1)
	g.stage.log.Error().Str("actor", g.self.name).Str("message", fmt.Sprintf("%T", msg)).
		Str("panic", fmt.Sprint(r)).Bytes("stack", debug.Stack()).Msg("actor panicked")
	if !first || g.stopped {
		return
	}
	g.self.mailbox.close()
	g.self.crash = fmt.Sprint(r)
	if g.parent == nil && g.stage.onRootCrash != nil {
		g.stage.onRootCrash(g.self.crash)
	}
	g.library.Stop(g.library.Self())
}

func (g *guard) stopTimers() {
	for len(g.timers) > 0 {
		g.timers[0].Stop()
	}
}

// Self returns the actor's own Ref.
func (c *Context) Self() *Ref { return c.guard.self }

// Now returns the wall clock.
func (c *Context) Now() time.Time { return c.guard.stage.Now() }

// Log returns a logger that names the actor.
func (c *Context) Log() *zerolog.Logger { return &c.guard.stage.log }

// Counters returns what the host counts.
func (c *Context) Counters() *counters.Set { return c.guard.stage.count }

// Stage returns the stage, for making Refs.
func (c *Context) Stage() *Stage { return c.guard.stage }

// Spawn starts a child behind ref. Messages sent to ref before are delivered
// after Started. Every child is reported by Exited in the end.
func (c *Context) Spawn(ref *Ref, a Actor) {
	g := c.guard
	props := g.stage.props(ref, a, g.self)
	pid, err := g.library.SpawnNamed(props, ref.name)
	if err != nil {
		panic(fmt.Sprintf("stage: spawn %s: %v", ref.name, err)) // names are unique: a bug
	}
	ref.pid.Store(pid)
	if g.children == nil {
		g.children = make(map[string]*Ref)
	}
	g.children[pid.Id] = ref
}

// Children returns the number of children that have not exited.
func (c *Context) Children() int { return len(c.guard.children) }

// StopSelf ends the actor after the message in hand.
func (c *Context) StopSelf() {
	c.guard.self.mailbox.close()
	c.guard.library.Stop(c.guard.library.Self())
}

// Dirty has f flushed at the end of the batch, once per call. The caller keeps
// from calling it twice for the same output.
func (c *Context) Dirty(f Flusher) {
	if w := c.guard.self.mailbox.worker; w != nil {
		w.markDirty(f)
		return
	}
	f.Flush()
}
