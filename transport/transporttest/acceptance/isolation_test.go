package acceptance_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/script"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// The game sessions of a host share its ports, its actors' workers and its buffers, and nothing else: RL-10
// and RL-11.

// canary returns a payload that identifies its sender, padded to a size.
func canary(game int, peer int32, size int) []byte {
	b := fmt.Appendf(nil, "<canary game %d player %d|", game, peer)
	for len(b) < size {
		b = fmt.Appendf(b, "game%d.", game)
	}
	return append(b, '>')
}

// readCanary decodes a payload of canary. ok is false if any byte is wrong.
func readCanary(b []byte) (game int, peer int32, ok bool) {
	if n, err := fmt.Sscanf(string(b), "<canary game %d player %d|", &game, &peer); n != 2 || err != nil {
		return 0, 0, false
	}
	head := fmt.Appendf(nil, "<canary game %d player %d|", game, peer)
	if !bytes.HasPrefix(b, head) || !bytes.HasSuffix(b, []byte(">")) {
		return 0, 0, false
	}
	rest, filler := b[len(head):len(b)-1], fmt.Appendf(nil, "game%d.", game)
	return game, peer, bytes.Equal(rest, bytes.Repeat(filler, len(rest)/len(filler)))
}

// RL-211, RT-24.
func TestIsolation_GamesAndPlayersCannotReachOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const games, players, rounds = 4, 3, 15
		const direct, toAll, toGroup, toServer, forgedSender, foreign = 10, 11, 12, 13, 14, 15
		h, logic := startPlays(t, unlimited, func(p *fakeGame) {
			p.message = func(s script.Session, m *script.Message) { // the game adds a prefix to the messages it receives
				out := script.Outgoing{OpCode: m.OpCode + 100, Sender: m.Sender, Payload: m.Payload}
				s.Send(out, script.ToPlayer(m.Sender))
				s.Send(out, script.ToGroup(messages.AllPlayers).Reliably())
			}
		})
		var ids []string
		var clients [games][]*stock.Client
		ports := map[int]bool{}
		for g := range games {
			ids = append(ids, h.newGame(players))
			for _, seat := range h.seats(ids[g], players) {
				clients[g] = append(clients[g], h.join(seat, stock.Options{}))
			}
			h.awaitFast(int64(g*players), clients[g]...)
			for i, c := range clients[g] {
				if c.PeerID() != int32(i+1) || h.fastPort(c) != h.fastPort(clients[g][0]) {
					t.Fatalf("player %d, port %d", c.PeerID(), h.fastPort(c))
				}
				if err := c.JoinGroup(5, stock.ChannelWebSocket); err != nil {
					t.Fatal(err)
				}
				h.expect(c, stock.Op(stock.OpGroupMembershipUpdate))
			}
			ports[h.fastPort(clients[g][0])] = true
		}
		if len(ports) != games {
			t.Fatalf("equal peer ids behind one address share a port: %v", ports)
		}
		// Spoofers send to the port of every game with every peer id.
		var spoofers []*rawUDP
		for port := range ports {
			for _, ip := range []string{"127.0.0.1", "127.0.0.2"} {
				spoofers = append(spoofers, h.rawUDP(ip, port, 0))
			}
		}

		var all sync.WaitGroup
		for g := range games {
			for _, c := range clients[g] {
				all.Go(func() { act(h, g, c, rounds, direct, toAll, toGroup, toServer, forgedSender) })
			}
		}
		all.Go(func() {
			for n := range int32(rounds) {
				for _, r := range spoofers {
					for peer := int32(-1); peer <= players+1; peer++ {
						r.peer, r.number = peer, 100_000+n
						r.packet(stock.Packet{OpCode: foreign, TargetGroup: stock.AllPlayers, Payload: canary(99, peer, 50)})
						r.packet(stock.Packet{OpCode: foreign, TargetPlayer: 1, Payload: canary(99, peer, 50)})
					}
				}
				time.Sleep(time.Millisecond) // limit the rate, so that no datagram is lost
			}
		})
		all.Wait()
		for g := range games {
			for _, c := range clients[g] {
				h.fence(c, stock.ChannelUDP, clients[g]...)
			}
		}
		for _, r := range spoofers {
			r.gotNothing()
		}

		for g := range games {
			got := map[int32]int{}
			for _, c := range clients[g] {
				isolated(t, g, players, c, got)
			}
			// All reliable messages arrive: one for each sender, round and recipient.
			for op, want := range map[int32]int{
				direct: rounds * players * players, toAll: rounds * players * players, toGroup: rounds * players * players,
				toServer + 100: 2 * rounds * players * players, // the game answers messages of both channels reliably
				forgedSender:   rounds * players * players,
			} {
				if got[op] != want {
					t.Errorf("game %d: %d reliable packets with op code %d, want %d", g, got[op], op, want)
				}
			}
			heard := logic.of(ids[g])
			heard.mu.Lock()
			for _, m := range heard.sent {
				game, peer, ok := readCanary(m.Payload)
				if m.OpCode >= markerOps {
					continue
				}
				if !ok || game != g || peer != int32(m.Sender) || m.OpCode < direct || m.OpCode > forgedSender {
					t.Errorf("the logic of game %d was given %s %+v", g, m.callback, m.Message)
				}
			}
			heard.mu.Unlock()
			h.verified(clients[g]...)
		}
		wrong := int64(len(spoofers) * rounds * players * 2)
		h.dropped(counters.DropFastUnknownSender, int64(len(spoofers)*rounds*2*3)+ // the ids -1, 0 and one that is too high
			int64(games*players*rounds*4)) // forged by the players themselves
		h.dropped(counters.DropFastWrongAddress, wrong+int64(games*players*rounds*2))
		h.dropped(counters.DropServerOp, int64(games*players*rounds*2*len(serverOps)))
		t.Logf("%d games of %d players, %d rounds each: %d reliable and %d fast deliveries, drops: %d forged on UDP, %d op codes of the server",
			games, players, rounds, h.host.Counters().Delivered.Get(counters.WS), h.host.Counters().Delivered.Get(counters.UDP),
			h.host.Counters().Dropped.Get(counters.DropFastUnknownSender)+h.host.Counters().Dropped.Get(counters.DropFastWrongAddress),
			h.host.Counters().Dropped.Get(counters.DropServerOp))
	})
}

