// Package group manages the membership of one group of players of a game session. Only the
// Actor changes the membership. It publishes every change as an immutable Snapshot, which the
// game session uses to fan out messages, and sends GROUP_MEMBERSHIP_UPDATE to the members
// (realtime.md 11).
//
// After a crash the game session restarts the group with the members that its players know.
// The package does not call the script and does not relay messages.
package group
