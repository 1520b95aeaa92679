// Package events delivers events to webhooks, to files, and to the readers of the stream at GET /events
// (service-api.md 5).
//
// Before an event reaches this package, it is durable in an Outbox, in one commit with the state change that
// it reports. A Dispatcher sends it to every sink that subscribes to its kind, and deletes it from the outbox
// when all of them have received it. Within a second, the outbox also records which sinks have received an
// event. After a restart, only the other sinks get it. So each sink receives an event at least once, always
// with the same id.
//
// Each sink has its own bounded queue, so a slow sink does not delay the others. While a queue is full,
// further events stay in the outbox. Events of one placement or of one game session are delivered in
// sequence, and all others concurrently.
package events