// act sends a player's messages: valid ones on both channels, and everything that a player might forge.
func act(h *testHost, game int, c *stock.Client, rounds int, direct, toAll, toGroup, toServer, forgedSender int32) {
	me := c.PeerID()
	send := func(m stock.Message) {
		vias := bothChannels
		if m.Via != 0 {
			vias = []stock.Channel{m.Via}
		}
		for _, m.Via = range vias {
			if err := c.Send(m); err != nil {
				h.Error(err)
			}
		}
	}
	for n := range rounds {
		small, large := canary(game, me, 40+n), canary(game, me, 1000-7*n)
		for to := int32(1); to <= 5; to++ { // no player has id 4 or 5
			send(stock.Message{OpCode: direct, TargetPlayer: to, Payload: small})
		}
		send(stock.Message{OpCode: toAll, TargetGroup: stock.AllPlayers, Payload: large})
		send(stock.Message{OpCode: toGroup, TargetGroup: 5, Payload: small})
		send(stock.Message{OpCode: toGroup, TargetGroup: 6, Payload: small}) // the group is empty
		send(stock.Message{OpCode: toServer, TargetPlayer: stock.ServerID, Payload: large})
		others := []int32{1, 2, 3}
		others = slices.DeleteFunc(others, func(id int32) bool { return id == me })
		for _, forged := range append(others, stock.ServerID, 0, -2, math.MaxInt32) {
			m := stock.Message{OpCode: forgedSender, TargetGroup: stock.AllPlayers, Payload: small, Sender: &forged, Via: stock.ChannelUDP}
			send(m)
			if forged == others[0] {
				m.Via = stock.ChannelWebSocket
				send(m)
			}
		}
		for _, p := range serverOps {
			for i, via := range bothChannels {
				p.TargetGroup, p.Sender, p.Reliable, p.Payload = stock.AllPlayers, me, i == 0, small
				if err := c.SendPacket(p, via); err != nil {
					h.Error(err)
				}
			}
		}
		// Limit the rate, because sockets drop what exceeds their buffers.
		op := markerOps + markers.Add(1)
		send(stock.Message{OpCode: op, TargetPlayer: me, Via: stock.ChannelUDP})
		if _, err := c.Expect(h.context(), stock.Op(op)); err != nil {
			h.Error(err)
			return
		}
	}
}

