package stock

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
)

// Errors of the client.
var (
	// ErrClosed means that the WebSocket is gone or on its way out.
	ErrClosed = errors.New("connection closed")
	// ErrLoginRefused comes from AwaitLogin when the server answers success false.
	ErrLoginRefused = errors.New("login refused")
	// ErrNoFast means that there is no fast channel: switched off, not set up yet, or lost.
	ErrNoFast = errors.New("no fast channel")
	// ErrPayloadTooLarge is what the stock client does with a payload above PayloadMax.
	ErrPayloadTooLarge = errors.New("payload too large")
	// ErrUnsupported means that this kind of client has no such function.
	ErrUnsupported = errors.New("not implemented by this kind of client")
)

// Flavor names the client that is imitated. The zero value in Options stands for CSharp.
type Flavor int

// The flavors.
const (
	// CSharp: path /websocket, UDP, groups, own id from loginResult.
	CSharp Flavor = iota + 1
	// TypeScript: path /, no UDP, no groups, every message reliable and to group -1 unless told otherwise, own id
	// from Packet.targetPlayer, trailing bytes after a unit corrupt it, no text.
	TypeScript
)

// Status is what the stock client says about its connection.
type Status int

// The statuses. CONNECTED_SEND_AND_RECEIVE_FAST exists by name only and is never set.
const (
	StatusConnected Status = iota + 1
	StatusConnectedSendFast
	StatusDisconnected
)

// String returns the name the SDK uses.
func (s Status) String() string {
	switch s {
	case StatusConnected:
		return "CONNECTED"
	case StatusConnectedSendFast:
		return "CONNECTED_SEND_FAST"
	case StatusDisconnected:
		return "DISCONNECTED"
	}
	return fmt.Sprintf("Status(%d)", int(s))
}

// Options says how a client behaves. The zero value is the C# client with an empty login payload.
type Options struct {
	Flavor  Flavor      // zero means CSharp
	Path    string      // request path; empty means the one of the flavor
	Origin  string      // Origin header, as browsers send; empty means none
	Header  http.Header // more request headers
	Payload []byte      // connection payload in LOGIN

	TLS  *tls.Config // wss; restricted to TLS 1.2 in the CSharp flavor. Without DTLS there is no fast channel then.
	DTLS *DTLS       // the fast channel of the secured mode, beside TLS; see [Secured]

	NoLogin       bool // do not send LOGIN on open; see SendLogin
	FragmentLogin int  // bytes per WebSocket frame of LOGIN; 0 means one frame
	NoUDP         bool // never open the fast channel
	NoClientAck   bool // do not answer SERVER_ACK; the status changes all the same
	NoPong        bool // never answer WebSocket pings

	Network    Network // opens the sockets; nil means the operating system's
	LocalAddr  string  // local IP of the TCP connection and of UDP; empty means any
	ReadBuffer int     // bytes of the kernel's receive buffer for TCP, for slow-reader tests; 0 means the default

	EventsMax int // bound of the log and of the queue; 0 means 16384. Above it new packets are counted and dropped.
}

func (o Options) withDefaults() Options {
	if o.Flavor == 0 {
		o.Flavor = CSharp
	}
	if o.Path == "" {
		o.Path = "/websocket"
		if o.Flavor == TypeScript {
			o.Path = "/"
		}
	}
	if o.Origin != "" {
		o.Header = o.Header.Clone()
		if o.Header == nil {
			o.Header = http.Header{}
		}
		o.Header.Set("Origin", o.Origin)
	}
	if o.Flavor == TypeScript || o.TLS != nil && o.DTLS == nil {
		o.NoUDP = true
	}
	if o.EventsMax <= 0 {
		o.EventsMax = 16384
	}
	return o
}

// Stats counts what a client did. Counters of packets include bad and raw ones.
type Stats struct {
	SentWebSocket     int // messages
	SentUDP           int // datagrams, or DTLS records
	ReceivedWebSocket int // messages
	ReceivedUDP       int // datagrams or DTLS records, stale ones included
	Stale             int // datagrams dropped by the sequence rule
	Undecodable       int
	UDPConnectSent    int
	UDPSendErrors     int
	PingsReceived     int
	PongsSent         int
	PongsReceived     int
	LogDropped        int // packets that did not fit into the log
	QueueDropped      int // packets that did not fit into the queue
}
