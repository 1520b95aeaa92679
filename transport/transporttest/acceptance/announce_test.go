package acceptance_test

import (
	"testing"
	"testing/synctest"

	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// D-111, D-112: messages that GameLift does not send are off by default, and can be switched on.
func TestAnnouncementsAreSwitches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) {
			c.Session.AnnouncePlayers, c.Session.AnnounceAllPlayers, c.Session.LegacyLoginPacket = true, true, true
		}, nil)
		ids := h.seats(h.newGame(8), 2)
		a := h.join(ids[0], stock.Options{NoUDP: true})
		if e := h.expect(a, stock.Op(0)); e.Sender != -1 || e.TargetPlayer != 1 || len(e.Payload) != 0 {
			t.Errorf("login packet %v", e)
		}
		h.expect(a, stock.Op(-13))
		b := h.join(ids[1], stock.Options{NoUDP: true})
		if e := h.expect(a, stock.Op(-101)); e.PlayerConnect == nil || e.PlayerConnect.PeerID != 2 {
			t.Errorf("connect %v", e)
		}
		if e := h.expect(a, stock.Op(-13)); e.GroupMembershipUpdate == nil || e.GroupMembershipUpdate.Group != -1 || len(e.GroupMembershipUpdate.Players) != 2 {
			t.Errorf("membership %v", e)
		}
		b.Close()
		if e := h.expect(a, stock.Op(-103)); e.PlayerDisconnect == nil || e.PlayerDisconnect.PeerID != 2 {
			t.Errorf("disconnect %v", e)
		}
		if e := h.expect(a, stock.Op(-13)); len(e.GroupMembershipUpdate.Players) != 1 {
			t.Errorf("membership %v", e)
		}
	})
}
