// Package play is what `troupe client` does: find or create a game session,
// reserve seats, log in, and then either chat from the terminal (Chat) or let
// bots play and count what arrives (Bots). It knows a host only from outside: the
// service API through the AWS SDK, the game through transport/client.
package play
