// Package matchmaker keeps matchmaking rule sets, configurations and tickets, and leads each ticket from StartMatchmaking to its
// end (flexmatch.md 13 to 18). Matches are formed by package match.
//
// Three kinds of actors share the work. A rebuild.Supervisor replaces a Manager that crashes by one that is rebuilt from the store.
// The Manager owns all records; it decides every change of a ticket. For each configuration there is a matcher, which owns the
// pool of waiting tickets. A ticket may be superseded by one of another configuration, so tickets belong to the Manager.
//
//	QUEUED -> SEARCHING -> [REQUIRES_ACCEPTANCE] -> [PLACING] -> COMPLETED
//	              ^                 |                   |
//	              +-----------------+-------------------+        FAILED, CANCELLED, TIMED_OUT
//
//	manager.go         messages, timers
//	rulesets.go        rule sets           configurations.go   configurations
//	tickets.go         start, read         leave.go            stop, supersede, time out
//	matcher.go         passes over a pool, in slices on a goroutine of their own
//	pace.go            rests of a pass, for what else the host has to do
//	match.go           a match is proposed, accepted, dropped
//	place.go           its game session    data.go             matchmaker data
//	backfill.go        players for game sessions that run        games.go   those game sessions
//	outcome.go         what becomes of the tickets of a match, in one transaction
//	events.go          events              keep.go             the store, retention
//
// A ticket, from the request to its end:
//
//	StartMatchmaking (HTTP)    transport/serviceapi
//	  -> Manager.onStart       record QUEUED durable: the HTTP answer
//	  -> matcher               the next pass takes it into the pool
//	  -> Manager.onPass        record SEARCHING and its event
//	  -> match.Pass            in slices; the matches of each slice go to the Manager
//	  -> Manager.propose       match and tickets durable, event PotentialMatchCreated
//	  -> Manager.onAccept      until all players have accepted
//	  -> Placer                the placement has the id of the match
//	  -> Manager.complete      tickets COMPLETED and the event, one transaction
//
// Every transition is one transaction of the ledger, with its events, and is visible once it is durable. A transaction that
// changes several tickets has the match as its key and names the tickets in Uses, so that the changes of each ticket are made
// one after the other.
//
// After a crash or a restart waiting tickets wait on, with their age. A match that waits for players goes on waiting until the
// same time. For a match in PLACING the Manager asks for its placement: if there is none, it starts it; if its game session is
// gone, the tickets return to the pool.
package matchmaker
