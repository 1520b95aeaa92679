package acceptance_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/script"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// Routing of application messages: RT-35 to RT-44, and what
// realtime.md 10 and 15.2 say about gates and order.

var bothChannels = []stock.Channel{stock.ChannelWebSocket, stock.ChannelUDP}

// plays are the plays of all game sessions of a host.
type plays struct {
	*testHost
	mu  sync.Mutex
	all []*fakeGame
}

// startPlays starts a host whose games are plays; setup, which may be nil, is
// called for each before it starts.
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

// only returns the play of the only game session.
func (g *plays) only() *fakeGame {
	g.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.all) != 1 {
		g.Fatalf("%d game sessions", len(g.all))
	}
	return g.all[0]
}

// of returns the play of a game session.
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

// unlimited lifts the bounds on what one player may send and get.
func unlimited(c *host.Config) {
	c.Limits.PlayerMessagesPerSecond, c.Limits.PlayerBytesPerSecond, c.Limits.GroupOperationsPerSecond = 0, 0, 0
	c.Session.PlayerQueueMessages, c.Session.PlayerQueueBytes = 1<<16, 64<<20
}

// fastPlayers joins n players to a new game of their own, with their fast
// channels confirmed.
func (h *testHost) fastPlayers(n int, o stock.Options) []*stock.Client {
	h.Helper()
	before := h.host.Counters().Connections.Get(counters.UDP)
	all := h.players(n, o)
	h.awaitFast(before, all...)
	return all
}

// awaitFast waits until both sides know that the fast channels of all are up;
// before is how many were.
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

// verified ends a test: nothing that clients received breaks the protocol, and
// all of their datagrams arrived.
func (h *testHost) verified(all ...*stock.Client) {
	h.Helper()
	h.checkReceived(all...)
	for _, c := range all {
		if err := c.CheckSequences(); err != nil {
			h.Errorf("player %d: %v", c.PeerID(), err)
		}
	}
}

const markerOps = 1_000_000 // op codes from here on are fences

var markers atomic.Int32

// fence waits until all that from has sent by via, and whatever the game did
// with it, has reached all players of its game: a marker goes the same way to
// everybody, and when it has come another one goes the other way.
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

// arrive waits until a client has so many messages of an op code, for as long as they
// keep coming: how long thousands take is the machine's affair.
func (h *testHost) arrive(c *stock.Client, op int32, n int) {
	h.Helper()
	got := 0
	for end := time.Now().Add(patience); got < n && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if now := len(numbers(c, op)); now > got {
			got, end = now, time.Now().Add(patience)
		}
	}
}

// gotNone fails if a client received anything of the op code.
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

// gotOne checks that the client's one packet of the op code is want, no field
// more or less, but for its number, and returns it.
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

// saw checks that the named callback saw the op code exactly once, as want.
func (h *testHost) saw(p *fakeGame, name string, want script.Message) {
	h.Helper()
	got := p.messages(name, want.OpCode)
	if len(got) == 1 && len(got[0].Payload) == 0 && len(want.Payload) == 0 {
		got[0].Payload = want.Payload
	}
	if len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		h.Errorf("%s saw %+v, want once %+v", name, got, want)
	}
}

func (h *testHost) sawNone(p *fakeGame, op int32, names ...string) {
	h.Helper()
	for _, name := range names {
		if got := p.messages(name, op); len(got) > 0 {
			h.Errorf("%s saw %+v", name, got)
		}
	}
}

// RT-35.
func TestAMessageToTheServerCallsOnMessageOnceAndRelaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, games := startPlays(t, nil, nil)
		c := h.fastPlayers(3, stock.Options{})
		op := int32(100)
		for _, via := range bothChannels {
			for _, group := range []int32{0, stock.AllPlayers, 5} {
				op++
				h.send(c[0], stock.Message{OpCode: op, TargetPlayer: stock.ServerID, TargetGroup: group, Payload: []byte("up"), Via: via})
				h.fence(c[0], via, c...)
				h.saw(games.only(), "onMessage", script.Message{
					OpCode: op, Sender: 1, TargetPlayer: messages.ServerPeer, TargetGroup: messages.GroupID(group),
					Reliable: via == stock.ChannelWebSocket, Payload: []byte("up"),
				})
				h.sawNone(games.only(), op, "onSendToPlayer", "onSendToGroup")
				h.gotNone(op, c...)
			}
		}
		h.verified(c...)
	})
}

