// Package group keeps one group of players of one game session. The Actor owns
// the membership and is the only one that changes it; it publishes every change
// as an immutable Snapshot, over which the game session fans messages out in its
// own turn. Members get GROUP_MEMBERSHIP_UPDATE from here (realtime.md 11).
//
// A group restarts after a crash with members that the game session reads from
// its players. It does not ask the game's gates and does not relay messages.
package group
