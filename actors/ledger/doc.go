// Package ledger makes the durable changes of an actor.
//
// A Transaction names the record that it changes (Key), decides what to store, and is
// applied to the actor's state only when that is durable:
//
//	Do -> (wait) -> Decide -> Store.Commit -> Apply, events are published, Reply
//	                      \-> Reply with Decide's error
//	                                      \-> Refused, Reply with an error
//
// The contract:
//
//   - No change is visible before it is durable, so none is ever undone. A transaction that
//     the store refuses has changed nothing; Refused only releases what Decide reserved for
//     it, such as a server process that has been started for a game session.
//   - Transactions of one key run one after the other, in the order of Do. Decide runs
//     when all earlier ones of the key are applied or refused, so it sees their results.
//     Transactions of different keys go to the store at once, and share its group commits.
//   - A transaction that reads another record, which must not change meanwhile, names it in
//     Uses. Many may use a record at a time; none does while it is changed.
//   - An event is stored in the same commit as the change that it reports, and is published
//     after the change is applied. A refused change has no event.
//   - Consequences (messages to other actors, loads of scripts, ends of game sessions)
//     belong into Apply.
//   - At most WaitingMax transactions of a key wait; more are refused with Conflict. A Claim
//     counts the records that a transaction in flight adds to a bounded collection.
//
// A Note records what has already happened, such as a player who has left, and cannot be refused. It is stored
// in the order of its key, with its events; if the store refuses, it is retried with the record as it is by
// then. A transaction commits the notes before it with its own changes: it neither overtakes them nor waits
// for their next attempt. Of a key's events that wait, the oldest beyond EventsMax are dropped and counted.
//
// A Ledger has no goroutine and no lock. It belongs to one actor, which creates it, calls it, and passes it every Answer
// and Due. If the actor has stopped before an Answer, durable events are published all the same, and Reply says that the
// host is shutting down, unless the transaction Survives. After a crash, its successor starts from the durable records.
//
// A Retention counts the records of one kind, and forgets ended ones that are too old or too many.
package ledger
