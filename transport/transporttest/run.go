package transporttest

import (
	"testing"
	"testing/synctest"
)

// property is a guarantee and its check.
type property struct {
	name  string
	check func(e *env)
}

// Run runs the suite over an in-memory network, in virtual time, under every network condition. With -short,
// it uses only the conditions without loss and with the most loss.
func Run(t *testing.T, tr Transport) {
	for i := range conditions {
		c := &conditions[i]
		t.Run(c.name, func(t *testing.T) {
			c.skipIfShort(t)
			for _, p := range properties {
				t.Run(p.name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { p.check(newEnv(t, tr, c)) })
				})
			}
		})
	}
}

// properties are the guarantees, in the order of transport/conn.go.
var properties = []property{
	{name: "AcceptComesFirstAndIDsAreUnique", check: acceptComesFirst},
	{name: "RefusedByTheAcceptor", check: refusedByTheAcceptor},
	{name: "AdmissionTicketsComeBack", check: admissionTickets},

	{name: "ReliableBothWaysAtOnce", check: reliableBothWays},
	{name: "ManyConnectionsAtOnce", check: manyConnections},
	{name: "SendGoesBeforeTheSource", check: sendGoesFirst},
	{name: "SendIsBoundedAndReleasesFrames", check: sendIsBounded},
	{name: "SetSourceWaitsForTheDrain", check: setSourceWaits},
	{name: "SourceMovesBetweenConnections", check: sourceMoves},
	{name: "AnyGoroutineMayCall", check: anyGoroutine},
	{name: "PingComesBack", check: pingComesBack},
	{name: "PingsKeepAnIdleConnectionAlive", check: pingsKeepAlive},
	{name: "IdleIsSilent", check: idleIsSilent},

	{name: "StoppedReader", check: stoppedReader},
	{name: "SlowReader", check: slowReader},
	{name: "SlowHandlerIsBackPressure", check: slowHandler},
	{name: "HalfOpenPeer", check: halfOpenPeer},

	{name: "CleanEnd", check: cleanEnd},
	{name: "AbruptEnd", check: abruptEnd},
	{name: "HostClose", check: hostClose},
	{name: "HostCloseOfAStoppedReader", check: hostCloseStopped},
	{name: "ClosedConnectionIgnoresCalls", check: closedIgnores},
	{name: "OversizedMessage", check: oversized},
	{name: "Garbage", check: garbage},
}
