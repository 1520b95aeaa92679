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

// Limits limit what one peer may do (reliability.md 5.2, 2.6, 6). Zero disables a limit.
type Limits struct {
	MalformedMax int // a connection is closed after this many malformed packets
	// The following three fields are rate limits of one player. Over these rates, fast messages are dropped and
	// reliable ones wait. After TooFastFor over the rates, the connection is closed.
	MessagesPerSecond           float64
	MessageBurst                float64
	BytesPerSecond              float64 // the burst is the bytes of one second
	TooFastFor                  time.Duration
	GroupOpsPerSecond           float64 // per player; more are dropped
	LoginFailuresPerIPPerMinute int     // logins with unknown player session ids that are refused without an extra delay
	LoginsPerIDPerMinute        int     // logins to one player session that are admitted without a pause
	ResumesPerIDPerMinute       int     // the same limit for logins with a reconnect token
	LoginsPerSecond             float64 // for all players, with a burst of a tenth of it; reconnecting players go first
	LoginsWaiting               int     // queue length for LoginsPerSecond; when it is full, loginLimiter refuses some logins
}

// exceeded describes what a player did whose packets were dropped for reason d, with the value and the configuration
// key of the limit. It returns "" if d is not about a limit.
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

// Options configure a Gateway. They do not change after New.
type Options struct {
	System   *actors.System
	Fast     *fast.Pool    // the fast channel for ws
	Secured  *fast.Secured // the fast channel for wss; if nil, wss uses plain UDP too
	Counters *counters.Set
	Log      zerolog.Logger
	Limits   Limits
	// Elsewhere finds the node of the cluster that knows a player session which the System does not know. It is called
	// by the reader of a connection and may block for a few seconds. It is nil if the host is not part of a cluster.
	Elsewhere func(messages.PlayerSessionID) Elsewhere
}

// Elsewhere says what becomes of a login with a player session that this node does not know. One field is set.
type Elsewhere struct {
	Endpoints  string        // addresses of the node that runs the game session, as in wire.LoginResult
	RetryAfter time.Duration // the node is not known at the moment, or does not answer
	Over       wire.Over     // the game session is over
}