// RT-36.
func TestATargetPlayerGetsItAloneIfTheGateSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const free, refused, panics, self, both, unknown = 200, 210, 220, 230, 240, 250
		h, games := startPlays(t, nil, func(p *fakeGame) {
			p.toPlayer = func(m *script.Message) bool {
				if m.OpCode/10*10 == panics {
					panic("gate")
				}
				return m.OpCode/10*10 != refused
			}
		})
		c := h.fastPlayers(3, stock.Options{})
		for i, via := range bothChannels {
			i, reliable := int32(i), via == stock.ChannelWebSocket
			send := func(op, to, group int32) {
				h.send(c[0], stock.Message{OpCode: op + i, TargetPlayer: to, TargetGroup: group, Payload: []byte{1, byte(op)}, Via: via})
			}
			send(refused, 2, 0)
			send(panics, 2, 0)
			send(unknown, 99, 0)
			send(free, 2, 0)
			send(self, 1, 0)
			send(both, 2, stock.AllPlayers)
			for op, to := range map[int32]int{free: 1, self: 0, both: 1} {
				e := h.gotOne(c[to], stock.Packet{
					OpCode: op + i, TargetPlayer: int32(to) + 1, Sender: 1, Reliable: reliable, Payload: []byte{1, byte(op)},
				})
				if e.Channel != via {
					t.Errorf("came by %v, want %v", e.Channel, via)
				}
				h.gotNone(op+i, c[(to+1)%3], c[(to+2)%3])
			}
			h.fence(c[0], via, c...)
			for _, op := range []int32{refused, panics, unknown} {
				h.gotNone(op+i, c...)
			}
			for op, to := range map[int32]messages.PeerID{free: 2, refused: 2, panics: 2, self: 1, both: 2} {
				h.saw(games.only(), "onSendToPlayer", script.Message{
					OpCode: op + i, Sender: 1, TargetPlayer: to, Reliable: reliable, Payload: []byte{1, byte(op)},
				})
				h.sawNone(games.only(), op+i, "onMessage", "onSendToGroup")
			}
		}
		h.dropped(counters.DropRefusedByHandler, 4)
		h.dropped(counters.DropUnknownTarget, 2)
		if n := h.host.Counters().HandlerErrors.Load(); n != 2 {
			t.Errorf("%d handler errors", n)
		}
		h.verified(c...)
	})
}

// RT-37.
func TestGroupMinusOneReachesAllPlayersTheSenderIncluded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const free, refused, panics, odd = 300, 310, 320, 330
		h, games := startPlays(t, nil, func(p *fakeGame) {
			p.toGroup = func(m *script.Message) bool {
				if m.OpCode/10*10 == panics {
					panic("gate")
				}
				return m.OpCode/10*10 != refused
			}
		})
		c := h.fastPlayers(3, stock.Options{})
		for i, via := range bothChannels {
			i, reliable := int32(i), via == stock.ChannelWebSocket
			for _, op := range []int32{refused, panics, free} {
				h.send(c[1], stock.Message{OpCode: op + i, TargetGroup: stock.AllPlayers, Payload: []byte("all"), Via: via})
			}
			// A target player below -1 is none (rule 3).
			h.send(c[1], stock.Message{OpCode: odd + i, TargetPlayer: -5, TargetGroup: stock.AllPlayers, Via: via})
			for _, p := range c {
				e := h.gotOne(p, stock.Packet{
					OpCode: free + i, TargetGroup: stock.AllPlayers, Sender: 2, Reliable: reliable, Payload: []byte("all"),
				})
				if e.Channel != via {
					t.Errorf("came by %v, want %v", e.Channel, via)
				}
				h.gotOne(p, stock.Packet{OpCode: odd + i, TargetGroup: stock.AllPlayers, Sender: 2, Reliable: reliable})
			}
			h.fence(c[1], via, c...)
			h.gotNone(refused+i, c...)
			h.gotNone(panics+i, c...)
			for _, op := range []int32{free, refused, panics} {
				h.saw(games.only(), "onSendToGroup", script.Message{
					OpCode: op + i, Sender: 2, TargetGroup: messages.AllPlayers, Reliable: reliable, Payload: []byte("all"),
				})
				h.sawNone(games.only(), op+i, "onMessage", "onSendToPlayer")
			}
		}
		h.dropped(counters.DropRefusedByHandler, 4)
		if n := h.host.Counters().HandlerErrors.Load(); n != 2 {
			t.Errorf("%d handler errors", n)
		}
		h.verified(c...)
	})
}

