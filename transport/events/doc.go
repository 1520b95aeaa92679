// Package events tells the world outside what happened (service-api.md 5): to webhooks,
// to files, and to whoever reads the stream at GET /events.
//
// An event is durable before it gets here, in an Outbox, together with the state that it
// tells of. A Dispatcher gives it to every sink that wants it, and takes it out of the
// outbox once all of them have it. What they do not have when the host ends is there
// when it starts again: delivery is at least once, with the same id every time.
//
// A sink has a queue of its own, so a slow one holds up nobody. The queue is bounded:
// what comes when it is full stays in the outbox, and is read from there when there is
// room again. Events of one placement, or one game session, are delivered one after the
// other; those of others go beside them.
//
// The package knows no actors: whoever has a Dispatcher calls Post, which never blocks.
package events
