package transporttest

import (
	"context"
	"testing"
	"testing/synctest"

	"troupe/messages/counters"
	"troupe/transport/transporttest/memnet"
)

// Datagrams is an unreliable channel: plain UDP, DTLS, or the unreliable part of KCP. As with Transport, it
// must not hold a sync.Mutex while it waits for the network.
type Datagrams interface {
	// Start starts a host side whose counters are zero. Every error is fatal.
	Start(tb TB, o DatagramOptions) DatagramServer
	// NewestWins reports whether the channel itself drops an older datagram that arrives after a newer one. A
	// plain association only drops replayed datagrams.
	NewestWins() bool
}

// DatagramOptions configures a host side.
type DatagramOptions struct {
	Network  *memnet.Network // the network to listen on
	Counters *counters.Set
}

// DatagramServer is a running host side.
type DatagramServer interface {
	// Dial opens the channel of one peer. The peer has its own address if the network has several. Dial
	// returns when both ends may send. up receives the payloads that reach the host. down receives those that
	// reach the client, with the number that the channel gave them, or -1 if it gives none. Payloads are
	// valid during the call only.
	Dial(ctx context.Context, up func(payload []byte), down func(number int32, payload []byte)) (*DatagramPair, error)
	// Stop closes everything, including clients, and returns when all their goroutines have ended.
	Stop()
}

// DatagramPair has both ends of a peer's channel. None of its functions blocks.
type DatagramPair struct {
	Up    func(payload []byte) bool // sends from the client; false if it was not sent
	Down  func(payload []byte) bool // sends from the host; false if it was not sent
	Raw   func(b []byte)            // sends bytes of the client without the channel's framing
	Close func()                    // closes the host's end
}

// datagramProperty is a guarantee and its check.
type datagramProperty struct {
	name  string
	check func(e *datagramEnv)
}

// datagramProperties are the guarantees of an unreliable channel (realtime.md 9, reliability.md 1).
var datagramProperties = []datagramProperty{
	{name: "AtMostOnceNewestWinsBothWays", check: datagramsBothWays},
	{name: "ManyPeersAtOnce", check: datagramsOfMany},
	{name: "OversizedIsNotSent", check: datagramTooLarge},
	{name: "GarbageIsDroppedAndCounted", check: datagramGarbage},
	{name: "BlackPathHealsAndHoldsNobodyUp", check: datagramBlackPath},
	{name: "IdleIsSilent", check: datagramIdle},
	{name: "NothingAfterClose", check: datagramClosed},
}

// datagramEnv is the environment of one check.
type datagramEnv struct {
	*env
	channel Datagrams
	cond    *condition
	server  DatagramServer
}

func newDatagramEnv(tb TB, d Datagrams, c *condition) *datagramEnv {
	e := &datagramEnv{env: newEnv(tb, nil, c), channel: d, cond: c}
	e.server = d.Start(tb, DatagramOptions{Network: e.net, Counters: e.opt.Counters})
	tb.Cleanup(e.server.Stop)
	return e
}

// RunDatagrams runs the suite of unreliable channels over an in-memory network, in virtual time, with the
// network conditions of Run.
func RunDatagrams(t *testing.T, d Datagrams) {
	for i := range conditions {
		c := &conditions[i]
		t.Run(c.name, func(t *testing.T) {
			c.skipIfShort(t)
			for _, p := range datagramProperties {
				t.Run(p.name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { p.check(newDatagramEnv(t, d, c)) })
				})
			}
		})
	}
}
