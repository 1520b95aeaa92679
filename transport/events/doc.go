// Package events delivers events to webhooks, to files, and to the readers of the stream at GET /events (service-api.md 5).
//
// Before an event gets here, it is durable in an Outbox, together with the state change that it reports. A Dispatcher gives it to every
// sink that subscribes to its kind, and removes it from the outbox when all of them have it. The outbox is told within a second which
// sinks have it, and the next start delivers it to the others: at least once, with the same id every time.
//
// Each sink has a bounded queue of its own, so a slow sink does not delay the others. When it is full, further events stay in the outbox
// until there is room again. Events of one placement, or of one game session, are delivered one after the other; others concurrently.
package events
