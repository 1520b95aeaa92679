// Package stage is what every actor stands on. It wraps protoactor-go so that
// only the parts that hold up are used, and adds what the library lacks:
//
//   - Mailbox: three lanes behind one short lock. Control is never refused and
//     goes first; data is bounded in messages and bytes and refuses with ErrFull;
//     ordered messages keep their place among the data but are never refused.
//     A message to a stopped actor becomes a dead letter (DeadLetter) and does not
//     vanish.
//   - Shard: runs the mailboxes pinned to it, one at a time, and flushes what
//     they made dirty once per batch. A long-lived worker does, or the reader
//     whose message found nobody at it: that saves a goroutine switch per
//     message. One that user code holds up loses the shard to another, so that
//     other actors go on, or hands it over itself (Ref.HandOver).
//   - Guard: a panic ends the actor in order, and its parent learns of it by
//     Exited, once everything is released. The library never sees a panic and
//     never restarts anything; a parent that wants a replacement spawns one
//     under a fresh Ref.
//   - Request: the one way in which an actor is asked for an answer. Await waits for it
//     outside actors, instead of the library's futures.
//   - Timers that die with their owner, a clock, and unique names.
//
// A Ref is how others reach an actor; it exists before the actor does. The
// actor's own fields belong to its Receive alone: no mutex inside an actor.
//
// The package does not decide who restarts what (each parent does) and knows
// nothing of games, players or networks. Other packages must not import the
// library directly; a test watches that.
package stage
