package transporttest

import (
	"context"
	"testing"
	"testing/synctest"

	"troupe/messages/counters"
	"troupe/transport/transporttest/memnet"
)

// Datagrams is a channel that may lose: plain UDP, DTLS, the unreliable part of
// KCP. For it, too, nothing may hold a sync.Mutex while it waits for the network.
type Datagrams interface {
	// Start starts a host side with empty counters. Every error is fatal.
	Start(tb TB, o DatagramOptions) DatagramServer
	// NewestWins reports whether the channel itself keeps an older datagram from
	// arriving after a newer one. A bare association keeps replays away only.
	NewestWins() bool
}

// DatagramOptions are what a host side is started with.
type DatagramOptions struct {
	Network  *memnet.Network // where to listen
	Counters *counters.Set
}

// DatagramServer is a host side.
type DatagramServer interface {
	// Dial opens the channel of one peer with an address of its own, where the
	// network has more than one, and returns when both ends may send. Up gets the
	// payloads that reach the host, down those that reach the client, with the number
	// the channel gave them, or -1 where it gives none. Payloads are valid during the
	// call.
	Dial(ctx context.Context, up func(payload []byte), down func(number int32, payload []byte)) (*DatagramPair, error)
	// Stop closes what is open, clients included, and returns when no goroutine of
	// theirs is left.
	Stop()
}

// DatagramPair is both ends of one peer's channel. None of its functions waits.
type DatagramPair struct {
	Up    func(payload []byte) bool // sends from the client; false: not sent
	Down  func(payload []byte) bool // sends from the host
	Raw   func(b []byte)            // sends bytes of the client's where the channel's own framing belongs
	Close func()                    // ends the host's end
}

// datagramProperty is one promise and the check of it.
type datagramProperty struct {
	name  string
	check func(e *datagramEnv)
}

// datagramProperties is what a lossy channel promises (realtime.md 9,
// reliability.md 1).
var datagramProperties = []datagramProperty{
	{name: "AtMostOnceNewestWinsBothWays", check: datagramsBothWays},
	{name: "ManyPeersAtOnce", check: datagramsOfMany},
	{name: "OversizedIsNotSent", check: datagramTooLarge},
	{name: "GarbageIsDroppedAndCounted", check: datagramGarbage},
	{name: "BlackPathHealsAndHoldsNobodyUp", check: datagramBlackPath},
	{name: "IdleIsSilent", check: datagramIdle},
	{name: "NothingAfterClose", check: datagramClosed},
}

// datagramEnv is what one check works with.
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

// RunDatagrams runs the suite of lossy channels over an in-memory network, in
// virtual time, under the conditions of Run.
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
