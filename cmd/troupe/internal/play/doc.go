// Package play implements `troupe client`: it finds or creates a game session, reserves
// seats, logs in, and then either chats from the terminal (Chat) or lets bots play and
// counts their messages (Bots). It uses a host only from outside: the service API through
// the AWS SDK, the game through transport/client.
package play
