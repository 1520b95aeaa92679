package peers

import (
	"net"
	"testing"

	"troupe/actors/cluster/clustertest"
	"troupe/messages"
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
