// Package matchmaker owns matchmaking rule sets, configurations and tickets (flexmatch.md 13 to 18). Package
// match forms the matches.
//
// There are three kinds of actors. A rebuild.Supervisor replaces a crashed Manager by a new one that is
// rebuilt from the store. The Manager owns all records and decides on every change of a ticket. Each
// configuration has a matcher, which owns the pool of waiting tickets. The Manager owns the tickets, because
// a ticket may supersede one of another configuration. The statuses of a ticket are:
//
//	QUEUED -> SEARCHING -> [REQUIRES_ACCEPTANCE] -> [PLACING] -> COMPLETED
//	              ^                 |                   |
//	              +-----------------+-------------------+        FAILED, CANCELLED, TIMED_OUT
//
// A ticket passes these steps, from the request to its end:
//
//	StartMatchmaking (HTTP)    transport/serviceapi
//	  -> Manager.onStart       commits the record QUEUED; then the HTTP request is answered
//	  -> matcher               the next pass adds the ticket to the pool
//	  -> Manager.onTicketsPooled
//	                           commits the record SEARCHING and its event
//	  -> match.Pass            runs in slices; the matches of each slice go to the Manager
//	  -> Manager.propose       commits match and tickets with the event PotentialMatchCreated
//	  -> Manager.onAccept      repeated until all players have accepted
//	  -> Placer.Place          the placement has the ID of the match
//	  -> Manager.completing    commits the tickets COMPLETED and the event, in one transaction
//
// Every transition is one transaction of the ledger, including its events. It becomes visible once it is
// durable. A transaction that changes several tickets has the match as its key and lists the tickets in Uses,
// so that the changes of each ticket run one after the other.
//
// After a crash or a restart, waiting tickets keep their age, and a match keeps its deadline for acceptance.
// For a match in PLACING, the Manager calls Placer.Place again, which is idempotent. If the game session has
// ended, the tickets return to the pool.
package matchmaker
