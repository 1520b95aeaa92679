package gateway

import (
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport/fast"
)

// Limits bound what one peer may do (reliability.md 5.2, 2.6, 6). Zero switches
// a limit off.
type Limits struct {
	// MalformedMax is the number of malformed packets after which a connection is closed.
	MalformedMax int
	// MessagesPerSecond, with MessageBurst, and BytesPerSecond, with a burst of
	// one second, bound a player's input over all channels. Over these rates, fast
	// messages are dropped and reliable ones wait.
	MessagesPerSecond float64
	MessageBurst      float64
	BytesPerSecond    float64
	// TooFastFor is how long a player may exceed the rates before its connection is closed.
	TooFastFor time.Duration
	// GroupOpsPerSecond bounds a player's group operations; more are dropped.
	GroupOpsPerSecond float64
	// LoginFailuresPerIPPerMinute is how many logins with unknown player session ids are
	// answered without an extra delay.
	LoginFailuresPerIPPerMinute int
	// LoginsPerIDPerMinute is how many logins of a player session are admitted without a
	// pause.
	LoginsPerIDPerMinute int
	// ResumesPerIDPerMinute is the same limit for logins with a reconnect token.
	ResumesPerIDPerMinute int
	// LoginsPerSecond bounds all logins together, with a burst of a tenth of it.
	// Reconnecting players go first.
	LoginsPerSecond float64
	// LoginsWaiting bounds the logins that wait for LoginsPerSecond. Further logins are
	// told to retry later, unless their player session is RESERVED or ACTIVE.
	LoginsWaiting int
}

// exceeded says of a player what it did when packets of it were dropped because of a limit, with the limit's value and
// configuration key; "" of drops that are no limit's.
func (l *Limits) exceeded(d counters.Drop) string {
	rate := fmt.Sprintf("limits.playerMessagesPerSecond (%v, bursts of %v) or limits.playerBytesPerSecond (%v)", l.MessagesPerSecond, l.MessageBurst, l.BytesPerSecond)
	switch d {
	case counters.DropInboundRate:
		return fmt.Sprintf("sent more than %s for longer than limits.tooFastFor (%v): its connection is closed with %d", rate, l.TooFastFor, uint16(messages.CloseTooFast))
	case counters.DropFastRate:
		return "sends more on the fast channel than " + rate + ": the rest is dropped"
	case counters.DropGroupRate:
		return fmt.Sprintf("joins, leaves and asks for groups more often than limits.groupOperationsPerSecond (%v): the rest is dropped", l.GroupOpsPerSecond)
	case counters.DropPayloadTooLarge:
		return fmt.Sprintf("sends payloads of more than %d bytes, as many as GameLift's clients allow (no key changes that): they are dropped, also reliable ones", wire.PayloadMax)
	default:
		return ""
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
