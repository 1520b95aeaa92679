package acceptance_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/actors/script"
	"troupe/messages"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// arenaGame is a match of eight players that is being played.
type arenaGame struct {
	*testHost
	id      string
	seats   map[string]string // player -> player session
	clients map[string]*stock.Client
}

// arena creates a matchmaking configuration named arena for a queue, four against four, and lets eight
// players play.
func (h *testHost) arena(queue string, in *gamelift.CreateMatchmakingConfigurationInput) *arenaGame {
	h.Helper()
	if _, err := h.api.CreateMatchmakingRuleSet(h.context(), &gamelift.CreateMatchmakingRuleSetInput{Name: aws.String("arena"), RuleSetBody: aws.String(teams)}); err != nil {
		h.Fatal(err)
	}
	in.Name, in.RuleSetName, in.AcceptanceRequired, in.RequestTimeoutSeconds = aws.String("arena"), aws.String("arena"), aws.Bool(false), aws.Int32(300)
	in.GameSessionQueueArns = []string{"arn:aws:gamelift:us-east-1:000000000000:gamesessionqueue/" + queue}
	if _, err := h.api.CreateMatchmakingConfiguration(h.context(), in); err != nil {
		h.Fatal(err)
	}
	g := &arenaGame{testHost: h, seats: map[string]string{}, clients: map[string]*stock.Client{}}
	for _, p := range names(8) {
		h.ask("arena", p)
	}
	for _, ticket := range h.reach(types.MatchmakingConfigurationStatusCompleted, names(8)...) {
		g.id = *ticket.GameSessionConnectionInfo.GameSessionArn
		g.joins(ticket)
	}
	return g
}

// joins lets the player of a ticket join and play.
func (g *arenaGame) joins(ticket types.MatchmakingTicket) {
	g.Helper()
	seat := *ticket.GameSessionConnectionInfo.MatchedPlayerSessions[0].PlayerSessionId
	g.seats[*ticket.TicketId] = seat
	g.clients[*ticket.TicketId] = g.join(seat, stock.Options{})
}

type arenaData struct {
	MatchID string `json:"matchId"`
	Mode    string `json:"autoBackfillMode"`
	Ticket  string `json:"autoBackfillTicketId"`
	Teams   []struct {
		Name    string
		Players []struct{ PlayerID string }
	}
}

// data returns the matchmaker data and the names of all players in it.
func (g *arenaGame) data() (d arenaData, players string) {
	g.Helper()
	if err := json.Unmarshal([]byte(*g.game(g.id).MatchmakerData), &d); err != nil {
		g.Fatal(err)
	}
	for _, t := range d.Teams {
		for _, p := range t.Players {
			players += p.PlayerID + " "
		}
	}
	return d, players
}

// leave makes player-2 leave while player-5 is disconnected. fill starts the backfill. A new player gets the
// slot of player-2 and plays with the others. A second new player keeps waiting, because player-5 returns to
// its own slot.
func (g *arenaGame) leave(fill func()) {
	g.Helper()
	g.clients["player-5"].Kill()
	g.detached(1)
	g.clients["player-2"].Close()
	g.seatIs(g.seats["player-2"], types.PlayerSessionStatusCompleted)
	if fill != nil {
		fill()
	}
	g.ask("arena", "new")
	ticket := g.reach(types.MatchmakingConfigurationStatusCompleted, "new")[0]
	g.ask("arena", "late")
	if got := *ticket.GameSessionConnectionInfo.GameSessionArn; got != g.id {
		g.Fatalf("the new player is in %s, not in %s", got, g.id)
	}
	g.joins(ticket)
	g.clients["player-5"] = g.join(g.seats["player-5"], stock.Options{})
	g.detached(0)
	g.seatIs(g.seats["player-5"], types.PlayerSessionStatusActive)
	g.talk(g.clients["new"], g.clients["player-5"])
	if _, players := g.data(); strings.Contains(players, "player-2 ") || !strings.Contains(players, "new ") || !strings.Contains(players, "player-5 ") || strings.Count(players, " ") != 8 {
		g.Errorf("players in the matchmaker data: %s", players)
	}
	if game := g.game(g.id); *game.CurrentPlayerSessionCount != 8 {
		g.Errorf("%d players", *game.CurrentPlayerSessionCount)
	}
	g.reach(types.MatchmakingConfigurationStatusSearching, "late")
	delete(g.clients, "player-2")
}

// updated records the game's updates as "REASON team".
type updated struct {
	script.Base
	told chan string
}

