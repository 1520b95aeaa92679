// Package stage is the actor runtime of the host. Of protoactor-go it uses the contract between a mailbox and
// what it invokes, and the messages that begin and end an actor's life; the rest is its own:
//
//   - Mailbox: three kinds of messages behind one short lock. Control messages are
//     never refused and delivered first. Data messages are bounded in number and
//     bytes; more are refused with ErrFull. Ordered messages are delivered in order
//     with the data, but never refused. A message to a stopped actor becomes a dead
//     letter (DeadLetter).
//   - Shard: runs the mailboxes pinned to it, one at a time, and flushes their
//     dirty output once per batch. A worker goroutine runs them, or, if the shard
//     is free, the reader that posted a message: that saves a goroutine switch per
//     message. If user code blocks a worker, another worker takes the shard over, or
//     the blocked actor hands it over itself (Ref.HandOver).
//   - Guard: keeps the tree of actors, and stops the children of an actor before the actor
//     itself. A panic ends the actor in order. Its parent receives Exited once
//     everything is released. A parent that wants a replacement spawns one under a fresh Ref.
//   - Request: a message that asks for an answer. Await waits for the answer outside actors.
//   - Timers that die with their owner, a clock, and unique names.
//
// A Ref is an actor's address, before the actor exists. Only Receive touches an actor's fields: no mutex.
//
// Each parent decides on restarts. The package knows no games, players or networks; only it imports the library (a test checks that).
package stage
