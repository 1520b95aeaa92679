// Package client is a player's side of the Realtime protocol: log in with a
// player session id, send and receive messages, join and leave groups.
//
//	c, err := client.Dial(ctx, client.Options{Addr: "127.0.0.1:1900", PlayerSessionID: id})
//	...
//	defer c.Close()
//	err = c.Send(ctx, client.Message{OpCode: 1, TargetGroup: client.AllPlayers, Payload: []byte("hi"), Reliable: true})
//	for e := range c.Events() {
//		...
//	}
//
// # Channels
//
// Reliable messages go by WebSocket. With Options.Fast a UDP socket is opened
// beside it and the handshake of the official clients runs in the background:
// until it succeeds, and for payloads above FastPayloadMax, unreliable messages
// go by WebSocket too. Messages of the fast channel may be lost; those that
// arrive late are dropped.
//
// # Events and back-pressure
//
// Events is a channel of Options.EventsMax places. When they are all taken, an
// event that came by WebSocket waits, and with it the reading of the WebSocket:
// nothing reliable is dropped here. A program that stops taking events will
// then be slow in the eyes of the host, which closes such connections. What came
// by the fast channel is dropped instead, and counted in Stats.FastDropped.
//
// # Ending
//
// Close leaves the game session; Abort drops the connection, as a crash or a
// dead network would. Either way, and when the host or the network ends it,
// Events is closed and End tells why. A Client is one connection: whoever wants
// to come back dials again with the same player session id. The contract that
// makes this lossless, TLS and DTLS, and KCP are not here yet.
//
// # Goroutines
//
// A Client has one goroutine, and two more with Options.Fast until the handshake
// is done, then one. None is left when Close or Abort has returned, or, if the
// connection ended by itself, once Done is closed.
//
// The WebSocket side is written here and not taken from the library that the
// host uses for its handshake: that one closes TCP right after its close frame,
// which can turn a leave into a reset, and its dialling leaks a goroutine when
// it times out.
package client