// RT-38.
func TestOnlyMembersSendToAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, games := startPlays(t, nil, nil)
		c := h.fastPlayers(3, stock.Options{})
		for _, p := range c[1:] {
			if err := p.JoinGroup(5, stock.ChannelWebSocket); err != nil {
				t.Fatal(err)
			}
			h.expect(p, stock.Op(stock.OpGroupMembershipUpdate))
		}
		h.expect(c[1], stock.Op(stock.OpGroupMembershipUpdate)) // that the other joined
		for i, via := range bothChannels {
			op := 400 + 10*int32(i)
			h.send(c[0], stock.Message{OpCode: op, TargetGroup: 5, Via: via})
			h.send(c[0], stock.Message{OpCode: op + 1, TargetGroup: 6, Via: via}) // which nobody is in
			h.fence(c[0], via, c...)
			h.dropped(counters.DropNotMember, 2*int64(i+1))
			for _, op := range []int32{op, op + 1} {
				h.gotNone(op, c...)
				h.sawNone(games.only(), op, "onSendToGroup", "onMessage", "onSendToPlayer")
			}
			h.send(c[1], stock.Message{OpCode: op + 2, TargetGroup: 5, Via: via})
			for _, p := range c[1:] {
				h.gotOne(p, stock.Packet{OpCode: op + 2, TargetGroup: 5, Sender: 2, Reliable: via == stock.ChannelWebSocket})
			}
			h.fence(c[1], via, c...)
			h.gotNone(op+2, c[0])
		}
		h.verified(c...)
	})
}

// On the fast channel the sender names the association, so a forged one is a
// datagram from an address not bound to it (RT-24): it is dropped.
// RT-39.
func TestForgedSendersAreNeverDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, games := startPlays(t, nil, nil)
		c := h.fastPlayers(3, stock.Options{})
		forged := []int32{2, 3, stock.ServerID, 0, -2, 99, math.MinInt32, math.MaxInt32}
		op := int32(500)
		for i := range forged {
			for _, m := range []stock.Message{{TargetPlayer: 2}, {TargetGroup: stock.AllPlayers}, {TargetPlayer: stock.ServerID}} {
				op++
				m.OpCode, m.Sender, m.Via = op, &forged[i], stock.ChannelWebSocket
				h.send(c[0], m)
				want := stock.Packet{OpCode: op, TargetPlayer: m.TargetPlayer, TargetGroup: m.TargetGroup, Sender: 1, Reliable: true}
				switch {
				case m.TargetPlayer == stock.ServerID:
					h.until("onMessage", func() error {
						if got := games.only().messages("onMessage", op); len(got) != 1 || got[0].Sender != 1 {
							return fmt.Errorf("saw %+v", got)
						}
						return nil
					})
				case m.TargetPlayer == 2:
					h.gotOne(c[1], want)
				default:
					for _, p := range c {
						h.gotOne(p, want)
					}
				}
			}
		}
		first := op + 1
		for i := range forged {
			for _, m := range []stock.Message{{TargetPlayer: 2}, {TargetGroup: stock.AllPlayers}, {TargetPlayer: stock.ServerID}} {
				op++
				m.OpCode, m.Sender, m.Via = op, &forged[i], stock.ChannelUDP
				h.send(c[0], m)
			}
		}
		h.fence(c[0], stock.ChannelUDP, c...)
		for ; first <= op; first++ {
			h.gotNone(first, c...)
			h.sawNone(games.only(), first, "onMessage", "onSendToPlayer", "onSendToGroup")
		}
		h.dropped(counters.DropFastWrongAddress, 2*3)
		h.dropped(counters.DropFastUnknownSender, 6*3)
		h.verified(c...)
	})
}

