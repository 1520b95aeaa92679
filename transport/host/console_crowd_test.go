package host

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/messages"
	"troupe/transport/client"
)

// fill gives a host game sessions with players who chat, go and are cut, placements, and tickets that wait: what screenshots show.
func fill(t *testing.T, h *testHost, games int) {
	t.Helper()
	names := []string{"lobby", "castle siege, the long map with the bridges that nobody has crossed in time", "duel", "", "ranked 3v3"}
	people := []string{"ann", "bob", "carla", "a-player-id-of-another-store-that-is-as-long-as-76561198000000000@steam.example", "dmitri", "eve", "佐藤", "fatima"}
	var playing []*client.Client
	for i := range games {
		g, err := h.System().CreateGameSession(t.Context(), messages.CreateGameSession{
			FleetID: "fleet-dev", MaxPlayers: 8, Name: names[i%len(names)], Properties: []messages.Property{{Key: "mode", Value: names[i%3]}},
		})
		if err != nil {
			t.Fatal(err)
		}
		var seats []*messages.PlayerSession
		until(t, "seats", func() bool {
			var wanted []messages.NewPlayer
			for j := range 2 + i%5 {
				wanted = append(wanted, messages.NewPlayer{PlayerID: messages.PlayerID(strings.TrimSuffix(fmt.Sprintf("%s-%d", people[(i+j)%len(people)], i), "-0"))})
			}
			seats, err = h.System().CreatePlayerSessions(t.Context(), messages.CreatePlayerSessions{GameSessionID: g.ID, Players: wanted})
			return err == nil
		})
		for j, seat := range seats {
			if j == 5 { // stays RESERVED
				continue
			}
			c, err := h.dial(string(seat.ID), false)
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				for range c.Events() { // until it is closed
				}
			}()
			_ = c.JoinGroup(t.Context(), int32(1+j%2))
			switch {
			case j == 3:
				c.Close() // leaves
			case j == 4:
				c.Abort() // a network that is gone
			default:
				playing = append(playing, c)
			}
		}
	}
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	go func() {
		beat := time.NewTicker(200 * time.Millisecond)
		defer beat.Stop()
		for {
			select {
			case <-end:
				return
			case <-beat.C:
			}
			for _, c := range playing {
				_ = c.Send(t.Context(), client.Message{OpCode: 100, TargetGroup: client.AllPlayers, Payload: make([]byte, 48)})
			}
		}
	}()
	for i := range 5 {
		if _, err := h.System().StartPlacement(t.Context(), messages.StartPlacement{ID: messages.PlacementID(fmt.Sprintf("placement-%d-%s", i, strings.Repeat("0af3", i*6))), Queue: "queue-dev", MaxPlayers: 4}); err != nil {
			t.Fatal(err)
		}
	}
	fillTickets(t, h, append(people, people[:4]...)...)
	if n, err := h.System().KickPlayer(t.Context(), messages.KickPlayer{GameSession: newestGame(t, h), Player: "ann", Reason: "rude"}); err != nil {
		t.Log(n, err)
	}
}

// fillTickets gives a host tickets that are too far apart for a match.
func fillTickets(t *testing.T, h *testHost, players ...string) {
	t.Helper()
	rules := messages.RuleSet{Name: "near", Body: `{"name":"near","ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number","default":10}],
		"teams":[{"name":"all","minPlayers":3,"maxPlayers":3}],
		"rules":[{"name":"NearInSkill","type":"distance","measurements":["max(flatten(teams[*].players.attributes[skill]))"],"referenceValue":"min(flatten(teams[*].players.attributes[skill]))","maxDistance":5}],
		"expansions":[{"target":"rules[NearInSkill].maxDistance","steps":[{"waitTimeSeconds":600,"value":50}]}]}`}
	if _, err := h.System().CreateRuleSet(t.Context(), rules); err != nil {
		t.Fatal(err)
	}
	if _, err := h.System().CreateMatchmaker(t.Context(), messages.Matchmaker{Name: "ranked-3v3", RuleSet: "near", Standalone: true, RequestTimeout: time.Hour}); err != nil {
		t.Fatal(err)
	}
	for i, player := range players {
		_, err := h.System().StartMatchmaking(t.Context(), messages.StartMatchmaking{Matchmaker: "ranked-3v3", Players: []messages.TicketPlayer{
			{ID: messages.PlayerID(player), Attributes: map[string]messages.Attribute{"skill": {Kind: messages.AttributeNumber, N: float64(i * 100)}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func newestGame(t *testing.T, h *testHost) messages.GameSessionID {
	t.Helper()
	all, err := h.System().GameSessions(t.Context(), messages.GameSessionQuery{FleetID: "fleet-dev"})
	if err != nil || len(all) == 0 {
		t.Fatal(err)
	}
	return all[len(all)-1].ID
}