// isolated checks that everything a client received is from its own game, has the true sender, and was meant
// for the client. It counts reliable packets by op code in got.
func isolated(t *testing.T, game, players int, c *stock.Client, got map[int32]int) {
	t.Helper()
	for _, e := range c.Log() {
		if u := e.GroupMembershipUpdate; u != nil {
			for i, p := range u.Players { // the players joined in this order
				if u.Group != 5 || p != int32(i+1) || i >= players {
					t.Errorf("game %d: %v %+v", game, e, u)
				}
			}
		}
		if !e.IsData() || e.OpCode >= markerOps {
			continue
		}
		of, peer, ok := readCanary(e.Payload)
		if !ok || of != game || peer != e.Sender || peer < 1 || peer > int32(players) {
			t.Errorf("game %d, player %d got %v: %.60q", game, c.PeerID(), e, e.Payload)
		}
		mine := e.TargetPlayer == c.PeerID() && e.TargetGroup == 0
		if group := e.TargetPlayer == 0 && (e.TargetGroup == stock.AllPlayers || e.TargetGroup == 5); !mine && !group || e.InnerName() != "" {
			t.Errorf("game %d, player %d got %v", game, c.PeerID(), e)
		}
		if e.Reliable && e.TargetPlayer == 0 || e.Reliable && e.OpCode < 100 {
			got[e.OpCode]++
		}
	}
}

// RL-11: after the end of a game session, nothing of its players reaches a later game session. That includes
// a player with the same peer id, address and port.
func TestIsolation_NothingAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, games := startPlays(t, func(c *host.Config) { c.Drain.Grace = 0 }, func(p *fakeGame) {
			p.message = func(s script.Session, m *script.Message) {
				if m.OpCode == 1 {
					s.Exit(1)
				}
			}
		})
		first := h.newGame(8)
		old := h.join(h.seats(first, 1)[0], stock.Options{NoUDP: true})
		ghost := h.rawUDP("127.0.0.1", h.fastPort(old), 1)
		ghost.confirm()
		h.send(old, stock.Message{OpCode: 1, TargetPlayer: stock.ServerID, Reliable: true})
		if err := old.AwaitClose(h.context()); err != nil {
			t.Fatal(err)
		}
		h.untilCount("fast channels", func() int64 { return h.host.Counters().Connections.Get(counters.UDP) }, 0)
		ghost.data(10)
		h.dropped(counters.DropFastUnknownSender, 1)

		second := h.newGame(8)
		ids := h.seats(second, 2)
		next := h.join(ids[0], stock.Options{})
		h.awaitFast(0, next)
		other := h.join(ids[1], stock.Options{})
		h.awaitFast(1, other)
		if next.PeerID() != 1 || h.fastPort(next) != int(ghost.server.Port()) {
			t.Fatalf("peer %d, port %d: the test wants the same as before", next.PeerID(), h.fastPort(next))
		}
		wrong := h.host.Counters().Dropped.Get(counters.DropFastWrongAddress)
		for range 5 {
			ghost.data(10)
			ghost.packet(stock.Packet{OpCode: 11, TargetPlayer: stock.ServerID})
		}
		h.dropped(counters.DropFastWrongAddress, wrong+10)
		h.fence(next, stock.ChannelUDP, next, other)
		h.gotNone(10, next, other)
		h.sawNone(games.of(second), 11, "onMessage")
		ghost.gets(1) // its SERVER_ACK
		h.verified(next, other)
		if err := old.CheckReceived(); err != nil {
			t.Error(err)
		}
	})
}

