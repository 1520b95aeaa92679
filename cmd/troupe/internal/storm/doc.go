// Package storm measures how players come back: one at a time while the others
// play, and all at once. It plays with the Go client SDK on a host of its own, in
// a process of its own, or on one that is running.
//
// Every player sends numbered messages to its room. Each receiver checks, for
// each sender, that the numbers rise by one: a step of more is lost messages, a
// number that came before is a duplicate. A connection is cut by a TCP reset (or,
// with KCP, without a word) and the player comes back by the SDK's own means, so
// the times are what a player sees: from the cut to the answer to its login. The
// cut is known to the player, as when its network changes: how a silent loss is
// found, and how clients spread their attempts, is not in it.
//
// The package owns the host it starts and the players; it knows no part of a
// host but its API and its transports.
package storm