// RT-40.
func TestUnlistedNegativeOpCodesAreRelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := startPlays(t, nil, nil)
		c := h.players(2, stock.Options{Flavor: stock.TypeScript})
		for _, op := range []int32{-500, -501, -4, -9, -16, -102, math.MinInt32} {
			h.send(c[0], stock.Message{OpCode: op, Payload: []byte("ts")}) // this client's own default is group -1
			for _, p := range c {
				h.gotOne(p, stock.Packet{OpCode: op, TargetGroup: stock.AllPlayers, Sender: 1, Reliable: true, Payload: []byte("ts")})
			}
		}
		h.verified(c...)
	})
}

// serverOps are the op codes that only the server may emit (D-136), with the
// inner message that a forger would give them.
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

// RT-41.
func TestOpCodesOfTheServerAreNeverRelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, games := startPlays(t, nil, nil)
		c := h.fastPlayers(3, stock.Options{})
		ofServer := func() (n int) {
			for _, p := range c {
				for _, e := range p.Log() {
					if slices.ContainsFunc(serverOps, func(op stock.Packet) bool { return e.OpCode == op.OpCode }) {
						n++
					}
				}
			}
			return n
		}
		before, sent := ofServer(), int64(0)
		for _, via := range bothChannels {
			for _, p := range serverOps {
				for _, to := range [][2]int32{{stock.ServerID, 0}, {stock.ServerID, -1}, {2, 0}, {0, stock.AllPlayers}, {0, 0}} {
					p.TargetPlayer, p.TargetGroup, p.Sender, p.Reliable = to[0], to[1], 1, via == stock.ChannelWebSocket
					p.Payload = []byte("forged")
					if err := c[0].SendPacket(p, via); err != nil {
						t.Fatal(err)
					}
					sent++
				}
			}
			h.fence(c[0], via, c...)
			h.dropped(counters.DropServerOp, sent)
		}
		if after := ofServer(); after != before {
			t.Errorf("%d packets with op codes of the server, %d before", after, before)
		}
		for _, p := range serverOps {
			h.sawNone(games.only(), p.OpCode, "onMessage", "onSendToPlayer", "onSendToGroup")
		}
		h.verified(c...)
	})
}

// RT-42.
func TestAMessageWithoutTargetIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, games := startPlays(t, nil, nil)
		c := h.fastPlayers(2, stock.Options{})
		op, sent := int32(600), int64(0)
		for _, via := range bothChannels {
			for _, to := range [][2]int32{{0, 0}, {-2, 0}, {0, -2}, {-5, -7}, {math.MinInt32, math.MinInt32}} {
				op++
				sent++
				h.send(c[0], stock.Message{OpCode: op, TargetPlayer: to[0], TargetGroup: to[1], Via: via})
			}
			h.fence(c[0], via, c...) // and the connection stays up
			h.dropped(counters.DropNoTarget, sent)
		}
		for ; op > 600; op-- {
			h.gotNone(op, c...)
			h.sawNone(games.only(), op, "onMessage", "onSendToPlayer", "onSendToGroup")
		}
		h.verified(c...)
	})
}

// RT-43.
func TestAPayloadOf4096PassesAndOneOf4097DoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, games := startPlays(t, nil, nil)
		c := h.fastPlayers(2, stock.Options{})
		payload := make([]byte, stock.PayloadMax+1)
		for i := range payload {
			payload[i] = byte(rand.Uint32())
		}
		most := payload[:stock.PayloadMax]
		targets := []stock.Message{{TargetPlayer: 2}, {TargetGroup: stock.AllPlayers}, {TargetPlayer: stock.ServerID}}
		for i, m := range targets {
			m.NoLimit, m.Reliable = true, true
			m.OpCode, m.Payload = 700+int32(i), payload
			h.send(c[0], m)
			m.OpCode, m.Payload = 710+int32(i), most
			h.send(c[0], m)
		}
		h.gotOne(c[1], stock.Packet{OpCode: 710, TargetPlayer: 2, Sender: 1, Reliable: true, Payload: most})
		for _, p := range c {
			h.gotOne(p, stock.Packet{OpCode: 711, TargetGroup: stock.AllPlayers, Sender: 1, Reliable: true, Payload: most})
		}
		h.fence(c[0], stock.ChannelWebSocket, c...)
		h.saw(games.only(), "onMessage", script.Message{OpCode: 712, Sender: 1, TargetPlayer: -1, Reliable: true, Payload: most})
		h.dropped(counters.DropPayloadTooLarge, 3)

		// By UDP, which the SDKs do not do above 1200.
		h.send(c[0], stock.Message{OpCode: 720, TargetPlayer: 2, Payload: payload, NoLimit: true, Via: stock.ChannelUDP})
		h.fence(c[0], stock.ChannelUDP, c...)
		if n := &h.host.Counters().Dropped; n.Get(counters.DropPayloadTooLarge)+n.Get(counters.DropFastMalformed) != 4 {
			t.Error("the large datagram was not counted")
		}
		for _, op := range []int32{700, 701, 702, 720} {
			h.gotNone(op, c...)
			h.sawNone(games.only(), op, "onMessage", "onSendToPlayer", "onSendToGroup")
		}
		h.verified(c...)
	})
}

