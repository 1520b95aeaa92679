package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"strconv"
	"time"
	"unicode/utf8"

	"troupe/messages/wire"
	"troupe/transport/dtls"
)

// Reserved ids and limits of the protocol.
const (
	// Server is the host itself, as a target or a sender.
	Server = wire.ServerPeer
	// AllPlayers is the group of all players of the game session.
	AllPlayers = wire.AllPlayers
	// PayloadMax is the largest payload of a message, in bytes.
	PayloadMax = wire.PayloadMax
	// FastPayloadMax is the largest payload that the fast channel carries, in bytes.
	FastPayloadMax = wire.FastPayloadMax
	// KCPPort is the default port of KCP.
	KCPPort = 33402
)

// Transport names the transport of a connection's reliable channel.
type Transport uint8

// Transports.
const (
	WS   Transport = iota + 1 // WebSocket over TCP; the default
	WSS                       // WebSocket over TLS
	KCP                       // KCP inside DTLS, over UDP
	Auto                      // KCP, or WSS if KCP does not get through
)

var transportNames = [...]string{"", "ws", "wss", "kcp", "auto"}

// String returns the short name, which ParseTransport parses.
func (t Transport) String() string {
	if t > 0 && int(t) < len(transportNames) {
		return transportNames[t]
	}
	return "invalid(" + strconv.Itoa(int(t)) + ")"
}

// ParseTransport parses ws, wss, kcp or auto.
func ParseTransport(name string) (Transport, error) {
	for t := WS; t <= Auto; t++ {
		if t.String() == name {
			return t, nil
		}
	}
	return 0, fmt.Errorf("client: %q is no transport: ws, wss, kcp or auto", name)
}

// dialTimeoutDefault is a little longer than a host waits for a LOGIN.
const dialTimeoutDefault = 15 * time.Second

// Options are the settings of Dial. Addr and PlayerSessionID are required. For any other field, the zero value means the default.
type Options struct {
	// Addr is the host:port of ws or wss, as given in the player session: IP address and
	// port for ws, DNS name and port for wss.
	Addr string
	// WSSAddr is the host:port of wss, for players who may change or fall back to it; default Addr.
	WSSAddr string
	// PlayerSessionID is the id (psess-...) of the player session to log in with.
	PlayerSessionID string
	// Payload is passed to the game's onPlayerConnect; at most PayloadMax bytes.
	Payload []byte

	// Transport is WS, WSS, KCP or Auto; default WS.
	Transport Transport
	// KCPAddr is the host:port of KCP; default the host of Addr and KCPPort.
	KCPAddr string
	// TLS is used for wss, except for its NextProtos. For DTLS (KCP, and the fast channel of wss), ServerName is taken from
	// it; for KCP, RootCAs too. By default, the system's roots and the dialled host name are used. TLS is not changed.
	TLS *tls.Config
	// Sessions caches DTLS sessions, so that a reconnect saves a round trip and a key exchange. Several Dials may share
	// one cache. By default, each Client has its own.
	Sessions *dtls.Sessions

	// DialContext opens TCP connections and UDP sockets. If local is valid, it is the local address of the UDP socket.
	// If DialContext is nil, the operating system's dialer is used.
	DialContext func(ctx context.Context, network string, local netip.Addr, address string) (net.Conn, error)

	// Fast makes messages with intent Fast use the fast channel while it is up, instead of the reliable channel.
	Fast bool
	// EventsMax is how many events the channel of Events buffers (see the package
	// comment); default 1024.
	EventsMax int

	// Reconnect says how the Client reconnects after a loss. By default it does reconnect.
	Reconnect Reconnect
	// SendBufferBytes and SendBufferMessages limit the reliable messages that are not acknowledged yet; default 1 MiB and 4096.
	SendBufferBytes    int
	SendBufferMessages int
	// OnDetached, OnReconnected and OnGap are called just before their events go into the channel. They are
	// called in the order of all events, except those of the fast channel. They run in the reader, so they must
	// not block, and must not call Close, Abort or Move.
	OnDetached    func(End)
	OnReconnected func(Reconnected)
	OnGap         func(Gap)

	// DialTimeout limits Dial in addition to its context, and each attempt to reconnect; default 15 s.
	DialTimeout time.Duration
	// AutoTimeout is how long Auto tries KCP, including the login; default 3 s. It is never more
	// than a third of the time that Dial has left.
	AutoTimeout time.Duration
	// SilenceMax is how long the host may be silent before the connection counts as lost; default 15 s. A host pings every 3 s,
	// unless its game sets another interval.
	SilenceMax time.Duration
	// StallMax is how long the host may be silent over KCP; default 2.8 s. After a silence of StallMax/5 the client
	// pings the host. A shorter StallMax detects a dead network sooner, but mistakes a slow network for a dead one.
	// If StallMax is over 10 s, it is also the limit on how long the host may acknowledge nothing.
	StallMax time.Duration
}

