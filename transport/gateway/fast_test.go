package gateway

import (
	"net/netip"
	"testing"

	"troupe/actors/connection"
	"troupe/messages/counters"
	"troupe/transport"
	"troupe/transport/fast"
	"troupe/transport/transporttest/memnet"
)

type numberedConn struct{ transport.Conn }

func (numberedConn) ID() uint64 { return 1 }

func (numberedConn) Channel() counters.Channel { return counters.WS }

func (numberedConn) RemoteAddr() netip.AddrPort { return netip.MustParseAddrPort("127.0.0.1:4000") }

// A -5 may be read from the WebSocket while the player's actor is opening the fast channel.
func TestRestartWhileTheFastChannelIsOpened(t *testing.T) {
	network := memnet.New(memnet.Seed(t))
	defer network.Close()
	pool, err := fast.Listen(fast.Options{Addr: "127.0.0.1:0", Enabled: true, ListenPacket: network.Machine().ListenPacket})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	g := New(Options{Fast: pool, Counters: new(counters.Set)})
	p := &peer{gateway: g, conn: numberedConn{}, handle: new(connection.Handle)}
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		p.OpenFast(1)
	}()
	for done := false; !done; {
		p.restartFast()
		select {
		case <-opened:
			done = true
		default:
		}
	}
	before := g.o.Counters.Dropped.Get(counters.DropWrongChannel)
	if p.restartFast(); g.o.Counters.Dropped.Get(counters.DropWrongChannel) != before {
		t.Error("dropped, although there is a fast channel")
	}
}
