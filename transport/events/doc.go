// Package events delivers events to webhooks, to files, and to the readers of the
// stream at GET /events (service-api.md 5).
//
// Before an event gets here, it is durable in an Outbox, together with the state
// change that it reports. A Dispatcher gives it to every sink that subscribes to
// its kind, and removes it from the outbox when all of them have it. Events that are
// still undelivered when the host ends are delivered after its next start, to the sinks that do
// not have them: the outbox is told which do, within a second. Delivery is
// therefore at least once, with the same id every time.
//
// Each sink has a queue of its own, so a slow sink does not delay the others. The
// queue is bounded. When it is full, further events stay in the outbox, and the
// Dispatcher reads them from there when there is room again. Events of one placement,
// or of one game session, are delivered one after the other; others are delivered
// concurrently.
//
// The package imports no actors. The owner of a Dispatcher calls Post, which never
// blocks.
package events
