package acceptance_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages/counters"
	"troupe/transport/transporttest/stock"
)

// flavors are the stock clients for which a check must pass.
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

// seat1 creates a game session and returns one reserved player session.
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

// talk makes two players of a game exchange a message, which shows that the host is running and that they are
// not affected by earlier events.
func (h *testHost) talk(from, to *stock.Client) {
	h.Helper()
	payload := fmt.Sprintf("still here %d", time.Now().UnixNano())
	h.send(from, stock.Message{OpCode: 4242, TargetPlayer: to.PeerID(), Payload: []byte(payload), Reliable: true})
	h.expect(to, func(e stock.Event) bool {
		return e.OpCode == 4242 && e.Sender == from.PeerID() && string(e.Payload) == payload
	})
}

// TestVectorsByteForByte sends and receives, byte for byte, those vectors of realtime.md 14.2 that do not
// depend on an id or a port.
// RT-2, RT-3.
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
		h.sendRaw(p[0], unhex("1308da0420ffffffffffffffffff0128017a0101")) // it arrives by WebSocket, so it counts as reliable
		if e := h.expect(p[1], stock.Op(301)); e.Sender != 1 || e.TargetGroup != -1 || !bytes.Equal(e.Payload, []byte{1}) {
			t.Errorf("op 301: %v", e)
		}
		unit := stock.EncodeUnit(stock.Packet{OpCode: 8, TargetPlayer: 2, Sender: 1, Reliable: true, Payload: []byte("x")})
		h.sendRaw(p[0], append(append([]byte{}, unit...), unit...)) // bytes after the first unit are ignored and not forwarded
		h.expect(p[1], stock.Op(8))
		h.talk(p[0], p[1])
		if err := p[1].ExpectSilence(50*time.Millisecond, stock.Op(8)); err != nil {
			t.Error(err)
		}
		if n := h.host.Counters().Dropped.Get(counters.DropMalformed); n != 0 {
			t.Errorf("%d packets dropped as malformed", n)
		}
		h.checkReceived(append(p, refused)...)
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
				// op code of LOGIN without its inner message
				{OpCode: 0, TargetPlayer: -1, Sender: 1},
				{OpCode: 1, TargetPlayer: -1, Login: &stock.LoginCommand{PlayerSessionID: ids[1]}}, // the reverse
			}
			for _, p := range packets {
				h.sendPacket(c, p)
			}
			h.dropped(counters.DropBeforeLogin, before+int64(len(packets)))
			if err := c.ExpectSilence(30*time.Millisecond, func(stock.Event) bool { return true }); err != nil {
				t.Error(err)
			}
			if flavor == stock.TypeScript { // the player session can still be used to log in
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
