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
	// FastPayloadMax is the largest payload that goes by the fast channel, in bytes.
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
	Auto                      // KCP, or WSS where KCP does not get through
)

var transportNames = [...]string{"", "ws", "wss", "kcp", "auto"}

// String returns the short name, as ParseTransport reads it.
func (t Transport) String() string {
	if t > 0 && int(t) < len(transportNames) {
		return transportNames[t]
	}
	return "invalid(" + strconv.Itoa(int(t)) + ")"
}

// ParseTransport reads ws, wss, kcp or auto.
func ParseTransport(name string) (Transport, error) {
	for t := WS; t <= Auto; t++ {
		if t.String() == name {
			return t, nil
		}
	}
	return 0, fmt.Errorf("client: %q is no transport: ws, wss, kcp or auto", name)
}

// dialTimeoutDefault is a little more than a host waits for a LOGIN.
const dialTimeoutDefault = 15 * time.Second

// Options are what Dial needs: Addr and PlayerSessionID. The zero value of everything else is its default.
type Options struct {
	// Addr is the host:port of ws or wss, as the player session tells it: IP
	// address and port for ws, DNS name and port for wss.
	Addr string
	// WSSAddr is the host:port of wss for players who may change or fall back to it; default Addr.
	WSSAddr string
	// PlayerSessionID is the id of the player session to log in with, psess-...
	PlayerSessionID string
	// Payload goes to the game's onPlayerConnect; at most PayloadMax bytes.
	Payload []byte

	// Transport is WS, WSS, KCP or Auto; default WS.
	Transport Transport
	// KCPAddr is the host:port of KCP; default the host of Addr and KCPPort.
	KCPAddr string
	// TLS is used as it is for wss, except for its NextProtos. For DTLS (KCP, and the fast channel of wss) ServerName is taken
	// from it, and for KCP RootCAs. Default: the system's roots and the name dialled. It is not changed.
	TLS *tls.Config
	// Sessions caches DTLS sessions: a reconnect saves a round trip and a key exchange. Dials may share one; default: the Client's own.
	Sessions *dtls.Sessions

	// DialContext opens TCP connections and UDP sockets, these from local if it is valid; nil: those of the operating system.
	DialContext func(ctx context.Context, network string, local netip.Addr, address string) (net.Conn, error)

	// Fast sends messages of intent Fast by the fast channel once it is up, and not by the reliable one.
	Fast bool
	// EventsMax is how many events wait for the program (see the package
	// comment); default 1024.
	EventsMax int

	// Reconnect says how the Client comes back after a loss; by default it does.
	Reconnect Reconnect
	// SendBufferBytes and SendBufferMessages bound what is sent reliably and not yet acknowledged; default 1 MiB and 4096.
	SendBufferBytes    int
	SendBufferMessages int
	// OnDetached, OnReconnected and OnGap are called with their events, before these go into the channel, and in order with all
	// events but those of the fast channel. They block the reader: they must not wait, nor call Close, Abort or Move.
	OnDetached    func(End)
	OnReconnected func(Reconnected)
	OnGap         func(Gap)

	// DialTimeout bounds Dial beside its context, and each attempt to reconnect; default 15 s.
	DialTimeout time.Duration
	// AutoTimeout is how long Auto tries KCP, with the login: default 3 s, and never more than a third of what Dial has left.
	AutoTimeout time.Duration
	// SilenceMax is how long the host may be silent before the connection counts as lost; default 15 s. A host pings every 3 s,
	// unless its game sets another interval.
	SilenceMax time.Duration
	// StallMax is the same for KCP, where the client probes a silent host from a fifth of it on; default 2.8 s. Less detects a dead
	// network sooner, but mistakes a slow one for dead. Above 10 s it also bounds how long the host may acknowledge nothing.
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
	o.EventsMax = cmp.Or(o.EventsMax, 1024) // a second of a busy room: 50 players at 20 Hz
	o.DialTimeout = cmp.Or(o.DialTimeout, dialTimeoutDefault)
	o.AutoTimeout = cmp.Or(o.AutoTimeout, 3*time.Second)      // gives a DTLS handshake a few retransmissions
	o.SilenceMax = cmp.Or(o.SilenceMax, 15*time.Second)       // five pings of a host with default settings
	o.StallMax = cmp.Or(o.StallMax, 2800*time.Millisecond)    // finds a dead path within 3 s, and outlasts a spike of 2 s
	o.SendBufferBytes = cmp.Or(o.SendBufferBytes, 1<<20)      // as a host's outbox (reliability.md 2.4)
	o.SendBufferMessages = cmp.Or(o.SendBufferMessages, 4096) // likewise
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

// serverName returns the name that the certificate of the host at addr must be valid for.
func (o *Options) serverName(addr string) string {
	if o.TLS != nil && o.TLS.ServerName != "" {
		return o.TLS.ServerName
	}
	host, _, _ := net.SplitHostPort(addr)
	return host
}

// Intent says how a message is to be delivered.
type Intent uint8

// Intents. Zero counts as Reliable; messages of the official clients are Fast unless told otherwise.
const (
	// Reliable messages arrive in order, or the Client ends.
	Reliable Intent = iota + 1
	// Fast messages may be lost, or dropped if late. They go by the reliable channel without a fast one, and above FastPayloadMax.
	Fast
)

// Message is an application message to send.
type Message struct {
	// OpCode is the game's own: a positive number, 0, or a negative one that the protocol does not use.
	OpCode int32
	// TargetPlayer is a peer id, Server, or 0; it comes before TargetGroup.
	TargetPlayer int32
	// TargetGroup is a group that the player is in, AllPlayers, or 0.
	TargetGroup int32
	// Payload is not kept; at most PayloadMax bytes.
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

// checkGroup returns an error if group is less than min or is no group.
func checkGroup(group, min int32) error {
	if group == wire.NoGroup || group < min {
		return fmt.Errorf("client: group %d: want 1 to %d", group, math.MaxInt32)
	}
	return nil
}

// addr returns the address that a transport connects to.
func (o *Options) addr(t Transport) string {
	switch t {
	case WSS:
		return o.WSSAddr
	case KCP:
		return o.KCPAddr
	}
	return o.Addr
}
