package host

import (
	"time"

	"troupe/transport/gateway"
)

// Limits that are not configured.
const (
	heldPerIPMax              = 4096 // waiting connections of one address
	malformedPackets          = 10   // of one connection, above which it is closed
	groupsPerPlayer           = 64
	groupsPerGameSession      = 4096
	scriptDeliveriesPerSecond = 200_000               // deliveries of a game session's own messages
	slowCallback              = 50 * time.Millisecond // longer calls into a script are counted, and a sample is logged as warnings
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

// loginsWaiting bounds the waiting logins so that each gets its turn well within the login
// timeout.
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
	for key, n := range map[string]float64{
		"unauthenticated": float64(l.Unauthenticated), "unauthenticatedPerIP": float64(l.UnauthenticatedPerIP),
		"connectionsPerIPPerSecond": l.ConnectionsPerIPPerSecond, "connectionsPerIPBurst": float64(l.ConnectionsPerIPBurst),
		"connectionsHeld":                  float64(l.ConnectionsHeld),
		"loginFailuresPerIPPerMinute":      float64(l.LoginFailuresPerIPPerMinute),
		"loginsPerPlayerSessionPerMinute":  float64(l.LoginsPerPlayerSessionPerMinute),
		"resumesPerPlayerSessionPerMinute": float64(l.ResumesPerPlayerSessionPerMinute),
		"loginsPerSecond":                  l.LoginsPerSecond, "loginsWaiting": float64(l.LoginsWaiting),
		"playerMessagesPerSecond": l.PlayerMessagesPerSecond,
		"playerMessagesBurst":     l.PlayerMessagesBurst, "playerBytesPerSecond": l.PlayerBytesPerSecond,
		"tooFastFor": float64(l.TooFastFor), "groupOperationsPerSecond": l.GroupOperationsPerSecond,
		"gameSessionBytesPerSecond":         float64(l.GameSessionBytesPerSecond),
		"deliveriesPerGameSessionPerSecond": float64(l.DeliveriesPerGameSessionPerSecond),
	} {
		v.that("limits."+key, n >= 0, "must not be negative; 0 switches it off")
	}
}
