package gateway

import (
	"time"

	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/messages/counters"
	"troupe/transport/fast"
)

// Limits bound what one peer may do (reliability.md 5.2, 2.6, 6). Zero switches
// a limit off.
type Limits struct {
	// MalformedMax is how many malformed packets close a connection (D-130).
	MalformedMax int
	// MessagesPerSecond, with MessageBurst, and BytesPerSecond, with a burst of
	// one second, bound a player's input over all channels. Over them a fast
	// message is dropped and a reliable one waits.
	MessagesPerSecond float64
	MessageBurst      float64
	BytesPerSecond    float64
	// TooFastFor is how long a player may stay over before it is closed.
	TooFastFor time.Duration
	// GroupOpsPerSecond bounds a player's group operations; more are dropped.
	GroupOpsPerSecond float64
	// LoginFailuresPerIPPerMinute is how many logins with ids that nobody has an address
	// gets answered at once.
	LoginFailuresPerIPPerMinute int
	// LoginsPerIDPerMinute is how many logins of a player session are let in without a
	// pause.
	LoginsPerIDPerMinute int
	// ResumesPerIDPerMinute is the same for logins with a reconnect token.
	ResumesPerIDPerMinute int
	// LoginsPerSecond bounds logins altogether, with a burst of a tenth of it. Those
	// that come back go first.
	LoginsPerSecond float64
	// LoginsWaiting is how many wait for that at most; more are told to come later, but
	// not those who hold a seat.
	LoginsWaiting int
}

// DefaultLimits returns the values of the specification.
func DefaultLimits() Limits {
	return Limits{
		MalformedMax:      10,
		MessagesPerSecond: 200, MessageBurst: 400, BytesPerSecond: 256 << 10,
		TooFastFor:                  10 * time.Second,
		GroupOpsPerSecond:           20,
		LoginFailuresPerIPPerMinute: 10,
		LoginsPerIDPerMinute:        5,
		ResumesPerIDPerMinute:       120,
		LoginsPerSecond:             2500,
		LoginsWaiting:               4096,
	}
}

// Options configure a Gateway. Values are set once.
type Options struct {
	System   *actors.System
	Fast     *fast.Pool    // beside ws
	Secured  *fast.Secured // beside wss; nil: plain UDP there as well
	Counters *counters.Set
	Log      zerolog.Logger
	Limits   Limits
}
