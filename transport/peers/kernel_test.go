package peers

import (
	"net"
	"testing"

	"troupe/actors/cluster/clustertest"
	"troupe/messages"
	"troupe/messages/coord"
	"troupe/transport"
)

func system(byte) transport.Network { return transport.System }

// The checks that need no PeerPlace.Cut, on sockets of the kernel. They include a refused connection and a reset one.
func TestConformanceOnSockets(t *testing.T) {
	for _, c := range clustertest.PeerChecks() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			c.Run(t, func(t *testing.T, d messages.Doer) *clustertest.PeerPlace {
				l, err := net.Listen("tcp", "127.0.0.1:0") // finds a free port
				if err != nil {
					t.Fatal(err)
				}
				_ = l.Close()
				return newPlace(t, settings(t, system, true), l.Addr().String(), d)
			})
		})
	}
}

// One node has certificates, and another one on the same machine has none.
func TestOnlyOneHasCertificates(t *testing.T) {
	with, without := settings(t, system, true), settings(t, system, false)
	for what, c := range map[string]struct{ client, server Options }{
		"the server": {without.a, with.b}, "the client": {with.a, without.b},
	} {
		b := start(t, c.server, nothing, "127.0.0.1:0", 7)
		err := hello(t, client(t, c.client), node("b", b.addr))
		wants(t, what, err, coord.ErrUnavailable)
		wants(t, what, err, coord.ErrUntrusted)
	}
}
