// Package ledger makes the durable changes of an actor.
//
// A Transaction names the record that it changes (Key), decides what to store, and is
// applied to the actor's state only when that is durable:
//
//	Do -> (wait) -> Decide -> Store.Commit -> Apply, events leave, Reply
//	                      \-> Reply with Decide's error
//	                                      \-> Refused, Reply with an error
//
// The contract:
//
//   - Nothing is shown before it is durable, and so nothing is ever undone. What the store
//     refuses has changed nothing; Refused only gives back what Decide reserved for it,
//     such as a process that has been started and that nobody has been told of.
//   - Transactions of one key go one after the other, in the order of Do. Decide runs
//     when all earlier ones of the key are applied or refused, so it sees both what is
//     current and what was queued. Transactions of different keys go to the store at once,
//     and share its group commits.
//   - A transaction that only needs another record to stay as it is names that in Uses. Many
//     may use a record at a time; none does while it is changed.
//   - An event is stored in the same commit as the change that it tells of, and leaves after
//     the change is applied. A refused change has no event.
//   - Consequences (messages to other actors, loads of scripts, ends of game sessions)
//     belong into Apply.
//   - At most Most transactions of a key wait; more are refused with Conflict. Claims bound
//     what transactions in flight add to a bounded collection.
//
// A Note records something that has already happened, such as a player who has left, and
// cannot be refused. It is stored in the order of its key, together with its events. If the
// store refuses it, it is retried with the record of that time. A transaction commits the
// notes before it together with its own changes, so that it neither overtakes them nor waits
// for their next attempt. At most EventsMax events of a key wait; beyond that the oldest are
// dropped and counted.
//
// A Ledger has no goroutine and no lock. It belongs to one actor, which creates it, calls
// its methods, and hands it every Answer and Due that it gets as a message. If the actor
// has stopped before an Answer, its events leave all the same if they are durable, and
// Reply says that the host is shutting down. If it dies, what is durable is what its successor reads.
package ledger
