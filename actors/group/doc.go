// Package group manages the members of one group of players. Only the Actor changes them. It publishes each change as
// an immutable Snapshot, which the game session uses to fan out messages. It also sends GROUP_MEMBERSHIP_UPDATE to the
// members (realtime.md 11).
//
// After a crash the actor is restarted with the members that list the group in their player.Handle. The package does
// not call the script and does not relay messages.
package group
