package acceptance_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/script"
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
