package stage

import (
	"sync/atomic"
	"time"

	"troupe/messages/counters"
)

// Ref is how others reach one actor. It is made before the actor is spawned and
// stays good for ever: what is sent to a stopped actor becomes a dead letter. All
// methods may be called from any goroutine and none blocks, but AwaitRoom.
type Ref struct {
	stage   *Stage
	kind    counters.ActorKind
	name    string
	mailbox Mailbox
	spawned atomic.Bool
	// written by the actor before it stops, or by who abandons it; read by its parent after
	crash string
}

// Kind is the actor's kind.
func (r *Ref) Kind() counters.ActorKind { return r.kind }

// Name is unique within the process; a replacement never gets an old one.
func (r *Ref) Name() string { return r.name }

// Tell sends a control message: before all data, never refused for fullness. It
// reports false if the actor is stopped; then msg was a dead letter (DeadLetter).
func (r *Ref) Tell(msg any) bool { return r.mailbox.postControl(msg) }

// TellInOrder sends a message behind the data that waits, never refused for
// fullness; use it for events that must not overtake data and whose number is
// bounded otherwise. It reports as Tell does.
func (r *Ref) TellInOrder(msg any) bool { return r.mailbox.postOrdered(msg) }

// Post sends a data message that counts size bytes. The error is ErrFull or
// ErrStopped; the message then stays the caller's.
func (r *Ref) Post(msg any, size int) error { return r.post(msg, size, false) }

// PostRun is Post by a goroutine that has time: if nobody is at the actor's
// shard, it runs the actor itself, and what it flushes, before it returns. For
// the readers of connections; never from inside an actor, nor with a lock held
// that an actor or a Flusher may want.
func (r *Ref) PostRun(msg any, size int) error { return r.post(msg, size, true) }

func (r *Ref) post(msg any, size int, here bool) error {
	err := r.mailbox.postData(msg, size, here)
	if err == ErrFull {
		r.stage.count.MailboxOverflow.Add(1)
	}
	return err
}

// AwaitRoom blocks until the data lane is at most half full, the actor stops, or
// d is over. For reader goroutines, never for actors.
func (r *Ref) AwaitRoom(d time.Duration) { r.mailbox.awaitRoom(d) }

// Depth returns the number of messages that wait, not counting the few that
// the worker has in hand.
func (r *Ref) Depth() int { return r.mailbox.depth() }

// Stop ends the actor after the message in hand; what waits becomes dead letters. If
// the Ref has no actor yet, messages become dead letters from now on, and an
// actor spawned behind it stops once it has started.
func (r *Ref) Stop() { r.mailbox.stop() }

// Abandon ends an actor whose call in hand will never return to it, such as code
// of a game that cannot be interrupted: the rest goes on as after a panic with
// that reason. The caller vouches for it that the goroutine of that call parks for
// ever if it ever gets out, and has seen something that it wrote before. It reports
// false if the actor is in no call.
func (r *Ref) Abandon(reason string) bool {
	return r.mailbox.abandon(func() { r.crash = reason })
}

// HandOver lets another worker go on with the shard of an actor whose call in hand
// takes long. To be called by the actor; without it the stage finds out later.
func (r *Ref) HandOver() { r.mailbox.handOver() }
