// Package ledger makes the changes of an actor durable.
//
// A Transaction names the record that it changes (Key) and decides what to store. It is applied to the actor's state
// only when the stored changes are durable:
//
//	Do -> (wait) -> Decide -> Store.Commit -> Apply, events are published, Reply
//	                      \-> Reply with Decide's error
//	                                      \-> Refused, Reply with an error
//
// The contract:
//
//   - No change is visible before it is durable, so no change ever has to be undone. If the store refuses a
//     transaction, nothing has changed. Refused then only releases what Decide has reserved, such as a server process
//     that was started for a game session.
//   - Transactions of the same key run one after the other, in the order of Do. Decide is called when all earlier
//     transactions of the key have been applied or refused, so it sees their results. Transactions of different keys
//     are sent to the store concurrently and share its group commits.
//   - If a transaction reads another record, which must not change in the meantime, it names that record in Uses. Many
//     transactions may use a record at the same time, but none may use it while it is being changed.
//   - An event is stored in the same commit as the change that it reports. It is published after the change has been
//     applied. A refused change has no event.
//   - Consequences of a change belong in Apply. Examples are messages to other actors, loads of scripts and ends of
//     game sessions.
//   - At most WaitingMax transactions of a key may wait. Further ones are refused with Conflict. A Claim counts the
//     records that a pending transaction adds to a bounded collection.
//
// A Note records something that has already happened and cannot be refused, for example that a player has left. Notes
// are stored in the order of their key, together with their events. If the store refuses a note, it is retried later
// with the state that the record has by then. A transaction commits all earlier notes of its key together with its own
// changes. It neither overtakes them nor waits for their next retry. If more than EventsMax events of a key are
// waiting, the oldest are dropped and counted.
//
// A Ledger has no goroutine and no lock. It belongs to one actor, which creates it, calls it, and forwards every Answer
// and Due to it. If the actor stops before an Answer arrives, durable events are still published. Reply then gets an
// error saying that the host is shutting down, unless the transaction Survives. After a crash, the actor's successor
// starts from the durable records.
//
// A Retention counts the records of one kind. It forgets ended records that are too old or too many.
package ledger
