package stage

import (
	"strconv"
	"sync/atomic"
	"time"

	"troupe/messages/counters"
)

// Ref is the address of one actor. It is made before the actor is spawned and stays valid for
// ever: messages to a stopped actor become dead letters. All methods may be called from any
// goroutine, and none but AwaitRoom blocks.
type Ref struct {
	number  uint64
	mailbox mailbox
	kind    counters.ActorKind
	spawned atomic.Bool
	// written by the actor before it stops, or by Abandon; read by its parent afterwards; nil
	// after an orderly stop
	crash *string
}

// Name is unique within the process; a replacement gets a new one.
func (r *Ref) Name() string { return r.kind.String() + "-" + strconv.FormatUint(r.number, 36) }

func (r *Ref) stage() *Stage { return r.mailbox.shard.stage }

// crashed returns why the actor crashed, empty after an orderly stop.
func (r *Ref) crashed() string {
	if r.crash == nil {
		return ""
	}
	return *r.crash
}

// Tell sends a control message. It is delivered before all data and never refused because the
// mailbox is full. It reports false if the actor has stopped; then msg has become a dead
// letter.
func (r *Ref) Tell(msg any) bool { return r.mailbox.postControl(msg) }

// TellInOrder sends a message behind the waiting data, and is never refused because the
// mailbox is full. Use it for events that must not overtake data and whose number is bounded
// otherwise. It returns the same as Tell.
func (r *Ref) TellInOrder(msg any) bool { return r.mailbox.postOrdered(msg) }

// Post sends a data message that counts size bytes. The error is ErrFull or
// ErrStopped; the message then stays the caller's.
func (r *Ref) Post(msg any, size int) error { return r.post(msg, size, false) }

// PostRun is Post for goroutines that may run actors, such as the readers of connections: if
// the shard is free, it runs the actor and its flushes before it returns. Never call it from
// inside an actor, or while holding a lock that an actor or a Flusher may need.
func (r *Ref) PostRun(msg any, size int) error { return r.post(msg, size, true) }

func (r *Ref) post(msg any, size int, inline bool) error {
	err := r.mailbox.postData(msg, size, inline)
	if err == ErrFull {
		r.stage().count.MailboxOverflow.Add(1)
	}
	return err
}

// AwaitRoom blocks until the data lane is at most half full, the actor stops, or
// d is over. For reader goroutines, never for actors.
func (r *Ref) AwaitRoom(d time.Duration) { r.mailbox.awaitRoom(d) }

// Depth returns the number of waiting messages, except for the few that the worker has taken.
func (r *Ref) Depth() int { return r.mailbox.depth() }

// Stop ends the actor after the current message; the messages that wait become dead letters.
// If the Ref has no actor yet, all messages become dead letters, and an actor that is spawned
// behind it later stops once it has started.
func (r *Ref) Stop() { r.mailbox.stop() }

// Abandon ends an actor whose current call will never return, such as a script that cannot be
// interrupted. The rest is as after a panic with this reason. The caller guarantees that the
// abandoned goroutine blocks forever if the call does return, and that its earlier writes
// happen before Abandon. Abandon reports false if the actor is in no call.
func (r *Ref) Abandon(reason string) bool {
	return r.mailbox.abandon(func() { r.crash = &reason })
}

// HandOver gives the actor's shard to another worker while the actor's current call takes
// long. The actor calls it; without it, the stage detects the delay later.
func (r *Ref) HandOver() { r.mailbox.handOver() }
