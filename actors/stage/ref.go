package stage

import (
	"strconv"
	"sync/atomic"

	"troupe/messages/counters"
)

// Ref is the address of one actor. It is created before the actor is spawned and stays valid forever:
// messages to a stopped actor become dead letters. Its methods are safe for concurrent use, and only
// AwaitRoom blocks.
type Ref struct {
	mailbox
	number  uint64
	kind    counters.ActorKind
	spawned atomic.Bool
	// written before the actor stops, or by Abandon; read by the parent after that; nil after an orderly stop
	crash *string
}

// Name returns a name that is unique within the process. A replacement of the actor has a new Ref and so a
// new name.
func (r *Ref) Name() string { return r.kind.String() + "-" + strconv.FormatUint(r.number, 36) }

func (r *Ref) stage() *Stage { return r.mailbox.shard.stage }

// crashed returns the text of the actor's panic, or "" after an orderly stop.
func (r *Ref) crashed() string {
	if r.crash == nil {
		return ""
	}
	return *r.crash
}

// Post sends a data message of size bytes. The error is ErrFull or ErrStopped; in both cases the caller keeps
// ownership of the message.
func (r *Ref) Post(msg any, size int) error { return r.post(msg, size, false) }

// PostRun is Post for goroutines such as readers of connections. If the shard is free, PostRun runs the actor
// and its flushes before it returns. It must not be called by actors, or while holding a lock that an actor
// or a Flusher may need.
func (r *Ref) PostRun(msg any, size int) error { return r.post(msg, size, true) }

func (r *Ref) post(msg any, size int, inline bool) error {
	err := r.mailbox.postData(msg, size, inline)
	if err == ErrFull {
		r.stage().count.MailboxOverflow.Add(1)
	}
	return err
}

// Abandon ends an actor whose call never returns, such as an endless loop in a script. The actor ends as
// after a panic with this reason. The caller guarantees that the goroutine of the call blocks forever if the
// call does return, and that the writes of the call happen before Abandon. Abandon returns false if the actor
// is not in a call.
func (r *Ref) Abandon(reason string) bool {
	return r.mailbox.abandon(func() { r.crash = &reason })
}
