package host

import (
	"reflect"
	"time"

	"troupe/transport/gateway"
)

// Limits that an operator cannot configure.
const (
	heldPerIPMax              = 4096 // waiting connections per IP address
	malformedPackets          = 10   // malformed packets of one connection; it is closed above this number
	groupsPerPlayer           = 64
	groupsPerGameSession      = 4096
	scriptDeliveriesPerSecond = 200_000 // deliveries per second of messages that a game session itself sends
	// calls into a script that take longer are counted, and some of them are logged as warnings
	slowCallback = 50 * time.Millisecond
)

func (c *Config) gatewayLimits() gateway.Limits {
	l := &c.Limits
	return gateway.Limits{
		MalformedMax:      malformedPackets,
		MessagesPerSecond: l.PlayerMessagesPerSecond, MessageBurst: l.PlayerMessagesBurst, BytesPerSecond: l.PlayerBytesPerSecond,
		TooFastFor: l.TooFastFor, GroupOpsPerSecond: l.GroupOperationsPerSecond,
		LoginFailuresPerIPPerMinute: l.LoginFailuresPerIPPerMinute, LoginsPerIDPerMinute: l.LoginsPerPlayerSessionPerMinute,
		ResumesPerIDPerMinute: l.ResumesPerPlayerSessionPerMinute, LoginsPerSecond: l.LoginsPerSecond, LoginsWaiting: l.loginsWaiting(),
	}
}

// loginsWaiting returns the maximum number of waiting logins. It is low enough that each of them gets its
// turn well within the login timeout.
func (l *Limits) loginsWaiting() int {
	if l.LoginsPerSecond <= 0 || l.LoginTimeout <= 0 {
		return l.LoginsWaiting
	}
	most := max(1, int(l.LoginsPerSecond*l.LoginTimeout.Seconds()/2))
	if l.LoginsWaiting > 0 {
		most = min(most, l.LoginsWaiting)
	}
	return most
}

func (v *checks) limits(l *Limits) {
	v.that("limits.loginTimeout", l.LoginTimeout > 0, "must be positive")
	others := *l
	others.LoginTimeout = 0
	v.noneNegative("limits.", others)
}

// noneNegative checks that no number of a section is negative.
func (v *checks) noneNegative(path string, section any) {
	each(reflect.ValueOf(section), path, func(key string, n reflect.Value) {
		negative := n.CanInt() && n.Int() < 0 || n.CanFloat() && n.Float() < 0
		v.that(key, !negative, "must not be negative; 0 switches it off")
	})
}
