package acceptance_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// flavors are the stock clients that a check has to hold for.
var flavors = []stock.Flavor{stock.CSharp, stock.TypeScript}

func flavorName(f stock.Flavor) string {
	if f == stock.TypeScript {
		return "TypeScript"
	}
	return "CSharp"
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// seat1 returns one reserved player session of a new game session.
func (h *testHost) seat1() string {
	h.Helper()
	return h.seats(h.newGame(8), 1)[0]
}

// sendRaw sends bytes as one binary message.
func (h *testHost) sendRaw(c *stock.Client, raw []byte) {
	h.Helper()
	if err := c.SendRawReliable(raw); err != nil {
		h.Fatal(err)
	}
}

func (h *testHost) sendPacket(c *stock.Client, p stock.Packet) {
	h.Helper()
	h.sendRaw(c, stock.EncodeUnit(p))
}

// talk has two players of one game exchange a message: the host lives, and they
// are not affected by whatever went on before.
func (h *testHost) talk(from, to *stock.Client) {
	h.Helper()
	payload := fmt.Sprintf("still here %d", time.Now().UnixNano())
	h.send(from, stock.Message{OpCode: 4242, TargetPlayer: to.PeerID(), Payload: []byte(payload), Reliable: true})
	h.expect(to, func(e stock.Event) bool {
		return e.OpCode == 4242 && e.Sender == from.PeerID() && string(e.Payload) == payload
	})
}

// RT-2.
func TestOneUnitPerMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, nil, nil)
		p := h.players(2, stock.Options{})
		ts := h.join(h.seats(h.newGame(2), 1)[0], stock.Options{Flavor: stock.TypeScript})
		// Lengths of one, two and three bytes; the TypeScript client would choke on
		// anything behind a unit.
		for i, size := range []int{0, 1, 100, 127, 128, 300, 4096} {
			payload := bytes.Repeat([]byte{byte(i)}, size)
			h.send(p[0], stock.Message{OpCode: 7, TargetGroup: -1, Payload: payload, Reliable: true})
			for _, c := range p {
				if e := h.expect(c, stock.Op(7)); !bytes.Equal(e.Payload, payload) || e.Sender != 1 || e.TargetGroup != -1 {
					t.Errorf("size %d: got %v", size, e)
				}
			}
			h.send(ts, stock.Message{OpCode: 7, Payload: payload})
			if e := h.expect(ts, stock.Op(7)); !bytes.Equal(e.Payload, payload) || !e.Reliable {
				t.Errorf("TypeScript, size %d: got %v", size, e)
			}
		}
		// What follows the first unit is ignored, and not passed on.
		unit := stock.EncodeUnit(stock.Packet{OpCode: 8, TargetPlayer: 2, Sender: 1, Reliable: true, Payload: []byte("x")})
		h.sendRaw(p[0], append(append([]byte{}, unit...), unit...))
		h.expect(p[1], stock.Op(8))
		h.talk(p[0], p[1])
		if err := p[1].ExpectSilence(50*time.Millisecond, stock.Op(8)); err != nil {
			t.Error(err)
		}
		if n := h.host.Counters().Dropped.Get(counters.DropMalformed); n != 0 {
			t.Errorf("%d packets dropped as malformed", n)
		}
		h.checkReceived(append(p, ts)...)
	})
}

