package sdkclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// Flavor is the SDK that a process imitates. The zero value in Options means Go56.
type Flavor int

// The flavors; see the table of the package.
const (
	Go56 Flavor = iota + 1
	Go54
	Cpp
	CSharp
)

// String returns the name of the SDK.
func (f Flavor) String() string {
	switch f {
	case Go56:
		return "Go 5.6.0"
	case Go54:
		return "Go 5.4.0"
	case Cpp:
		return "C++ 5.4.0"
	case CSharp:
		return "C# 5.5.0"
	}
	return fmt.Sprintf("Flavor(%d)", int(f))
}

// Errors of a Process.
var (
	// ErrConnect means that the last attempt of a series to connect was refused.
	ErrConnect = errors.New("no connection to the SDK endpoint")
	// ErrSend means that a request could not be written, after all attempts of the SDK.
	ErrSend = errors.New("the request could not be sent")
	// ErrUnanswered means that no response came in time.
	ErrUnanswered = errors.New("no response in time")
	// ErrNotReady means that the call needs a process that is ready, or one with a game session.
	ErrNotReady = errors.New("the process is not ready or has no game session")
	// ErrDestroyed means that the process has ended.
	ErrDestroyed = errors.New("the process was destroyed")
)

// HandshakeError is the host's refusal of a handshake.
type HandshakeError struct{ Status int } // HTTP status

// Error implements error.
func (e *HandshakeError) Error() string {
	return fmt.Sprintf("handshake refused with status %d", e.Status)
}

// CallError is the host's refusal of a request.
type CallError struct {
	Status  int // StatusCode
	Message string
}

// Error implements error.
func (e *CallError) Error() string { return fmt.Sprintf("status %d: %s", e.Status, e.Message) }

// Options says who a process is, and which SDK it has.
type Options struct {
	URL                        string // SDK endpoint, ws or wss, without a query
	ProcessID, HostID, FleetID string
	AuthToken                  string
	SigV4                      *SigV4 // used if AuthToken is empty

	Flavor   Flavor // 0: Go56
	Handlers Handlers
	Timing   Timing

	// Dial opens a TCP connection; nil: that of the operating system.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	TLS  *tls.Config // of wss; nil: system roots. Cpp verifies nothing.
	// Frame sees each text frame that is sent or received, before it is handled. It is called from several goroutines and
	// must not block.
	Frame func(sent bool, frame []byte)
}

// Handlers are the callbacks of ProcessReady. Each runs on a goroutine of its own. A nil one acts as in the SDK.
type Handlers struct {
	OnStartGameSession  func(*Process, GameSession)
	OnUpdateGameSession func(*Process, GameSessionUpdate)
	// OnProcessTerminate: nil calls Ending and Destroy.
	OnProcessTerminate func(*Process, time.Time)
	OnHealthCheck      func() bool
}

// Timing has the times that the SDK for Go reads from its environment. 0 means the SDK's value.
type Timing struct {
	CallTimeout    time.Duration // 20 s
	HealthInterval time.Duration // 60 s
	HealthJitter   time.Duration // 10 s more or less; negative: none
	HealthTimeout  time.Duration // 50 s for OnHealthCheck
	Flush          time.Duration // 5 s that Go waits before it closes a superseded connection
}

func (t Timing) withDefaults() Timing {
	set := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	set(&t.CallTimeout, 20*time.Second)
	set(&t.HealthInterval, time.Minute)
	set(&t.HealthJitter, 10*time.Second)
	set(&t.HealthTimeout, 50*time.Second)
	set(&t.Flush, 5*time.Second)
	return t
}

// rules are what differs between the SDKs.
type rules struct {
	version, language string
	goTransport       bool            // sends wait while a connection is opened; see goconn.go. Otherwise plainconn.go.
	waits             []time.Duration // between the attempts of a series to connect, after instant refusals
	handshakeTimeout  time.Duration   // of one attempt
	readyTimeout      time.Duration   // of the answer to ActivateServerProcess; 0: CallTimeout
	resends           int             // of a request without an answer, with the same RequestId
	silentMax         int             // unanswered requests in a row before a new connection; 0: any number
	healthy           bool            // without a callback
	serialHealth      bool            // the interval begins after the answer
	earlyRefresh      bool            // heeds RefreshConnection before it is ready
	uuids             bool            // ids are UUIDs; otherwise 32 letters and digits
	slash             bool            // the path of the endpoint gets a slash at its end
	tls12, unverified bool            // it speaks TLS 1.2 only; it verifies no certificate
	closeCode         uint16          // of a connection that it closes; 0: without a close frame

	// Of plainconn.go.
	sendFor, sendEvery  time.Duration // for how long a send waits for a connection, and how often it looks
	final               bool          // a close frame with 1000 or 1001, and the end of a series, are final; otherwise the next send connects
	newTokens           bool          // each reconnect has a new IdempotencyToken
	keepsOld            bool          // it leaves a superseded connection to the host
	pings               bool          // before each send
	terminateNeedsReady bool          // it fails at TerminateProcess before it is ready
}

var (
	goWaits  = []time.Duration{8 * time.Second, 16 * time.Second, 32 * time.Second, 32 * time.Second, 32 * time.Second, 32 * time.Second, 32 * time.Second}
	cppWaits = []time.Duration{4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, 32 * time.Second, 32 * time.Second}
	csWaits  = append(cppWaits[:6:6], 32*time.Second)

	rulesOf = map[Flavor]*rules{
		Go56: {version: "5.6.0", language: "Go", goTransport: true, waits: goWaits, handshakeTimeout: time.Hour, readyTimeout: 6 * time.Second, silentMax: 2, earlyRefresh: true, uuids: true},
		Go54: {version: "5.4.0", language: "Go", goTransport: true, waits: goWaits, handshakeTimeout: time.Hour, readyTimeout: 6 * time.Second, earlyRefresh: true, uuids: true},
		Cpp: {
			version: "5.4.0", language: "Cpp", waits: cppWaits, handshakeTimeout: 20 * time.Second, resends: 5, silentMax: 2, healthy: true, serialHealth: true,
			slash: true, tls12: true, unverified: true, closeCode: goingAway, sendFor: 180 * time.Second, sendEvery: 5 * time.Second, final: true,
		},
		CSharp: {
			version: "5.5.0", language: "CSharp", waits: csWaits, handshakeTimeout: 2 * time.Second, readyTimeout: 6 * time.Second, earlyRefresh: true, uuids: true,
			tls12: true, closeCode: normal, sendFor: 310 * time.Second, sendEvery: 2 * time.Second, newTokens: true, keepsOld: true, pings: true,
			terminateNeedsReady: true,
		},
	}
)
