// Package client is the SDK for players written in Go. A program logs in to a game
// session with a player session id, sends and receives messages, and joins and leaves
// groups.
//
//	c, err := client.Dial(ctx, client.Options{Addr: "127.0.0.1:1900", PlayerSessionID: id})
//	if err != nil {
//		return err // errors.Is(err, client.ErrRefused): the host refused the login
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
// tried. The host may have accepted that first login already. Then the second login
// takes over the player, or is refused if the host allows no takeover.
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
//	KCP   datagrams in the association of KCP, ready after Dial
//
// EventFastUp reports that the fast channel is up. EventFastDown reports that it could
// not be set up or that it is down; FastErr returns the reason. The connection continues
// without the fast channel.
//
// The client detects a dead path, for example after a NAT has changed its port or
// address. If possible, a Troupe host follows the client to its new address, and the
// program sees no event. Otherwise the channel goes down within 3.5 s (DTLS: 3 s), both
// sides use the reliable channel, and the client starts another handshake.
//
// # Reconnection
//
// A Client reconnects by itself. A connection is lost when the network is gone, when the
// host is silent, or when the host closes it and wants the player back. The Client then
// logs in again with the same player session. It keeps its peer id and groups, and both
// sides get exactly the reliable messages they missed, in order. The program sees
// EventDetached, EventReconnected and then the messages. If the host could not keep all
// of the missed messages, the program sees EventGap before the remaining ones.
//
// Resuming takes one round trip in addition to the transport's own. For this, reliable
// packets are numbered, and kept in a bounded buffer until they are acknowledged. While
// the connection is lost, reliable messages go into this buffer until it is full
// (ErrBufferFull). Fast messages are dropped.
//
// Options.Reconnect says when attempts are made. The host can ask the client to try
// later. The Client ends after a refusal, after a close code that forbids coming back (a
// kick, a takeover by another device), and at the end of the host's reconnect window.
//
// If the host is one of a cluster, the Client goes to the host that runs the game session,
// whichever one it has reached. When it has failed twice to reach its host, it asks the
// others. If these say that the game session is over, the Client ends with ErrGameOver.
//
// Attempts use Options.Transport. With Auto, the transport that worked last is tried
// first. Move changes the transport without losing messages. NetworkChanged is for
// programs that the operating system notifies of a new network.
//
// Some hosts do not number messages, because they have no reconnect window or are another
// implementation. The client logs in to them with the player session id, and with the
// token if they gave one. Messages that were in flight when the connection broke may
// then be lost, and messages that the host sends again may arrive twice.
//
// # Events and back-pressure
//
// Events is a channel with a buffer of Options.EventsMax. When the buffer is full, the
// client stops reading the reliable channel until the program takes an event. It drops
// no reliable message. The host sees such a client as slow and closes its connection.
// The client does not reconnect before the buffer has room.
//
// While the buffer is full, acknowledgements are not read either. So a Send that waits for room waits until events are
// taken. A goroutine that both sends and takes events must give Send a context with a deadline.
//
// Messages of the fast channel are dropped when the buffer is full, and counted in
// ChannelStats.Dropped. Events of one channel come in order, across connections. There
// is no order between the two channels.
//
// # Ending
//
// Close leaves the game session. Abort drops the connection, as a crash or a dead
// network would, and the host reserves the seat for a while. A Client also ends when the
// host ends it, or when a lost connection cannot be resumed. In all cases Events is
// closed, and End returns the host's close code and reason, or an error.
//
// A host that is silent for Options.SilenceMax counts as gone. Over KCP the client also
// pings a silent host, and drops the connection after Options.StallMax without an answer.
//
// The context given to a method limits that call only. When Close or Abort returns, all
// goroutines have ended. If the Client ends by itself, they have ended when Done is closed.
package client
