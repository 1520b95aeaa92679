package acceptance_test

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"troupe/actors/script"
	"troupe/messages/counters"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

var bothChannels = []stock.Channel{stock.ChannelWebSocket, stock.ChannelUDP}

// plays are the games of all game sessions of a host.
type plays struct {
	*testHost
	mu  sync.Mutex
	all []*fakeGame
}

// startPlays starts a host whose games are in plays. setup, which may be nil, is called for each game before
// it starts.
func startPlays(t *testing.T, change func(*host.Config), setup func(*fakeGame)) (*testHost, *plays) {
	t.Helper()
	games := &plays{}
	games.testHost = startHost(t, change, func() script.Handler {
		p := &fakeGame{}
		if setup != nil {
			setup(p)
		}
		games.mu.Lock()
		defer games.mu.Unlock()
		games.all = append(games.all, p)
		return p
	})
	return games.testHost, games
}

// only returns the game of the only game session.
func (g *plays) only() *fakeGame {
	g.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.all) != 1 {
		g.Fatalf("%d game sessions", len(g.all))
	}
	return g.all[0]
}

// of returns the game of a game session.
func (g *plays) of(game string) *fakeGame {
	g.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.all {
		p.mu.Lock()
		id := p.id
		p.mu.Unlock()
		if id == game {
			return p
		}
	}
	g.Fatalf("no play of %s", game)
	return nil
}

// unlimited removes the limits on what a player may send and receive.
func unlimited(c *host.Config) {
	c.Limits.PlayerMessagesPerSecond, c.Limits.PlayerBytesPerSecond, c.Limits.GroupOperationsPerSecond = 0, 0, 0
	c.Session.PlayerQueueMessages, c.Session.PlayerQueueBytes = 1<<16, 64<<20
}

// fastPlayers lets n players join a new game session, and waits until their fast channels are confirmed.
func (h *testHost) fastPlayers(n int, o stock.Options) []*stock.Client {
	h.Helper()
	before := h.host.Counters().Connections.Get(counters.UDP)
	all := h.players(n, o)
	h.awaitFast(before, all...)
	return all
}

// awaitFast waits until both sides have confirmed the fast channels of all clients. before is the number of
// fast channels before that.
func (h *testHost) awaitFast(before int64, all ...*stock.Client) {
	h.Helper()
	for _, c := range all {
		if err := c.AwaitFast(h.context()); err != nil {
			h.Fatal(err)
		}
	}
	h.until("fast channels confirmed", func() error {
		if n := h.host.Counters().Connections.Get(counters.UDP) - before; n < int64(len(all)) {
			return fmt.Errorf("%d of %d", n, len(all))
		}
		return nil
	})
}

// verified is called at the end of a test. It checks that everything the clients received follows the
// protocol, and that all their datagrams arrived.
func (h *testHost) verified(all ...*stock.Client) {
	h.Helper()
	h.checkReceived(all...)
	for _, c := range all {
		if err := c.CheckSequences(); err != nil {
			h.Errorf("player %d: %v", c.PeerID(), err)
		}
	}
}

const markerOps = 1_000_000 // op codes from this one on are used by fence

var markers atomic.Int32

// fence waits until everything that from has sent on via, and everything the game has sent in response, has
// reached all players of the game. It sends a marker to everybody on the same channel, and then another
// marker on the other channel.
func (h *testHost) fence(from *stock.Client, via stock.Channel, all ...*stock.Client) {
	h.Helper()
	ways := []stock.Channel{via}
	if from.Status() == stock.StatusConnectedSendFast {
		ways = append(ways, stock.ChannelWebSocket+stock.ChannelUDP-via)
	}
	for _, way := range ways {
		op := markerOps + markers.Add(1)
		h.send(from, stock.Message{OpCode: op, TargetGroup: stock.AllPlayers, Via: way})
		for _, c := range all {
			h.expect(c, stock.Op(op))
		}
	}
}

// gotNone fails the test if a client has received a packet with the op code.
func (h *testHost) gotNone(op int32, all ...*stock.Client) {
	h.Helper()
	for _, c := range all {
		for _, e := range c.Log() {
			if e.Err == nil && e.OpCode == op {
				h.Errorf("player %d got %v", c.PeerID(), e)
			}
		}
	}
}

// gotOne checks that the client has received one packet with the op code, and that all its fields except the
// sequence number equal want. It returns the packet.
func (h *testHost) gotOne(c *stock.Client, want stock.Packet) stock.Event {
	h.Helper()
	e := h.expect(c, stock.Op(want.OpCode))
	got := e.Packet
	got.SequenceNumber = 0
	if len(got.Payload) == 0 && len(want.Payload) == 0 {
		got.Payload = want.Payload
	}
	if !reflect.DeepEqual(got, want) {
		h.Errorf("player %d got %v, want %+v", c.PeerID(), e, want)
	}
	return e
}

