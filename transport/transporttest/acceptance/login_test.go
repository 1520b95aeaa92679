package acceptance_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// strict configures the behaviour of GameLift: no reconnecting.
func strict(c *host.Config) { c.Reconnect.Window = 0 }

// expectRefused waits until a login is refused and the connection is closed normally. The response must equal
// the vector of realtime.md 14.2, and nothing else may arrive. It returns the response.
func (h *testHost) expectRefused(c *stock.Client) []byte {
	h.Helper()
	if r, err := c.AwaitLogin(h.context()); !errors.Is(err, stock.ErrLoginRefused) {
		h.Fatalf("login: %+v, %v; want a refusal", r, err)
	}
	h.awaitClose(c, messages.CloseNormal)
	log := c.Log()
	if got := hex.EncodeToString(log[0].Raw); got != "12080128ffffffffffffffffff013001fa0100" || len(log) != 1 {
		h.Errorf("refused with %s and %d more packets", got, len(log)-1)
	}
	return log[0].Raw
}

func (h *testHost) logins(o counters.LoginOutcome) int64 { return h.host.Counters().Logins.Get(o) }

// RT-12.
func TestPeerIDInBothPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, nil, nil)
		game := h.newGame(8)
		for i := range 4 {
			c := h.join(h.seats(game, 1)[0], stock.Options{Flavor: flavors[i%2]})
			e := c.Log()[0]
			if want := int32(i + 1); e.TargetPlayer != want || e.LoginResult.PeerID != want || c.PeerID() != want {
				t.Errorf("peer %d: target player %d, inner %d, the client's own %d", want, e.TargetPlayer, e.LoginResult.PeerID, c.PeerID())
			}
			if r := e.LoginResult; e.Sender != -1 || !e.Reliable || len(e.Payload) != 0 || e.TargetGroup != 0 || len(r.CACert) != 0 ||
				fmt.Sprint(r.FastPort) != h.host.Addrs().Fast[strings.LastIndex(h.host.Addrs().Fast, ":")+1:] {
				t.Errorf("LOGIN_RESPONSE %v %+v", e, r)
			}
			h.checkReceived(c)
		}
	})
}

// RT-14.
func TestBadPlayerSessionsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fakeGame{}
		h := startHost(t, strict, g.make)
		game := h.newGame(8)
		ids := h.seats(game, 3)
		inside, used := h.join(ids[0], stock.Options{}), h.join(ids[1], stock.Options{})
		used.Close()
		g.await(t, "onPlayerDisconnect 2 of [1 2]")
		elsewhere := startHost(t, nil, nil)

		refused := int64(0)
		for name, id := range map[string]string{
			"empty": "", "unknown": "psess-00000000-0000-0000-0000-000000000000", "garbage": "\x00\x01' or 1=1 --\n",
			"long": strings.Repeat("a", 3000), "prefix only": "psess-", "in upper case": strings.ToUpper(ids[2]),
			"a player's": "player-1", "in use": ids[0], "used": ids[1], "foreign": elsewhere.seat1(),
		} {
			for _, flavor := range flavors {
				c := h.dial(id, stock.Options{Flavor: flavor})
				h.expectRefused(c)
				h.checkReceived(c)
				if refused++; t.Failed() {
					t.Fatalf("player session id: %s", name)
				}
			}
		}
		h.untilCount("refused logins", func() int64 { return h.logins(counters.LoginRefused) }, refused)
		if n := &h.host.Counters().LoginsRefused; n.Total() != refused || n.Get(counters.LoginOtherReason) != refused-int64(len(flavors)) ||
			n.Get(counters.LoginPlayerSessionEnded) != int64(len(flavors)) {
			n.Values(func(reason string, n int64) { t.Logf("refused because of %s: %d", reason, n) })
			t.Errorf("the reasons of %d refusals", refused)
		}
		h.dial("psess-\xff\xfe", stock.Options{}) // invalid UTF-8, so it is not a valid packet
		h.dropped(counters.DropMalformed, 1)
		if n := h.host.Counters().Logins.Get(counters.LoginNew); n != 2 {
			t.Errorf("%d logins were taken", n)
		}
		fresh := h.join(ids[2], stock.Options{}) // the reservation is still valid
		h.talk(inside, fresh)
		if n := g.count("onPlayerConnect"); n != 3 {
			t.Errorf("the game was asked %d times", n)
		}
		h.checkReceived(inside, fresh)
	})
}

// TestForgedSender: the host uses the true sender, whatever the packet says.
// RL-204, RT-39.
func TestForgedSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fakeGame{}
		h := startHost(t, nil, g.make)
		ids := h.seats(h.newGame(8), 2)
		victim := h.join(ids[0], stock.Options{})
		forger := h.dial(ids[1], stock.Options{NoLogin: true})
		login := stock.LoginPacket(stock.CSharp, ids[1], nil)
		login.Sender, login.TargetPlayer = 1, 1
		h.sendPacket(forger, login)
		if r, err := forger.AwaitLogin(h.context()); err != nil || r.PeerID != 2 {
			t.Fatalf("login %+v: %v", r, err)
		}
		for _, sender := range []int32{0, 1, -1, -2, 99, 1<<31 - 1, -1 << 31} {
			h.send(forger, stock.Message{OpCode: 80, TargetGroup: -1, Sender: &sender, Reliable: true})
			for _, c := range []*stock.Client{victim, forger} {
				if e := h.expect(c, stock.Op(80)); e.Sender != 2 {
					t.Errorf("sender %d was delivered as %d", sender, e.Sender)
				}
			}
			h.send(forger, stock.Message{OpCode: 81, TargetPlayer: -1, Sender: &sender, Reliable: true, Payload: fmt.Append(nil, sender)})
			g.await(t, fmt.Sprintf("onMessage 81 from 2 reliable true %q", fmt.Sprint(sender)))
			h.sendPacket(forger, stock.Packet{OpCode: stock.OpJoinGroup, Sender: sender, TargetPlayer: -1, Reliable: true, JoinGroup: &stock.GroupRef{Group: 3}})
			if e := h.expect(forger, stock.Op(stock.OpGroupMembershipUpdate)); !slices.Equal(e.GroupMembershipUpdate.Players, []int32{2}) {
				t.Errorf("joined as %d: members %v", sender, e.GroupMembershipUpdate.Players)
			}
		}
		h.checkReceived(victim, forger)
	})
}