func (u *updated) OnUpdateGameSession(g *messages.GameSession, update script.Update) {
	var d struct {
		Teams []struct {
			Players []struct {
				PlayerID   string
				Attributes map[string]struct{ ValueAttribute any }
			}
		}
	}
	if err := json.Unmarshal([]byte(g.MatchmakerData), &d); err != nil {
		u.told <- err.Error()
		return
	}
	text := string(update.Reason) + " " + string(update.TicketID)
	for _, team := range d.Teams {
		for _, p := range team.Players {
			if p.PlayerID == "new" {
				text += fmt.Sprint(" ", p.Attributes["skill"].ValueAttribute)
			}
		}
	}
	u.told <- text
}

// Eight players play a match and one leaves. The backend requests backfill, which fills the slot. A
// disconnected player keeps its slot. FM-112, FM-31, FM-28.
func TestTheBackEndFillsASeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &updated{told: make(chan string, 16)}
		h := startHost(t, func(c *host.Config) { c.API.Rate = 0 }, func() script.Handler { return u })
		g := h.arena("queue-dev", &gamelift.CreateMatchmakingConfigurationInput{})
		start := func(id string, players ...string) (*gamelift.StartMatchBackfillOutput, error) {
			in := &gamelift.StartMatchBackfillInput{TicketId: &id, ConfigurationName: aws.String("arena"), GameSessionArn: &g.id}
			d, _ := g.data()
			for _, team := range d.Teams {
				for _, p := range team.Players {
					if p.PlayerID != "player-2" {
						in.Players = append(in.Players, types.Player{PlayerId: &p.PlayerID, Team: &team.Name, PlayerAttributes: map[string]types.AttributeValue{"skill": {N: aws.Float64(12)}}})
					}
				}
			}
			return h.api.StartMatchBackfill(h.context(), in)
		}
		g.leave(func() {
			for _, id := range []string{"first", "second"} { // FM-113
				out, err := start(id)
				if err != nil {
					t.Fatal(err)
				}
				if b := out.MatchmakingTicket; b.Status != types.MatchmakingConfigurationStatusQueued || *b.GameSessionConnectionInfo.GameSessionArn != g.id || len(b.Players) != 7 || b.Players[0].Team == nil {
					t.Errorf("%+v", b)
				}
			}
		})
		h.reach(types.MatchmakingConfigurationStatusCancelled, "first")
		b := h.reach(types.MatchmakingConfigurationStatusCompleted, "second")[0]
		if n := len(b.GameSessionConnectionInfo.MatchedPlayerSessions); n != 7 {
			t.Errorf("%d player sessions of the backfill ticket", n)
		}
		for _, want := range []string{"BACKFILL_CANCELLED first", "MATCHMAKING_DATA_UPDATED second 12"} {
			if got := <-u.told; got != want {
				t.Errorf("the game was told %q, want %q", got, want)
			}
		}
		if _, err := start("third"); err != nil {
			t.Fatal(err)
		}
		h.reach(types.MatchmakingConfigurationStatusSearching, "third")
		if _, err := h.terminate(g.id, types.TerminationModeForceTerminate); err != nil {
			t.Fatal(err)
		}
		h.reach(types.MatchmakingConfigurationStatusCancelled, "third")
		var gone *types.NotFoundException
		if _, err := start("fourth"); !errors.As(err, &gone) {
			t.Errorf("%v", err)
		}
	})
}