// TestVectorsByteForByte has the vectors of realtime.md 14.2 that do not depend on
// an id or a port cross real sockets byte for byte.
// RT-3.
func TestVectorsByteForByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fakeGame{}
		h := startHost(t, nil, g.make)
		refused := h.dial("psess-1", stock.Options{})
		if got := h.expectRefused(refused); hex.EncodeToString(got) != "12080128ffffffffffffffffff013001fa0100" {
			t.Errorf("LOGIN_RESPONSE refused: %x", got)
		}

		p := h.players(2, stock.Options{})
		ack := h.expect(p[0], stock.Op(stock.OpServerAck))
		if got := hex.EncodeToString(ack.Raw); got != "12080b180128ffffffffffffffffff01920200" {
			t.Errorf("SERVER_ACK to peer 1: %s", got)
		}
		if err := p[1].JoinGroup(1, stock.ChannelWebSocket); err != nil {
			t.Fatal(err)
		}
		h.expect(p[1], stock.Op(stock.OpGroupMembershipUpdate))
		h.sendRaw(p[0], unhex("16081318ffffffffffffffffff0128013001c202020801"))
		update := h.expect(p[0], stock.Op(stock.OpGroupMembershipUpdate))
		if got := hex.EncodeToString(update.Raw); got != "1a0819180128ffffffffffffffffff013001da0206080112020201" {
			t.Errorf("GROUP_MEMBERSHIP_UPDATE group 1 = {2,1} to peer 1: %s", got)
		}

		h.sendRaw(p[0], unhex("15081418ffffffffffffffffff01280130017a026869"))
		g.await(t, "onMessage 10 from 1 reliable true \"hi\"")
		h.sendRaw(p[0], unhex("1308da0420ffffffffffffffffff0128017a0101")) // came by WebSocket: it counts as such
		if e := h.expect(p[1], stock.Op(301)); e.Sender != 1 || e.TargetGroup != -1 || !bytes.Equal(e.Payload, []byte{1}) {
			t.Errorf("op 301: %v", e)
		}
		h.checkReceived(append(p, refused)...)
	})
}

// RT-6.
func TestAbsentOpCodeIsLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, nil, nil)
		game := h.newGame(8)
		for _, flavor := range flavors {
			for _, explicit := range []bool{false, true} {
				id := h.seats(game, 1)[0]
				packet := stock.EncodePacket(stock.LoginPacket(flavor, id, nil))
				if packet[0] == 0x08 {
					t.Fatal("the stock client wrote op code 0")
				}
				if explicit { // no client writes the default, but a protobuf reader takes it
					packet = append([]byte{0x08, 0x00}, packet...)
				}
				c := h.dial(id, stock.Options{Flavor: flavor, NoLogin: true})
				h.sendRaw(c, stock.Unit(packet))
				if _, err := c.AwaitLogin(h.context()); err != nil {
					t.Errorf("%s, explicit %v: %v", flavorName(flavor), explicit, err)
				}
				h.checkReceived(c)
			}
		}
	})
}

// RT-7.
func TestNothingBeforeLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fakeGame{}
		h := startHost(t, nil, g.make)
		game := h.newGame(8)
		ids := h.seats(game, 2)
		inside := h.join(ids[0], stock.Options{})
		g.await(t, "onPlayerAccepted 1 of [1]")
		for _, flavor := range flavors {
			before := h.host.Counters().Dropped.Get(counters.DropBeforeLogin)
			c := h.dial(ids[1], stock.Options{Flavor: flavor, NoLogin: true})
			one := int32(1)
			packets := []stock.Packet{
				{OpCode: 5, TargetPlayer: 1, Sender: 1, Reliable: true},
				{OpCode: 5, TargetPlayer: -1, Sender: 1, Reliable: true},
				{OpCode: 5, TargetGroup: -1, Sender: 1, Reliable: true},
				{OpCode: stock.OpJoinGroup, TargetPlayer: -1, Sender: one, JoinGroup: &stock.GroupRef{Group: 1}},
				{OpCode: stock.OpLeaveGroup, TargetPlayer: -1, Sender: one, LeaveGroup: &stock.GroupRef{Group: 1}},
				{OpCode: stock.OpRequestGroupMembership, TargetPlayer: -1, RequestGroupMembership: &stock.GroupRef{Group: -1}},
				{OpCode: stock.OpPing, TargetPlayer: -1, Ping: &stock.Empty{}},
				{OpCode: stock.OpUDPConnect, TargetPlayer: -1, Sender: 1, UDPConnect: &stock.Empty{}},
				{OpCode: stock.OpLoginResponse, TargetPlayer: 1, LoginResult: &stock.LoginResult{Success: true, PeerID: 1}},
				{OpCode: 0, TargetPlayer: -1, Sender: 1},                                           // op code of LOGIN without its inner message
				{OpCode: 1, TargetPlayer: -1, Login: &stock.LoginCommand{PlayerSessionID: ids[1]}}, // the reverse
			}
			for _, p := range packets {
				h.sendPacket(c, p)
			}
			h.dropped(counters.DropBeforeLogin, before+int64(len(packets)))
			if err := c.ExpectSilence(30*time.Millisecond, func(stock.Event) bool { return true }); err != nil {
				t.Error(err)
			}
			if flavor == stock.TypeScript { // the seat's login still works
				if err := c.SendLogin(); err != nil {
					t.Fatal(err)
				}
				if r, err := c.AwaitLogin(h.context()); err != nil || r.PeerID != 2 {
					t.Errorf("login %+v: %v", r, err)
				}
				h.talk(inside, c)
				h.checkReceived(c)
			}
		}
		for _, e := range inside.Log() {
			if e.Sender == 1 && e.OpCode == 5 {
				t.Errorf("a packet before login was delivered: %v", e)
			}
		}
		for _, call := range g.all() {
			if call != "onPlayerConnect 1 \"\"" && call != "onPlayerAccepted 1 of [1]" &&
				call != "onPlayerConnect 2 \"\"" && call != "onPlayerAccepted 2 of [1 2]" && call != "onSendToPlayer 4242 from 1 to 2" {
				t.Errorf("the game was told of %s", call)
			}
		}
		h.checkReceived(inside)
	})
}

