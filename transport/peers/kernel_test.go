package peers

import (
	"net"
	"testing"

	"troupe/actors/cluster/clustertest"
	"troupe/messages"
	"troupe/transport"
)

func system(byte) transport.Network { return transport.System }

// All promises that need no cut, on the kernel's sockets: a refused connection, and one that is reset.
func TestConformanceOnSockets(t *testing.T) {
	for _, c := range clustertest.PeerChecks() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			c.Run(t, func(t *testing.T, d messages.Doer) *clustertest.PeerPlace {
				l, err := net.Listen("tcp", "127.0.0.1:0") // its port is free
				if err != nil {
					t.Fatal(err)
				}
				_ = l.Close()
				return newPlace(t, settings(t, system, true), l.Addr().String(), d)
			})
		})
	}
}