// number is a payload that carries n.
func number(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

func numberOf(e stock.Event) int {
	if len(e.Payload) < 4 {
		return -1
	}
	return int(binary.BigEndian.Uint32(e.Payload))
}

// numbers returns the numbers of all packets with the op code, in order of
// arrival on their channel.
func numbers(c *stock.Client, op int32) (ns []int) {
	for _, e := range c.Log() {
		if e.Err == nil && e.OpCode == op && !e.Stale {
			ns = append(ns, numberOf(e))
		}
	}
	return ns
}

// rises fails unless got is exactly what want yields for 0, 1 ... n-1.
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

// RT-44.
func TestReliableMessagesOfOneSenderArriveInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count, op = 10_000, 800
		h := startHost(t, unlimited, nil)
		c := h.players(3, stock.Options{EventsMax: 4 * count})
		for i, p := range c {
			if err := p.JoinGroup(7, stock.ChannelWebSocket); err != nil {
				t.Fatal(err)
			}
			h.expect(p, func(e stock.Event) bool {
				return e.GroupMembershipUpdate != nil && len(e.GroupMembershipUpdate.Players) == i+1
			})
		}
		for n := range count {
			m := stock.Message{OpCode: op, TargetPlayer: 2, Payload: number(n), Reliable: true}
			switch n % 3 {
			case 1:
				m.TargetPlayer, m.TargetGroup = 0, 7
			case 2:
				m.TargetPlayer, m.TargetGroup = 0, stock.AllPlayers
			}
			h.send(c[0], m)
		}
		for i, n := range []int{count - (count+2)/3, count, count - (count+2)/3} {
			h.arrive(c[i], op, n)
		}
		h.fence(c[0], stock.ChannelWebSocket, c...)
		group := func(n int) bool { return n%3 != 0 }
		h.rises("sender", numbers(c[0], op), count, group)
		h.rises("target", numbers(c[1], op), count, func(int) bool { return true })
		h.rises("bystander", numbers(c[2], op), count, group)
		h.verified(c...)
	})
}

func TestJoinThenAtOnceAGroupMessageReachesTheSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const groups, op = 20, 900
		h := startHost(t, unlimited, nil)
		c := h.fastPlayers(2, stock.Options{})
		sent := 0
		for _, via := range bothChannels {
			for range groups {
				sent++
				g := int32(sent)
				if err := c[0].JoinGroup(g, via); err != nil {
					t.Fatal(err)
				}
				h.send(c[0], stock.Message{OpCode: op, TargetGroup: g, Payload: number(sent - 1), Via: via})
			}
			h.fence(c[0], via, c...)
		}
		h.rises("sender", numbers(c[0], op), sent, func(int) bool { return true })
		h.gotNone(op, c[1])
		joined := map[int32]bool{}
		for _, e := range c[0].Log() {
			if u := e.GroupMembershipUpdate; u != nil {
				joined[u.Group] = slices.Equal(u.Players, []int32{1})
			}
			if e.OpCode == op && e.Channel == stock.ChannelWebSocket && !joined[e.TargetGroup] {
				t.Errorf("before the update of its group: %v", e)
			}
		}
		if len(joined) != sent {
			t.Errorf("updates of %d groups", len(joined))
		}
		h.dropped(counters.DropNotMember, 0)
		for i, via := range bothChannels {
			if err := c[0].LeaveGroup(int32(i+1), via); err != nil {
				t.Fatal(err)
			}
			h.send(c[0], stock.Message{OpCode: op + 1, TargetGroup: int32(i + 1), Via: via})
			h.fence(c[0], via, c...)
			h.dropped(counters.DropNotMember, int64(i+1))
		}
		h.gotNone(op+1, c...)
		h.verified(c...)
	})
}