// Neither packets nor pings put the close off, and who logs in stays.
// RT-8.
func TestWithoutALoginTheSocketIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// On a busy machine the limit may pass before a player has logged in, or before the host has
		// answered a few pings. Then the limit was too short to show anything.
		for limit := 400 * time.Millisecond; ; limit *= 2 {
			missed := closedWithoutALogin(t, limit)
			switch {
			case missed == nil || t.Failed():
				return
			case limit > patience:
				t.Fatalf("limit %v: %v", limit, missed)
			}
			t.Logf("again: the limit was %v: %v", limit, missed)
		}
	})
}

// closedWithoutALogin returns an error if the machine was too slow for the limit.
func closedWithoutALogin(t *testing.T, limit time.Duration) (missed error) {
	t.Helper()
	h := startHost(t, func(c *host.Config) { c.Limits.LoginTimeout = limit }, nil)
	var p []*stock.Client
	for _, id := range h.seats(h.newGame(2), 2) {
		c := h.dial(id, stock.Options{})
		if _, err := c.AwaitLogin(h.context()); err != nil {
			if code, _, _ := c.CloseStatus(); code == int(messages.CloseLoginTimeout) {
				return err
			}
			t.Fatal(err)
		}
		p = append(p, c)
	}
	start := time.Now()
	silent := h.dial("psess-x", stock.Options{NoLogin: true})
	busy := h.dial("psess-x", stock.Options{NoLogin: true, Flavor: stock.TypeScript})
	pongs := 0
	for ; busy.Err() == nil; time.Sleep(limit / 20) { // until it is closed
		if busy.SendPacket(stock.Packet{OpCode: 5, TargetGroup: -1, Reliable: true}, stock.ChannelWebSocket) != nil || busy.Ping(h.context(), "alive") != nil {
			break
		}
		if pongs++; time.Since(start) > limit+patience {
			t.Fatalf("%d packets and pings put the close off for %v", pongs, time.Since(start))
		}
	}
	h.awaitClose(silent, messages.CloseLoginTimeout)
	h.awaitClose(busy, messages.CloseLoginTimeout)
	if took := time.Since(start); took < limit-50*time.Millisecond {
		t.Errorf("closed after %v, limit %v", took, limit)
	}
	h.closedFor(messages.CloseLoginTimeout, 2)
	h.untilCount("connections", func() int64 { return h.host.Counters().Connections.Get(counters.WS) }, 2)
	for _, c := range []*stock.Client{silent, busy} {
		if n := len(c.Log()); n != 0 {
			t.Errorf("%d packets before the close", n)
		}
	}
	h.talk(p[0], p[1]) // who logged in stays
	h.checkReceived(p...)
	if pongs < 5 {
		return fmt.Errorf("%d pings were answered", pongs)
	}
	return nil
}
