package host

import (
	"troupe/transport/gateway"
)

func (c *Config) gatewayLimits() gateway.Limits {
	l := &c.Limits
	return gateway.Limits{
		MalformedMax:      l.MalformedPackets,
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
	v.that("limits.messageBytes", l.MessageBytes >= 8<<10 && l.MessageBytes <= 1<<20, "must be 8192 to 1048576")
	for key, n := range map[string]float64{
		"unauthenticated": float64(l.Unauthenticated), "unauthenticatedPerIP": float64(l.UnauthenticatedPerIP),
		"connectionsPerIPPerSecond": l.ConnectionsPerIPPerSecond, "connectionsPerIPBurst": float64(l.ConnectionsPerIPBurst),
		"connectionsHeld": float64(l.ConnectionsHeld), "connectionsHeldPerIP": float64(l.ConnectionsHeldPerIP),
		"loginFailuresPerIPPerMinute":      float64(l.LoginFailuresPerIPPerMinute),
		"loginsPerPlayerSessionPerMinute":  float64(l.LoginsPerPlayerSessionPerMinute),
		"resumesPerPlayerSessionPerMinute": float64(l.ResumesPerPlayerSessionPerMinute),
		"loginsPerSecond":                  l.LoginsPerSecond, "loginsWaiting": float64(l.LoginsWaiting),
		"malformedPackets": float64(l.MalformedPackets), "playerMessagesPerSecond": l.PlayerMessagesPerSecond,
		"playerMessagesBurst": l.PlayerMessagesBurst, "playerBytesPerSecond": l.PlayerBytesPerSecond,
		"tooFastFor": float64(l.TooFastFor), "groupOperationsPerSecond": l.GroupOperationsPerSecond,
		"groupsPerPlayer": float64(l.GroupsPerPlayer), "groupsPerGameSession": float64(l.GroupsPerGameSession),
		"gameSessionBytesPerSecond":         float64(l.GameSessionBytesPerSecond),
		"deliveriesPerGameSessionPerSecond": float64(l.DeliveriesPerGameSessionPerSecond),
		"scriptDeliveriesPerSecond":         float64(l.ScriptDeliveriesPerSecond),
	} {
		v.that("limits."+key, n >= 0, "must not be negative; 0 switches it off")
	}
}
