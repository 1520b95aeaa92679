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
// Options.Transport chooses the transport. Client.Transport reports the one in use:
//
//	WS    WebSocket over TCP, in plain text
//	WSS   WebSocket over TLS; Options.TLS holds roots and server name
//	KCP   KCP inside DTLS over UDP, which recovers faster from loss; port 33402,
//	      with the same roots and server name
//	Auto  KCP, or WSS where KCP does not get through within Options.AutoTimeout
//
// With Auto, any answer of the host is final: a login that was refused over KCP is not
// tried over WSS. An attempt over KCP that takes too long is dropped before WSS is
// tried. If the host had accepted the first login by then, the second one takes the
// player over, or is refused if the host allows no takeover.
//
// Importing this package stops kcp-go's own scheduler (kcp.SystemTimedSched). A program
// that imports it cannot use sessions of kcp-go.
//
// # Delivery
//
// A message goes to a player, to a group, or to the game's own code (Server), and
// its Intent is Reliable or Fast. Reliable messages use the reliable channel of the
// transport. Fast messages use the fast channel if Options.Fast is set, the channel is
// up, and the payload is at most FastPayloadMax; otherwise they use the reliable
// channel. On the fast channel, messages may be lost, and late ones are dropped.
//
// The fast channel depends on the transport:
//
//	WS    plain UDP; the handshake of the official clients runs in the background
//	WSS   DTLS, which trusts only the anchors of the login's answer; the handshake
//	      also runs in the background
//	KCP   datagrams beside KCP, ready after Dial
//
// EventFastUp reports that the fast channel is up. EventFastDown reports that there is
// none, or none any more, and FastErr says why; the connection goes on without it.
//
// The client detects a dead path, for example after a NAT has changed its port or
// address. A Troupe host follows the client to its new address where it can, and then the
// program sees no event. Otherwise the channel goes down within 3.5 s (DTLS: 3 s), both
// sides use the reliable channel, and the client tries another handshake.
//
// # Reconnection
//
// A Client outlives its connections. A connection is lost when the network is gone,
// when the host is silent, or when the host closes it and wants the player back. The
// Client then logs in again with the same player session. It keeps its peer id and
// groups, and both sides get exactly the reliable messages they missed, in order. The
// program sees EventDetached, EventReconnected and then the messages. If the host
// could not keep all of them, it sees EventGap before the rest.
//
// Resuming takes one round trip after the transport's own. Reliable packets are numbered
// for this, and kept in a bounded buffer until they are acknowledged. While the
// connection is lost, reliable messages go into this buffer until it is full
// (ErrBufferFull). Fast messages are dropped.
//
// Options.Reconnect says when attempts are made. The host can ask the client to try
// later. A refusal, a close code that forbids coming back (a kick, a takeover by
// another device), and the end of the host's window end the Client.
//
// Attempts use Options.Transport; with Auto they begin with the transport that worked
// last. Move changes the transport without losing messages. NetworkChanged is for
// programs that the operating system tells about a new network.
//
// Some hosts do not number messages: a host without a window, or another
// implementation. The client logs in to them with the player session id, and with the
// token if they gave one. Messages that were under way when the connection broke may
// then be lost, and messages that the host sends again may arrive twice.
//
// # Events and back-pressure
//
// Events is a channel with a buffer of Options.EventsMax. When the buffer is full, the
// client stops reading the reliable channel until the program takes an event; it
// drops no reliable message. To the host, such a client is slow. The host closes slow
// connections, and the client does not reconnect before the buffer has room.
//
// Acknowledgements are not read then either, so a Send that waits for room waits until events
// are taken. A goroutine that does both must give Send a context with a deadline.
//
// Messages of the fast channel are dropped when the buffer is full, and counted in
// ChannelStats.Dropped. Events of one channel come in order, across connections. There
// is no order between the two channels.
//
// # Ending
//
// Close leaves the game session. Abort drops the connection, as a crash or a dead
// network would, and the host holds the seat for a while. A Client also ends when the
// host ends it, or when a lost connection cannot be resumed. In all cases Events is
// closed, and End says why: the host's close code and reason, or an error.
//
// A host that is silent for Options.SilenceMax counts as gone. KCP asks a silent host
// for a sign of life, and gives up after Options.StallMax.
//
// The context given to a method bounds that call only. All goroutines have ended when
// Close or Abort returns, or, if the Client ends by itself, when Done is closed.
package client