func TestDirectAndGroupMessagesOfOneSenderKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rounds, op = 200, 1000
		h := startHost(t, unlimited, nil)
		c := h.players(3, stock.Options{NoUDP: true})
		for i, p := range c[1:] {
			if err := p.JoinGroup(3); err != nil {
				t.Fatal(err)
			}
			h.expect(p, func(e stock.Event) bool {
				return e.GroupMembershipUpdate != nil && len(e.GroupMembershipUpdate.Players) == i+1
			})
		}
		// Each round: join, to the group, to player 2, to all, leave, to player 2. One
		// more player keeps the game session busy meanwhile.
		stop, noise := make(chan struct{}), sync.WaitGroup{}
		noise.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if c[2].Send(stock.Message{OpCode: 2, TargetPlayer: stock.ServerID, Reliable: true}) != nil {
						return
					}
				}
			}
		})
		n := 0
		send := func(m stock.Message) {
			m.OpCode, m.Payload, m.Reliable = op, number(n), true
			h.send(c[0], m)
			n++
		}
		for round := range rounds {
			if round%20 == 19 { // what may wait behind group operations is bounded
				h.fence(c[0], stock.ChannelWebSocket, c[0])
			}
			if err := c[0].JoinGroup(3); err != nil {
				t.Fatal(err)
			}
			send(stock.Message{TargetGroup: 3})
			send(stock.Message{TargetPlayer: 2})
			send(stock.Message{TargetGroup: stock.AllPlayers})
			if err := c[0].LeaveGroup(3); err != nil {
				t.Fatal(err)
			}
			send(stock.Message{TargetPlayer: 2})
		}
		close(stop)
		noise.Wait()
		h.fence(c[0], stock.ChannelWebSocket, c...)
		group := func(n int) bool { return n%4 == 0 || n%4 == 2 }
		h.rises("sender", numbers(c[0], op), n, group)
		h.rises("target", numbers(c[1], op), n, func(int) bool { return true })
		h.rises("bystander", numbers(c[2], op), n, group)
		h.dropped(counters.DropNotMember, 0)
		h.verified(c...)
	})
}

// RL-2: a reliable message is delivered, or the player session ends with a reason.
// A client whose joins and messages the game session finds all at once, as after
// a callback that took its time, is no exception.
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
		h.fence(c[1], stock.ChannelWebSocket, c[1]) // behind all of it in the game session's mailbox
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

// D-137, D-129: after login an op code 0 is for the server alone, a LOGIN for nobody.
func TestOpCode0AfterLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, games := startPlays(t, nil, nil)
		c := h.fastPlayers(2, stock.Options{})
		payload, seen, logins := 0, 0, int64(0)
		for _, via := range bothChannels {
			for _, to := range [][2]int32{{0, stock.AllPlayers}, {2, 0}, {stock.ServerID, 0}, {0, 0}} {
				h.send(c[0], stock.Message{TargetPlayer: to[0], TargetGroup: to[1], Payload: number(payload), Via: via})
				payload++
				p := stock.LoginPacket(stock.CSharp, "psess-anybody", []byte("again"))
				p.TargetPlayer, p.TargetGroup, p.Sender, p.Reliable = to[0], to[1], 1, via == stock.ChannelWebSocket
				if err := c[0].SendPacket(p, via); err != nil {
					t.Fatal(err)
				}
				logins++
			}
			h.fence(c[0], via, c...)
			h.dropped(counters.DropSecondLogin, logins)
		}
		for _, m := range games.only().messages("onMessage", 0) {
			if n := int(binary.BigEndian.Uint32(m.Payload)); n != seen || m.Sender != 1 {
				t.Errorf("onMessage saw %+v, want number %d", m, seen)
			}
			seen++
		}
		if seen != payload {
			t.Errorf("onMessage saw %d of %d", seen, payload)
		}
		h.sawNone(games.only(), 0, "onSendToPlayer", "onSendToGroup")
		h.gotNone(0, c...)
		h.verified(c...) // no second LOGIN_RESPONSE among it
	})
}

