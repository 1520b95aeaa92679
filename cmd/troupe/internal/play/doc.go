// Package play implements `troupe client`. It finds or creates a game session, reserves seats and logs in. Then it
// either chats from the terminal (Chat) or lets bots play and counts their messages (Bots). It uses only the public
// interfaces of a host: the service API through the AWS SDK, and the game protocol through transport/client.
package play
