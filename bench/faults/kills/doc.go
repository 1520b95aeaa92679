// Package kills ends the troupe host by SIGKILL at every failpoint of its store, and at random times, while callers create
// game sessions, player sessions, placements, matchmaking tickets, queues and aliases; starts it again on the same store; and looks for
// what was answered before. Nothing may be lost, each placement must end once, with one event, and each ticket must be matched once,
// with one seat for each of its players, also where matches are accepted first, and where backfill fills game sessions, by request and
// automatically. Each backfill ticket must end once.
package kills
