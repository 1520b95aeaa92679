package client

import (
	"errors"
	"fmt"
	"net"
	"unicode/utf8"

	"troupe/messages/wire"
)

// Reserved ids and limits of the protocol.
const (
	// Server is the host itself, as a target or a sender.
	Server = wire.ServerPeer
	// AllPlayers is the group of all players of the game session.
	AllPlayers = wire.AllPlayers
	// PayloadMax is the largest payload of a message, in bytes.
	PayloadMax = wire.PayloadMax
	// FastPayloadMax is the largest payload that goes by the fast channel.
	FastPayloadMax = wire.FastPayloadMax
)

// Errors of Dial and Send. They match with errors.Is.
var (
	// ErrRefused: the host did not accept the login.
	ErrRefused = errors.New("client: login refused")
	// ErrClosed: the connection has ended; it matches net.ErrClosed.
	ErrClosed = fmt.Errorf("client: connection has ended: %w", net.ErrClosed)
	// ErrTooLarge: a payload is larger than PayloadMax.
	ErrTooLarge = fmt.Errorf("client: payload is larger than %d bytes", PayloadMax)
)

// eventsMaxDefault holds a second of a busy room: 50 players at 20 Hz.
const eventsMaxDefault = 1024

// Options are what Dial needs.
type Options struct {
	// Addr is the host:port of the game session, as its player session tells it.
	Addr string
	// PlayerSessionID is the seat to take, psess-...
	PlayerSessionID string
	// Payload goes to the game's onPlayerConnect; at most PayloadMax bytes.
	Payload []byte
	// Fast opens the fast channel over plain UDP.
	Fast bool
	// EventsMax is how many events wait for the program (see the package
	// comment); 0 is 1024.
	EventsMax int
}

func (o *Options) check() error {
	switch {
	case o.PlayerSessionID == "" || !utf8.ValidString(o.PlayerSessionID):
		return errors.New("client: Options.PlayerSessionID must be text")
	case len(o.Payload) > PayloadMax:
		return ErrTooLarge
	case o.EventsMax < 0:
		return errors.New("client: Options.EventsMax must not be negative")
	}
	return nil
}

// Message is an application message to send.
type Message struct {
	OpCode int32 // positive for the game's own
	// TargetPlayer is a peer id, Server, or 0; it comes before TargetGroup.
	TargetPlayer int32
	// TargetGroup is a group that the player is in, AllPlayers, or 0.
	TargetGroup int32
	Payload     []byte // not kept
	// Reliable sends by WebSocket; else by the fast channel if that is possible.
	Reliable bool
}