func (h *testHost) sawNone(p *fakeGame, op int32, names ...string) {
	h.Helper()
	for _, name := range names {
		if got := p.messages(name, op); len(got) > 0 {
			h.Errorf("%s saw %+v", name, got)
		}
	}
}

// serverOps are the op codes that only the server may send (D-136), with the inner message that a forged
// packet might have.
var serverOps = []stock.Packet{
	{OpCode: stock.OpLoginResponse, LoginResult: &stock.LoginResult{Success: true, PeerID: 2, FastPort: 9}},
	{OpCode: stock.OpPingResult, PingResult: &stock.Empty{}},
	{OpCode: stock.OpServerAck, UDPConnect: &stock.Empty{}},
	{OpCode: stock.OpGroupMembershipUpdate, GroupMembershipUpdate: &stock.GroupMembershipUpdate{Group: 1, Players: []int32{9}}},
	{OpCode: stock.OpVerifyIdentityResponse, VerifyIdentityResult: &stock.VerifyIdentityResult{Success: true, PeerID: 2}},
	{OpCode: stock.OpPlayerConnect, PlayerConnect: &stock.PlayerRef{PeerID: 9}},
	{OpCode: stock.OpPlayerDisconnect, PlayerDisconnect: &stock.PlayerRef{PeerID: 2}},
	{OpCode: stock.OpGameStart},
	{OpCode: stock.OpGameEnd},
}

// number returns a payload that contains n.
func number(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

func numberOf(e stock.Event) int {
	if len(e.Payload) < 4 {
		return -1
	}
	return int(binary.BigEndian.Uint32(e.Payload))
}

// numbers returns the numbers in all packets with the op code, in order of arrival on their channel.
func numbers(c *stock.Client, op int32) (ns []int) {
	for _, e := range c.Log() {
		if e.Err == nil && e.OpCode == op && !e.Stale {
			ns = append(ns, numberOf(e))
		}
	}
	return ns
}

// rises checks that got has exactly those of the numbers 0 to n-1 for which want returns true, in order.
func (h *testHost) rises(who string, got []int, n int, want func(int) bool) {
	h.Helper()
	at := 0
	for i := range n {
		if !want(i) {
			continue
		}
		if at >= len(got) || got[at] != i {
			h.Errorf("%s: after %v comes %v, want %d; %d in all", who, got[max(0, at-3):min(at, len(got))], got[min(at, len(got)):min(at+3, len(got))], i, len(got))
			return
		}
		at++
	}
	if at != len(got) {
		h.Errorf("%s: %d too many: %v", who, len(got)-at, got[at:min(at+3, len(got))])
	}
}

// RL-2: a reliable message is delivered, or the player session ends with a reason. That also holds if the
// game session finds many joins and messages of a client at once, for example after a slow callback.
func TestReliableMessagesBehindGroupOperationsAreNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rounds, each, op = 500, 4, 1050
		entered, release := make(chan struct{}), make(chan struct{})
		let := sync.OnceFunc(func() { close(release) })
		h, _ := startPlays(t, unlimited, func(p *fakeGame) {
			p.message = func(script.Session, *script.Message) {
				close(entered)
				<-release
			}
		})
		t.Cleanup(let)
		c := h.players(2, stock.Options{NoUDP: true})
		h.send(c[1], stock.Message{OpCode: 1, TargetPlayer: stock.ServerID, Reliable: true})
		<-entered
		before := h.host.Counters().MessagesIn.Get(counters.WS)
		for n := range rounds {
			if err := c[0].JoinGroup(3); err != nil {
				t.Fatal(err)
			}
			for i := range each - 1 {
				h.send(c[0], stock.Message{OpCode: op, TargetPlayer: 2, Payload: number((each-1)*n + i), Reliable: true})
			}
		}
		h.untilCount("taken in", func() int64 { return h.host.Counters().MessagesIn.Get(counters.WS) - before }, rounds*each)
		let()
		h.fence(c[1], stock.ChannelWebSocket, c[1]) // its marker is after all of them in the game session's mailbox
		h.until("delivery, or an end with a reason", func() error {
			got, dropped := len(numbers(c[1], op)), h.host.Counters().Dropped.Get(counters.DropStashFull)
			switch ended := c[0].Err() != nil || c[0].Status() == stock.StatusDisconnected; {
			case got == rounds*(each-1) || ended:
				return nil
			case dropped > 0:
				t.Fatalf("at least %d of %d packets were dropped as stash_full, and the sender lives on", dropped, rounds*each)
			}
			return fmt.Errorf("%d of %d delivered", got, rounds*(each-1))
		})
		if c[0].Status() != stock.StatusDisconnected {
			h.rises("recipient", numbers(c[1], op), rounds*(each-1), func(int) bool { return true })
		}
		h.verified(c...)
	})
}