// withDefaults returns o with defaults for zero values, or an error for invalid options.
func (o Options) withDefaults() (Options, error) {
	host, _, err := net.SplitHostPort(o.Addr)
	switch {
	case err != nil:
		return o, fmt.Errorf("client: Options.Addr must be host:port: %w", err)
	case o.PlayerSessionID == "" || !utf8.ValidString(o.PlayerSessionID):
		return o, errors.New("client: Options.PlayerSessionID must be text")
	case len(o.Payload) > PayloadMax:
		return o, ErrTooLarge
	case o.Transport > Auto:
		return o, fmt.Errorf("client: Options.Transport is %s", o.Transport)
	case o.EventsMax < 0 || o.DialTimeout < 0 || o.AutoTimeout < 0 || o.SilenceMax < 0 || o.StallMax < 0:
		return o, errors.New("client: Options.EventsMax and the times must not be negative")
	case o.SendBufferBytes < 0 || o.SendBufferMessages < 0:
		return o, errors.New("client: the bounds of the send buffer must not be negative")
	}
	if err := o.Reconnect.check(); err != nil {
		return o, err
	}
	o.WSSAddr = cmp.Or(o.WSSAddr, o.Addr)
	o.Transport = cmp.Or(o.Transport, WS)
	o.KCPAddr = cmp.Or(o.KCPAddr, net.JoinHostPort(host, strconv.Itoa(KCPPort)))
	o.EventsMax = cmp.Or(o.EventsMax, 1024) // one second of a busy room: 50 players at 20 Hz
	o.DialTimeout = cmp.Or(o.DialTimeout, dialTimeoutDefault)
	o.AutoTimeout = cmp.Or(o.AutoTimeout, 3*time.Second)      // enough for a few retransmissions of a DTLS handshake
	o.SilenceMax = cmp.Or(o.SilenceMax, 15*time.Second)       // five pings of a host with default settings
	o.StallMax = cmp.Or(o.StallMax, 2800*time.Millisecond)    // detects a dead path within 3 s, and outlasts a latency spike of 2 s
	o.SendBufferBytes = cmp.Or(o.SendBufferBytes, 1<<20)      // the same as a host's outbox (reliability.md 2.4)
	o.SendBufferMessages = cmp.Or(o.SendBufferMessages, 4096) // the same
	if o.Sessions == nil {
		o.Sessions = dtls.NewSessions()
	}
	if _, _, err := net.SplitHostPort(o.WSSAddr); err != nil {
		return o, fmt.Errorf("client: Options.WSSAddr: %w", err)
	}
	if _, _, err := net.SplitHostPort(o.KCPAddr); err != nil {
		return o, fmt.Errorf("client: Options.KCPAddr: %w", err)
	}
	return o, nil
}

// serverName returns the name for which the certificate of the host at addr must be valid.
func (o *Options) serverName(addr string) string {
	if o.TLS != nil && o.TLS.ServerName != "" {
		return o.TLS.ServerName
	}
	host, _, _ := net.SplitHostPort(addr)
	return host
}

// Intent says how a message is to be delivered.
type Intent uint8

// Intents. The zero value means Reliable. The official clients send messages as Fast by default.
const (
	// Reliable messages arrive in order. If one cannot arrive, the Client ends.
	Reliable Intent = iota + 1
	// Fast messages may be lost, and are dropped if they are late. They use the reliable channel if there is no fast
	// channel, or if the payload is over FastPayloadMax.
	Fast
)

// Message is an application message to send.
type Message struct {
	// OpCode is defined by the game: a positive number, 0, or a negative one that the protocol does not use.
	OpCode int32
	// TargetPlayer is a peer id, Server, or 0. If it is not 0, the message does not go to TargetGroup.
	TargetPlayer int32
	// TargetGroup is a group that the player is in, AllPlayers, or 0.
	TargetGroup int32
	// Payload is not retained; at most PayloadMax bytes.
	Payload []byte
	Intent  Intent
}

// check returns an error for a message that the host would drop silently.
func (m *Message) check() error {
	switch {
	case len(m.Payload) > PayloadMax:
		return ErrTooLarge
	case m.TargetPlayer == wire.NoPeer && m.TargetGroup == wire.NoGroup:
		return ErrNoTarget
	case m.TargetPlayer < Server || m.TargetGroup < AllPlayers:
		return ErrNoTarget
	case wire.ServerOnly(m.OpCode) || wire.BuiltIn(m.OpCode, wire.CommandNone):
		return ErrOpCode
	case m.Intent > Fast:
		return fmt.Errorf("client: Message.Intent is %d", m.Intent)
	}
	return nil
}

// checkGroup returns an error if group is less than min or is not a group.
func checkGroup(group, min int32) error {
	if group == wire.NoGroup || group < min {
		return fmt.Errorf("client: group %d: want 1 to %d", group, math.MaxInt32)
	}
	return nil
}

// addr returns the address to dial for a transport.
func (o *Options) addr(t Transport) string {
	switch t {
	case WSS:
		return o.WSSAddr
	case KCP:
		return o.KCPAddr
	}
	return o.Addr
}