// What a client adds to a packet, known fields and unknown ones, stays behind.
func TestDeliveredPacketsHaveNoOtherFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, nil, nil)
		c := h.fastPlayers(2, stock.Options{})
		unknown := []byte{
			0xC8, 0x3E, 7, 0xD0, 0x3E, 9, // 1001 and 1002: the extension's numbers and acks
			0x82, 0x01, 2, 'x', 'y', // 16
		}
		for i, via := range bothChannels {
			for j, p := range append(slices.Clone(serverOps), stock.Packet{}, stock.Packet{Ping: &stock.Empty{}},
				stock.Packet{Login: &stock.LoginCommand{PlayerSessionID: "psess-x"}}, stock.Packet{JoinGroup: &stock.GroupRef{Group: 4}}) {
				p.OpCode = int32(1100 + 100*i + j)
				p.TargetPlayer, p.TargetGroup, p.Sender, p.Reliable = 2, 9, 1, via == stock.ChannelWebSocket
				p.ClientVersion, p.SequenceNumber, p.Payload = 7, int32(1000+j), []byte("data")
				unit := stock.Unit(append(stock.EncodePacket(p), unknown...))
				send := c[0].SendRawReliable
				if via == stock.ChannelUDP {
					send = c[0].SendRawFast
				}
				if err := send(unit); err != nil {
					t.Fatal(err)
				}
				h.gotOne(c[1], stock.Packet{
					OpCode: p.OpCode, TargetPlayer: 2, Sender: 1, Reliable: via == stock.ChannelWebSocket, Payload: []byte("data"),
				})
			}
		}
		if g := c[0].Groups(); len(g) > 0 {
			t.Errorf("in groups %v", g)
		}
		h.verified(c...)
	})
}

func TestHandlerAnswersInOnMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ask, answer = 1300, 1400
		h, games := startPlays(t, nil, func(p *fakeGame) {
			p.message = func(s script.Session, m *script.Message) {
				out := script.Outgoing{OpCode: m.OpCode + answer - ask, Sender: s.ServerID(), Payload: append([]byte("re:"), m.Payload...)}
				switch m.Text() {
				case "fast":
					s.SendMessage(out, m.Sender)
				case "reliable":
					s.SendReliableMessage(out, m.Sender)
				case "fast all":
					s.SendGroupMessage(out, s.AllPlayersGroupID())
				case "reliable all":
					s.SendReliableGroupMessage(out, s.AllPlayersGroupID())
				}
			}
		})
		c := h.fastPlayers(3, stock.Options{})
		op := int32(ask)
		for _, via := range bothChannels {
			for _, how := range []string{"fast", "reliable", "fast all", "reliable all"} {
				op++
				h.send(c[0], stock.Message{OpCode: op, TargetPlayer: stock.ServerID, Payload: []byte(how), Via: via})
				want := stock.Packet{OpCode: op + answer - ask, Sender: stock.ServerID, Reliable: strings.HasPrefix(how, "reliable"), Payload: []byte("re:" + how)}
				if !strings.HasSuffix(how, "all") {
					want.TargetPlayer = 1
					h.gotOne(c[0], want)
					continue
				}
				want.TargetGroup = stock.AllPlayers
				for _, p := range c {
					h.gotOne(p, want)
				}
			}
			h.fence(c[0], via, c...)
		}
		for o := ask + answer - ask + 1; o <= int(op)+answer-ask; o++ { // a script's own messages pass no gate
			h.sawNone(games.only(), int32(o), "onSendToPlayer", "onSendToGroup")
		}
		h.verified(c...)
	})
}

