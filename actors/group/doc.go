// Package group keeps the members of one group of players. Only the Actor changes them. It publishes each change as an immutable
// Snapshot, by which the game session fans out messages, and sends GROUP_MEMBERSHIP_UPDATE to the members (realtime.md 11).
//
// After a crash it is restarted with the members that the players know. It neither calls the script nor relays messages.
package group
