// Package stage is the actor runtime of the host. From protoactor-go it uses only the interface between a
// mailbox and its invoker, and the messages that begin and end an actor's life. It consists of:
//
//   - Mailbox: three kinds of messages behind one lock that is held only briefly.
//     Control messages are never refused, and are delivered first. Data messages are
//     limited in number and bytes; excess ones are refused with ErrFull. Ordered
//     messages are delivered in order with the data, but are never refused. A message
//     to a stopped actor becomes a dead letter (DeadLetter).
//   - Shard: runs the mailboxes pinned to it, one at a time, and flushes their
//     dirty output once per batch. A worker goroutine runs them. If the shard is
//     free, the reader goroutine that posted a message runs them instead, which saves
//     a goroutine switch per message. If user code blocks a worker, another worker
//     takes the shard over, or the blocked actor hands it over itself (Ref.HandOver).
//   - Guard: maintains the tree of actors, and stops the children of an actor before
//     the actor itself. A panic also leads to an orderly stop. The parent receives
//     Exited once everything is released. A parent that wants a replacement spawns
//     one with a new Ref.
//   - Request: a message that asks for an answer. Await waits for the answer outside
//     of actors.
//   - Timers that stop with their owner, a clock, and unique names.
//
// A Ref is the address of an actor; it can be used before the actor exists. Only methods of the actor access
// its fields, so they need no mutex.
//
// Each parent decides on restarts. The package knows nothing about games, players or networks. No other
// package imports the protoactor-go library (a test checks this).
package stage