// A callback that does not return blocks only its own game session. The test blocks it until the other
// players have had their round trips.
func TestIsolation_ABlockedCallbackHoldsUpItsOwnGameAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const others = 5
		entered, release := make(chan struct{}), make(chan struct{})
		var once sync.Once
		let := func() { once.Do(func() { close(release) }) }
		h, _ := startPlays(t, unlimited, func(p *fakeGame) {
			p.message = func(s script.Session, m *script.Message) {
				if m.OpCode == 1 {
					close(entered)
					<-release
				}
				s.Send(script.Outgoing{OpCode: m.OpCode + 100, Sender: -1, Payload: m.Payload}, script.ToPlayer(m.Sender).Reliably())
			}
		})
		t.Cleanup(let) // also if the test fails
		stuck := h.fastPlayers(2, stock.Options{})
		var free [][]*stock.Client
		for range others {
			free = append(free, h.fastPlayers(2, stock.Options{}))
		}
		h.send(stuck[0], stock.Message{OpCode: 1, TargetPlayer: stock.ServerID, Reliable: true})
		<-entered
		for n := range 10 { // messages behind the blocked callback arrive later and in order
			h.send(stuck[n%2], stock.Message{OpCode: 2, TargetPlayer: stock.ServerID, Payload: number(n), Reliable: true})
			h.send(stuck[1], stock.Message{OpCode: 3, TargetPlayer: 1, Payload: number(n)})
		}
		begun := time.Now()
		for _, game := range free {
			for _, via := range bothChannels {
				h.send(game[0], stock.Message{OpCode: 10, TargetPlayer: 2, Via: via})
				h.expect(game[1], stock.Op(10))
				h.send(game[1], stock.Message{OpCode: 11, TargetPlayer: stock.ServerID, Via: via})
				h.expect(game[1], stock.Op(111))
			}
		}
		late := h.players(1, stock.Options{NoUDP: true}) // a new game session and a new player
		// after this time, other workers take over the queue of the blocked one
		if took := time.Since(begun); took > 20*time.Millisecond {
			t.Errorf("the others took %v", took)
		}
		for _, c := range stuck {
			if err := c.ExpectSilence(0, stock.Op(102)); err != nil {
				t.Error("the callback did not block:", err)
			}
		}
		let()
		h.fence(stuck[0], stock.ChannelWebSocket, stuck...)
		h.fence(stuck[1], stock.ChannelUDP, stuck...)
		h.rises("first of the blocked game", numbers(stuck[0], 102), 10, func(n int) bool { return n%2 == 0 })
		h.rises("second of the blocked game", numbers(stuck[1], 102), 10, func(n int) bool { return n%2 == 1 })
		h.rises("fast messages behind it", numbers(stuck[0], 3), 10, func(int) bool { return true })
		h.verified(slices.Concat(append(free, stuck, late)...)...)
	})
}

// Packets that the host drops count toward a player's rate like accepted ones. So a flood of refused packets
// cannot run at full network speed.
func TestIsolation_AFloodOfRefusedPacketsIsSlowedDown(t *testing.T) {
	limits := host.Defaults().Limits
	for name, flood := range map[string]struct {
		stock.Packet
		takes time.Duration
	}{
		"op codes of the server": {stock.Packet{OpCode: stock.OpGameEnd, TargetGroup: stock.AllPlayers}, 500 * time.Millisecond},
		"too large payloads":     {stock.Packet{OpCode: 10, TargetGroup: stock.AllPlayers, Payload: make([]byte, stock.PayloadMax+1)}, 500 * time.Millisecond},
		// Some of these are within their own limit.
		"group operations": {stock.Packet{OpCode: stock.OpRequestGroupMembership, TargetPlayer: -1, RequestGroupMembership: &stock.GroupRef{Group: 1}}, 665 * time.Millisecond},
	} {
		bubble(t, name, func(t *testing.T) {
			h := startHost(t, func(c *host.Config) { c.Limits.PlayerBytesPerSecond = 0 }, nil)
			c := h.players(1, stock.Options{NoUDP: true})[0]
			dropped := func() int64 { return h.host.Counters().Dropped.Total() }
			p := flood.Packet
			p.Reliable = true
			start, enough := time.Now(), int64(limits.PlayerMessagesBurst+limits.PlayerMessagesPerSecond/2)
			go func() { // blocks while the host does not read
				for range 2000 {
					if c.SendPacket(p, stock.ChannelWebSocket) != nil {
						return
					}
				}
			}()
			h.until("drops", func() error {
				if n := dropped(); n < enough {
					return fmt.Errorf("%d of %d", n, enough)
				}
				return nil
			})
			if took := time.Since(start); !exact(took, flood.takes) {
				t.Errorf("%d drops in %v, the limit is %v/s after %v", enough, took, limits.PlayerMessagesPerSecond, limits.PlayerMessagesBurst)
			}
		})
	}
}
