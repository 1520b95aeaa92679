package stage

import (
	"strconv"
	"sync/atomic"

	"troupe/messages/counters"
)

// Ref is one actor's address, made before its spawn and valid for ever: a stopped actor's messages
// become dead letters. Methods may be called from any goroutine, and only AwaitRoom blocks.
type Ref struct {
	mailbox
	number  uint64
	kind    counters.ActorKind
	spawned atomic.Bool
	// written before the actor stops, or by Abandon; read by its parent afterwards; nil after an orderly stop
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

// Post sends a data message of size bytes. The error is ErrFull or ErrStopped; the message stays the caller's then.
func (r *Ref) Post(msg any, size int) error { return r.post(msg, size, false) }

// PostRun is Post for goroutines such as connections' readers: if the shard is free, it runs the
// actor and its flushes first. Not for actors, nor under a lock that an actor or a Flusher may need.
func (r *Ref) PostRun(msg any, size int) error { return r.post(msg, size, true) }

func (r *Ref) post(msg any, size int, inline bool) error {
	err := r.mailbox.postData(msg, size, inline)
	if err == ErrFull {
		r.stage().count.MailboxOverflow.Add(1)
	}
	return err
}

// Abandon ends an actor whose call never returns, such as an endless script, as after a panic with this reason. The caller guarantees
// that its goroutine blocks forever if the call does return, and that its writes happen before. It is false if the actor is in no call.
func (r *Ref) Abandon(reason string) bool {
	return r.mailbox.abandon(func() { r.crash = &reason })
}