// The same with automatic backfill, and with a script that requests backfill. FM-33, FM-115.
func TestASeatIsFilledForAScript(t *testing.T) {
	const game = `
		let session;
		const say = (text) => session.sendReliableGroupMessage(session.newTextGameMessage(20, session.getServerId(), text), -1);
		exports.ssExports = {
			init: (s) => { session = s; },
			onPlayerDisconnect: () => { if (session.gameProperties.asks) session.startMatchBackfill(); },
			onUpdateGameSession: (g, reason, ticket) => {
				const p = session.matchedPlayers.get('new');
				say([reason, typeof ticket, g.MatchmakerData === session.matchmakerData, p ? p.team.length > 0 && p.attributes.skill : 'none'].join(' '));
			},
		};`
	for _, asks := range []bool{false, true} {
		bubble(t, map[bool]string{false: "automatic", true: "asked for"}[asks], func(t *testing.T) {
			h := startHost(t, func(c *host.Config) { c.API.Rate = 0 }, nil)
			_, fleet := h.scriptFleet(archive(map[string]string{"lib/main.js": game}))
			if _, err := h.api.CreateGameSessionQueue(h.context(), &gamelift.CreateGameSessionQueueInput{
				Name: aws.String("q"), Destinations: []types.GameSessionQueueDestination{{DestinationArn: aws.String("arn:aws:gamelift:us-east-1::fleet/" + fleet)}},
			}); err != nil {
				t.Fatal(err)
			}
			config := &gamelift.CreateMatchmakingConfigurationInput{BackfillMode: types.BackfillModeAutomatic}
			if asks {
				config.BackfillMode = types.BackfillModeManual
				config.GameProperties = []types.GameProperty{{Key: aws.String("asks"), Value: aws.String("1")}}
			}
			g := h.arena("q", config)
			g.leave(nil)
			want := "MATCHMAKING_DATA_UPDATED string true 12"
			for e := h.expect(g.clients["player-0"], stock.Op(20)); string(e.Payload) != want; e = h.expect(g.clients["player-0"], stock.Op(20)) {
				t.Logf("told: %s", e.Payload)
			}
			if asks {
				return
			}
			g.clients["player-3"].Close()
			h.reach(types.MatchmakingConfigurationStatusCompleted, "late")
			// FM-115: using the ticket id from the matchmaker data stops automatic backfill.
			g.clients["player-1"].Close()
			h.until("automatic backfill is stopped", func() error {
				d, players := g.data()
				if strings.Contains(players, "player-1 ") || d.Ticket == "" {
					return fmt.Errorf("the data has %+v", d)
				}
				_, err := h.api.StopMatchmaking(h.context(), &gamelift.StopMatchmakingInput{TicketId: &d.Ticket})
				return err
			})
			h.ask("arena", "last")
			g.clients["player-4"].Close()
			h.reach(types.MatchmakingConfigurationStatusSearching, "last")
		})
	}
}

// D-324: a player loses its connection and requests a match again instead of reconnecting. Backfill finds the
// player's own game session. The player gets its own slot and peer id, and another player gets the free slot.
func TestAPlayerIsMatchedIntoItsOwnGame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) { c.Reconnect.Window = 5 * time.Minute }, nil)
		if _, err := h.api.CreateMatchmakingRuleSet(h.context(), &gamelift.CreateMatchmakingRuleSetInput{
			Name: aws.String("three"), RuleSetBody: aws.String(`{"ruleLanguageVersion":"1.0","teams":[{"name":"all","minPlayers":2,"maxPlayers":3}]}`),
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := h.api.CreateMatchmakingConfiguration(h.context(), &gamelift.CreateMatchmakingConfigurationInput{
			Name: aws.String("three"), RuleSetName: aws.String("three"), AcceptanceRequired: aws.Bool(false), RequestTimeoutSeconds: aws.Int32(300),
			BackfillMode: types.BackfillModeAutomatic, GameSessionQueueArns: []string{"arn:aws:gamelift:us-east-1:000000000000:gamesessionqueue/queue-dev"},
		}); err != nil {
			t.Fatal(err)
		}
		match := func(ticket string, players ...string) (string, map[string]string) {
			t.Helper()
			in := &gamelift.StartMatchmakingInput{TicketId: &ticket, ConfigurationName: aws.String("three")}
			for _, p := range players {
				in.Players = append(in.Players, types.Player{PlayerId: &p})
			}
			if _, err := h.api.StartMatchmaking(h.context(), in); err != nil {
				t.Fatal(err)
			}
			info := h.reach(types.MatchmakingConfigurationStatusCompleted, ticket)[0].GameSessionConnectionInfo
			seats := map[string]string{}
			for _, s := range info.MatchedPlayerSessions {
				seats[*s.PlayerId] = *s.PlayerSessionId
			}
			return *info.GameSessionArn, seats
		}
		game, seats := match("first", "ann", "bob")
		ann := h.join(seats["ann"], stock.Options{})
		bob := h.join(seats["bob"], stock.Options{})
		ann.Kill()
		h.detached(1)
		again, now := match("again", "ann")
		if again != game || now["ann"] != seats["ann"] || len(now) != 1 {
			t.Fatalf("%s with %v, before %s with %v", again, now, game, seats)
		}
		back := h.join(now["ann"], stock.Options{})
		third, now := match("third", "cid")
		if third != game {
			t.Fatalf("%s, before %s", third, game)
		}
		cid := h.join(now["cid"], stock.Options{})
		if back.PeerID() != ann.PeerID() {
			t.Errorf("ann was peer %d, and is %d", ann.PeerID(), back.PeerID())
		}
		h.talk(back, bob)
		h.talk(cid, back)
		out, err := h.api.DescribePlayerSessions(h.context(), &gamelift.DescribePlayerSessionsInput{GameSessionId: &game})
		if err != nil || len(out.PlayerSessions) != 3 {
			t.Errorf("%d player sessions of three players, %v", len(out.PlayerSessions), err)
		}
	})
}
