// Package matchmaker owns matchmaking rule sets, configurations and tickets (flexmatch.md 13 to 18). Package match forms the matches.
//
// There are three kinds of actors. A rebuild.Supervisor replaces a crashed Manager by one that is rebuilt from the store. The Manager
// owns all records and decides every change of a ticket. Each configuration has a matcher, which owns the pool of waiting tickets.
// Tickets belong to the Manager because a ticket may supersede one of another configuration.
//
//	QUEUED -> SEARCHING -> [REQUIRES_ACCEPTANCE] -> [PLACING] -> COMPLETED
//	              ^                 |                   |
//	              +-----------------+-------------------+        FAILED, CANCELLED, TIMED_OUT
//
// A ticket, from the request to its end:
//
//	StartMatchmaking (HTTP)    transport/serviceapi
//	  -> Manager.onStart       record QUEUED durable: the HTTP answer
//	  -> matcher               the next pass takes it into the pool
//	  -> Manager.onTicketsPooled
//	                           record SEARCHING and its event
//	  -> match.Pass            in slices; the matches of each slice go to the Manager
//	  -> Manager.propose       match and tickets durable, event PotentialMatchCreated
//	  -> Manager.onAccept      until all players have accepted
//	  -> Placer.Place          the placement has the id of the match
//	  -> Manager.completing    tickets COMPLETED and the event, one transaction
//
// Every transition is one transaction of the ledger, with its events, and is visible once it is durable. A transaction that
// changes several tickets has the match as its key and names the tickets in Uses, so that the changes of each ticket run one
// after the other.
//
// After a crash or a restart, waiting tickets keep their age, and a match keeps its deadline for acceptance. For a match in PLACING
// the Manager calls Placer.Place again, which is idempotent. If the game session has ended, the tickets return to the pool.
package matchmaker