func TestMessagesOfOneCallbackLeaveInCallOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const op, rounds, each = 1500, 50, 12
		h, _ := startPlays(t, unlimited, func(p *fakeGame) {
			n := 0
			p.message = func(s script.Session, _ *script.Message) {
				for range each / 3 {
					for _, send := range []func(script.Outgoing){
						func(m script.Outgoing) { s.SendReliableMessage(m, 1) },
						func(m script.Outgoing) { s.SendReliableGroupMessage(m, messages.AllPlayers) },
						func(m script.Outgoing) { s.SendReliableMessage(m, 2) },
					} {
						send(script.Outgoing{OpCode: op, Sender: 77, Payload: number(n)}) // the sender is free
						n++
					}
				}
			}
		})
		c := h.players(2, stock.Options{NoUDP: true})
		for range rounds {
			h.send(c[0], stock.Message{OpCode: 1, TargetPlayer: stock.ServerID, Reliable: true})
		}
		h.fence(c[0], stock.ChannelWebSocket, c...)
		h.rises("player 1", numbers(c[0], op), rounds*each, func(n int) bool { return n%3 != 2 })
		h.rises("player 2", numbers(c[1], op), rounds*each, func(n int) bool { return n%3 != 0 })
		for _, e := range c[0].Log() {
			if e.OpCode == op && e.Sender != 77 {
				t.Fatalf("got %v", e)
			}
		}
		h.verified(c...)
	})
}

func TestGroupGatesThatRefuseOrPanicCountAsNo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const free, refused, panics = 1, 2, 3
		decide := func(g messages.GroupID, _ messages.PeerID) bool {
			if g == panics {
				panic("gate")
			}
			return g == free
		}
		h, games := startPlays(t, unlimited, func(p *fakeGame) {
			p.joinGroup = func(g messages.GroupID, who messages.PeerID) bool { return who == 2 || decide(g, who) }
			p.leaveGroup = decide
		})
		c := h.fastPlayers(2, stock.Options{})
		update := func(from *stock.Client, group int32, members ...int32) {
			t.Helper()
			e := h.expect(from, stock.Op(stock.OpGroupMembershipUpdate))
			if u := e.GroupMembershipUpdate; u == nil || u.Group != group || !slices.Equal(u.Players, members) || e.Sender != stock.ServerID {
				t.Fatalf("got %v %+v, want group %d = %v", e, u, group, members)
			}
		}
		do := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, via := range bothChannels {
			for _, g := range []int32{refused, panics} {
				do(c[1].JoinGroup(g, via))
				update(c[1], g, 2)
				do(c[0].JoinGroup(g, via))
				update(c[0], g, 2)
				if slices.Contains(c[0].Groups(), g) {
					t.Error("the client believes to be in")
				}
				do(c[1].LeaveGroup(g, via))
				update(c[1], g, 2)
				h.send(c[1], stock.Message{OpCode: 1600 + g, TargetGroup: g, Via: via})
				h.expect(c[1], stock.Op(1600+g)) // it has not left
			}
			do(c[0].JoinGroup(free, via))
			update(c[0], free, 1)
			do(c[0].LeaveGroup(free, via))
			h.fence(c[0], via, c...)
		}
		for _, p := range c {
			if err := p.ExpectSilence(0, stock.Op(stock.OpGroupMembershipUpdate)); err != nil {
				t.Error(err) // only the requester is answered
			}
		}
		if n := h.host.Counters().HandlerErrors.Load(); n != 4 {
			t.Errorf("%d handler errors", n)
		}
		if games.only().overlapped() {
			t.Error("callbacks overlapped")
		}
		h.verified(c...)
	})
}

// A panic in onMessage costs that message alone.
func TestOnMessageThatPanicsHarmsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := startPlays(t, nil, func(p *fakeGame) {
			p.message = func(s script.Session, m *script.Message) {
				s.SendReliableMessage(script.Outgoing{OpCode: 1701, Sender: -1, Payload: m.Payload}, m.Sender)
				panic("after the answer")
			}
		})
		c := h.fastPlayers(2, stock.Options{})
		for n := range 20 {
			h.send(c[n%2], stock.Message{OpCode: 1700, TargetPlayer: stock.ServerID, Payload: number(n), Via: bothChannels[n/2%2]})
			if e := h.expect(c[n%2], stock.Op(1701)); numberOf(e) != n {
				t.Fatalf("got %v", e)
			}
		}
		if n := h.host.Counters().HandlerErrors.Load(); n != 20 {
			t.Errorf("%d handler errors", n)
		}
		h.fence(c[0], stock.ChannelUDP, c...)
		h.verified(c...)
	})
}
