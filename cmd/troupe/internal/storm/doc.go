// Package storm measures how players reconnect: one at a time while the others play, and
// all at once. It plays with the Go client SDK, on a running host or on one that it
// starts in a process of its own.
//
// Every player sends numbered messages to its room. Each receiver checks, for each
// sender, that the numbers rise by one: a larger step means lost messages, a lower number
// is a duplicate. A connection is cut by a TCP reset (KCP: silently) and the client SDK
// reconnects, so the times are those that a player sees: from the cut to LOGIN_RESPONSE.
// The client knows of the cut at once, as when its network changes: the time to detect a
// silent loss is not measured, nor how clients spread their attempts.
//
// The package owns the players and the host that it starts; it uses only the API and the
// transports of a host.
package storm
