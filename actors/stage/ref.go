package stage

import (
	"strconv"
	"sync/atomic"

	"troupe/messages/counters"
)

// Ref is the address of one actor. It is made before the actor is spawned and stays valid for
// ever: messages to a stopped actor become dead letters. All methods may be called from any
// goroutine, and none but AwaitRoom blocks.
type Ref struct {
	mailbox
	number  uint64
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

// Abandon ends an actor whose current call will never return, such as a script that cannot be
// interrupted. The rest is as after a panic with this reason. The caller guarantees that the
// abandoned goroutine blocks forever if the call does return, and that its earlier writes
// happen before Abandon. Abandon reports false if the actor is in no call.
func (r *Ref) Abandon(reason string) bool {
	return r.mailbox.abandon(func() { r.crash = &reason })
}
