// Package client is the SDK for players written in Go: log in to a game session
// with a player session id, send and receive messages, join and leave groups.
//
//	c, err := client.Dial(ctx, client.Options{Addr: "127.0.0.1:1900", PlayerSessionID: id})
//	if err != nil {
//		return err // errors.Is(err, client.ErrRefused): the seat is not ours
//	}
//	defer c.Close()
//	err = c.Send(ctx, client.Message{OpCode: 1, TargetGroup: client.AllPlayers, Payload: []byte("hi")})
//	for e := range c.Events() {
//		...
//	}
//
// Address and player session id come from the service API (CreatePlayerSession),
// normally by way of the game's backend.
//
// # Transports
//
// Options.Transport says what the connection runs over, Client.Transport what it
// does run over:
//
//	WS    WebSocket over TCP, in plain text
//	WSS   WebSocket over TLS; Options.TLS holds roots and server name
//	KCP   KCP inside DTLS over UDP, which recovers faster from loss; port 33402,
//	      with the same roots and server name
//	Auto  KCP, or WSS where KCP does not get through within Options.AutoTimeout
//
// Auto takes any answer of the host as final: a login that was refused over KCP
// is refused. An attempt over KCP that took too long is dropped before WSS is
// tried; if the host had let it in, the second login takes it over, or is refused
// by a host that allows no takeover.
//
// Importing this package stops the scheduler that kcp-go starts for sessions of its
// own (kcp.SystemTimedSched): a program that uses those as well cannot have both.
//
// # Delivery
//
// A message goes to a player, to a group, or to the game's own code (Server), and
// its Intent is Reliable or Fast. Reliable ones go by the reliable channel of the
// transport. Fast ones go by the fast channel, where they may be lost, and are
// dropped if they arrive late; but only with Options.Fast, once it is up, and up
// to FastPayloadMax. Otherwise they go by the reliable channel, too.
//
// The fast channel depends on the transport:
//
//	WS    plain UDP; the handshake of the official clients runs in the background
//	WSS   DTLS, which trusts what the login brought and nothing else; also in the
//	      background
//	KCP   datagrams beside KCP, ready after Dial
//
// EventFastUp tells when it is up. EventFastDown tells that there is none or no
// longer, and FastErr why; the connection goes on without. A way that is dead, after
// a NAT has changed the client's port or address for one, is noticed: the host is
// asked when nothing has come for a second. A Troupe host follows the client where it
// can, so that often nothing is to be told; else the channel is down within 3.5 s
// (DTLS: 3 s), both sides use the reliable channel, and another handshake is tried.
// The first handshake over plain UDP is repeated for as long as it is not answered.
//
// # Reconnection
//
// A Client outlives its connections. When one is lost - the network is gone, the
// host is silent, it closed the connection and wants the player back - the Client
// logs in again with the same player session and goes on: same peer id, same
// groups, and in both directions exactly what was missed, in order. The program
// sees EventDetached, EventReconnected and then the messages, or, if the host
// could not keep all of them, EventGap before the rest.
//
// This takes one round trip behind that of the transport: the login says what was
// received, the answer says what the other side has, and both send the rest at
// once. Reliable packets are numbered for that and kept in a bounded buffer until
// they are acknowledged. While the connection is lost, reliable messages go into
// this buffer, until it is full (ErrBufferFull), and fast ones are dropped.
//
// Options.Reconnect says when attempts are made. The host has a say: it can ask
// the player to come later, and it ends the Client with a refusal or with a close
// code that says never, such as that of a kick, or of another device that took
// over. After its window no attempt is of use. Then Events and Done are closed.
//
// Options.Transport is what attempts go by; Auto begins with what worked last. Move
// changes the transport without losing the connection, and NetworkChanged is for
// programs that the system tells of a new network. A session of DTLS is resumed,
// so that roaming with KCP costs an abbreviated handshake.
//
// Hosts that do not count (a host without a window, or another implementation) are
// logged in to by the player session id, and the token if they gave one. Nothing is
// numbered then: what was on its way when the connection broke may be lost, and
// what the host sends again may come twice.
//
// # Events and back-pressure
//
// Events is a channel of Options.EventsMax places. When they are all taken, an
// event of the reliable channel waits, and with it the reading: nothing reliable
// is dropped here. A program that stops taking events will then be slow in the
// eyes of the host, which closes such connections, and it does not come back
// before there is room. Nor are the host's acknowledgements read: a Send that waits
// for room in the send buffer waits for events to be taken, so one goroutine that
// does both must bound its Send by a context. What came by the fast channel is
// dropped instead, and counted in ChannelStats.Dropped. Events of one channel come
// in order, across connections; between the two there is none.
//
// # Ending
//
// Close leaves the game session; Abort drops the connection, as a crash or a dead
// network would, and the host holds the seat for a while. Either way, and when the
// host ends it, or a lost connection does not come back, Events is closed and End
// tells why: the host's close code and reason, or an error.
//
// A host that is silent for Options.SilenceMax counts as gone; with KCP, which asks a
// silent host for a sign of life, after Options.StallMax already.
//
// # Goroutines and time
//
// A context given to a method bounds that call, and Dial leaves nothing behind
// when it ends. A Client has a goroutine or two beside those of a fast channel, one
// more while there is something to be written, and one while
// the connection is lost. None is left when Close or Abort has returned, or, if
// the Client ended by itself, once Done is closed. Nothing wakes up while nothing
// is to be done, but for the look, about once a second, whether a fast channel or
// KCP still brings anything.
//
// # What is written here
//
// The WebSocket side is, and is not taken from the library that the host uses for
// its handshake: that one closes TCP right after its close frame, which can turn
// a leave into a reset, and its dialling leaks a goroutine when it times out. DTLS
// is transport/dtls, KCP is transport/kcp. This package knows no other part of a
// host, and nothing of the service API.
package client
