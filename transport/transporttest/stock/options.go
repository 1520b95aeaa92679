package stock

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
)

// Errors of the client.
var (
	// ErrClosed means that the WebSocket has ended or is ending.
	ErrClosed = errors.New("connection closed")
	// ErrLoginRefused is returned by AwaitLogin if the server answers with success false.
	ErrLoginRefused = errors.New("login refused")
	// ErrNoFast means that there is no fast channel: it is switched off, not set up yet, or lost.
	ErrNoFast = errors.New("no fast channel")
	// ErrPayloadTooLarge is returned for a payload above PayloadMax, which the stock client refuses to send.
	ErrPayloadTooLarge = errors.New("payload too large")
	// ErrUnsupported means that clients of this flavor do not have the function.
	ErrUnsupported = errors.New("not implemented by this kind of client")
)

// Flavor selects the client that is imitated. The zero value in Options means CSharp.
type Flavor int

// The flavors.
const (
	// CSharp: path /websocket, UDP, groups, own id from loginResult.
	CSharp Flavor = iota + 1
	// TypeScript: path /, no UDP, no groups. Every message is reliable, and its default target is group -1.
	// The own id is in Packet.targetPlayer. Trailing bytes after a unit corrupt it. It reads no text
	// messages.
	TypeScript
)

// Status is the connection status that the stock client reports.
type Status int

// The statuses. The SDK also defines CONNECTED_SEND_AND_RECEIVE_FAST, but never sets it.
const (
	StatusConnected Status = iota + 1
	StatusConnectedSendFast
	StatusDisconnected
)

// String returns the SDK's name of the status.
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

// Options configures a client. The zero value is the C# client with an empty login payload.
type Options struct {
	Flavor  Flavor      // zero means CSharp
	Path    string      // request path; empty means the path of the flavor
	Origin  string      // Origin header, which browsers send; empty means none
	Header  http.Header // additional request headers
	Payload []byte      // connection payload in LOGIN

	TLS  *tls.Config // enables wss; the CSharp flavor uses TLS 1.2 only. Without DTLS, there is no fast channel then.
	DTLS *DTLS       // enables the fast channel of the secured mode, together with TLS; see [Secured]

	NoLogin       bool // do not send LOGIN when the connection opens; see SendLogin
	FragmentLogin int  // bytes per WebSocket frame of LOGIN; 0 means one frame
	NoUDP         bool // never open the fast channel
	NoClientAck   bool // do not answer SERVER_ACK; the status changes nevertheless
	NoPong        bool // never answer WebSocket pings

	Network    Network // opens the sockets; nil means the operating system's network
	LocalAddr  string  // local IP address of TCP and UDP; empty means any
	ReadBuffer int     // bytes of the kernel's receive buffer of TCP, for slow-reader tests; 0 means the default

	EventsMax int // maximum length of the log and of the queue; 0 means 16384. Further packets are counted and dropped.
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

// Stats counts a client's packets. The counters include invalid and raw packets.
type Stats struct {
	SentWebSocket     int // messages
	SentUDP           int // datagrams, or DTLS records
	ReceivedWebSocket int // messages
	ReceivedUDP       int // datagrams or DTLS records, including stale ones
	Stale             int // datagrams dropped because of their sequence number
	Undecodable       int
	UDPConnectSent    int
	UDPSendErrors     int
	PingsReceived     int
	PongsSent         int
	PongsReceived     int
	LogDropped        int // packets that did not fit into the log
	QueueDropped      int // packets that did not fit into the queue
}
