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

// Limits bound what one peer may do (reliability.md 5.2, 2.6, 6). Zero switches a limit off.
type Limits struct {
	MalformedMax int // malformed packets after which a connection is closed
	// Over the next rates of a player, fast messages are dropped and reliable ones wait, for TooFastFor before its connection is closed.
	MessagesPerSecond           float64
	MessageBurst                float64
	BytesPerSecond              float64 // with a burst of one second
	TooFastFor                  time.Duration
	GroupOpsPerSecond           float64 // of a player; more are dropped
	LoginFailuresPerIPPerMinute int     // logins with unknown player session ids that are answered without an extra delay
	LoginsPerIDPerMinute        int     // logins of a player session that are admitted without a pause
	ResumesPerIDPerMinute       int     // the same for logins with a reconnect token
	LoginsPerSecond             float64 // of all players, with a burst of a tenth of it; reconnecting players go first
	LoginsWaiting               int     // for LoginsPerSecond; others are told to retry, unless their player session is RESERVED or ACTIVE
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
