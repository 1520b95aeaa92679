package acceptance_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

const teams = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number","default":10}],
	"teams":[{"name":"red","minPlayers":4,"maxPlayers":4},{"name":"blue","minPlayers":4,"maxPlayers":4}]}`

// matchmaker creates a rule set and a configuration, both named arena, for four against four. The
// configuration uses the queue queue-dev.
func (h *testHost) matchmaker(accept bool) {
	h.Helper()
	if _, err := h.api.CreateMatchmakingRuleSet(h.context(), &gamelift.CreateMatchmakingRuleSetInput{Name: aws.String("arena"), RuleSetBody: aws.String(teams)}); err != nil {
		h.Fatal(err)
	}
	if _, err := h.api.CreateMatchmakingConfiguration(h.context(), &gamelift.CreateMatchmakingConfigurationInput{
		Name: aws.String("arena"), RuleSetName: aws.String("arena"), AcceptanceRequired: aws.Bool(accept), AcceptanceTimeoutSeconds: aws.Int32(60),
		RequestTimeoutSeconds: aws.Int32(120), GameSessionQueueArns: []string{"arn:aws:gamelift:us-east-1:000000000000:gamesessionqueue/queue-dev"},
		Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}},
	}); err != nil {
		h.Fatal(err)
	}
}

// ask starts a ticket with one player. The ticket and the player have the same id.
func (h *testHost) ask(config, id string) {
	h.Helper()
	out, err := h.api.StartMatchmaking(h.context(), &gamelift.StartMatchmakingInput{
		TicketId: &id, ConfigurationName: &config, Players: []types.Player{{
			PlayerId: &id, PlayerAttributes: map[string]types.AttributeValue{"skill": {N: aws.Float64(12)}}, LatencyInMs: map[string]int32{"us-east-1": 30},
		}},
	})
	if err != nil || out.MatchmakingTicket.Status != types.MatchmakingConfigurationStatusQueued {
		h.Fatal(out, err)
	}
}

// reach waits until all tickets have a status.
func (h *testHost) reach(want types.MatchmakingConfigurationStatus, ids ...string) (all []types.MatchmakingTicket) {
	h.Helper()
	h.until("the tickets are "+string(want), func() error {
		out, err := h.api.DescribeMatchmaking(h.context(), &gamelift.DescribeMatchmakingInput{TicketIds: ids})
		if err != nil {
			return err
		}
		for _, t := range out.TicketList {
			if t.Status != want {
				return fmt.Errorf("%s is %s: %s", *t.TicketId, t.Status, aws.ToString(t.StatusMessage))
			}
		}
		all = out.TicketList
		return nil
	})
	return all
}

func names(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("player-%d", i))
	}
	return all
}

// Eight players request a match, accept it, and play four against four.
// FM-102, FM-28, FM-30.
func TestAMatchIsPlayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) { c.API.Rate = 0 }, nil)
		h.matchmaker(true)
		players := names(8)
		for _, p := range players {
			h.ask("arena", p)
		}
		h.reach(types.MatchmakingConfigurationStatusRequiresAcceptance, players...)
		for _, p := range players {
			if _, err := h.api.AcceptMatch(h.context(), &gamelift.AcceptMatchInput{TicketId: &p, PlayerIds: []string{p}, AcceptanceType: types.AcceptanceTypeAccept}); err != nil {
				t.Fatal(err)
			}
		}
		tickets := h.reach(types.MatchmakingConfigurationStatusCompleted, players...)
		count := map[string]int{}
		var clients []*stock.Client
		for _, ticket := range tickets {
			g := ticket.GameSessionConnectionInfo
			if *g.GameSessionArn != *tickets[0].GameSessionConnectionInfo.GameSessionArn || len(g.MatchedPlayerSessions) != 1 || *g.MatchedPlayerSessions[0].PlayerId != *ticket.TicketId {
				t.Fatalf("%+v", g)
			}
			count[*ticket.Players[0].Team]++
			clients = append(clients, h.join(*g.MatchedPlayerSessions[0].PlayerSessionId, stock.Options{}))
		}
		if count["red"] != 4 || count["blue"] != 4 {
			t.Errorf("teams %v", count)
		}
		h.send(clients[0], stock.Message{OpCode: 10, TargetGroup: -1, Payload: []byte("hi"), Reliable: true})
		for _, c := range clients[1:] {
			if e := h.expect(c, stock.Op(10)); string(e.Payload) != "hi" {
				t.Errorf("got %v", e)
			}
		}
		game := h.game(*tickets[0].GameSessionConnectionInfo.GameSessionArn)
		var data struct {
			MatchID       string `json:"matchId"`
			Configuration string `json:"matchmakingConfigurationArn"`
			Teams         []struct {
				Name    string
				Players []struct {
					PlayerID   string `json:"playerId"`
					Attributes map[string]struct {
						Type  string          `json:"attributeType"`
						Value json.RawMessage `json:"valueAttribute"`
					}
				}
			}
		}
		if err := json.Unmarshal([]byte(*game.MatchmakerData), &data); err != nil {
			t.Fatal(err)
		}
		if *game.MaximumPlayerSessionCount != 8 || *game.CurrentPlayerSessionCount != 8 || len(data.Teams) != 2 || data.MatchID == "" ||
			!strings.HasSuffix(data.Configuration, ":matchmakingconfiguration/arena") || !strings.Contains(*game.MatchmakerData, `"autoBackfillMode":null`) {
			t.Errorf("%s", *game.MatchmakerData)
		}
		if a := data.Teams[0].Players[0].Attributes["skill"]; a.Type != "DOUBLE" || string(a.Value) != "12.0" {
			t.Errorf("%+v", a)
		}
	})
}

// After a restart of the host, rule sets, configurations, tags, and ended and waiting tickets still exist,
// and the match continues.
// FM-104, FM-39.
func TestTicketsOutliveTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := t.TempDir() + "/troupe.db"
		kept := func(c *host.Config) {
			c.Store, c.API.Rate = host.Store{Path: path}, 0
		}
		h := startHost(t, kept, nil)
		h.matchmaker(true)
		players := names(8)
		for _, p := range players {
			h.ask("arena", p)
		}
		h.ask("match-dev", "alone")
		h.reach(types.MatchmakingConfigurationStatusRequiresAcceptance, players...)
		accept := func(p string) {
			if _, err := h.api.AcceptMatch(h.context(), &gamelift.AcceptMatchInput{TicketId: &p, PlayerIds: []string{p}, AcceptanceType: types.AcceptanceTypeAccept}); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range players[:4] {
			accept(p)
		}
		h.host.Close()
		h = startHost(t, kept, nil)
		h.reach(types.MatchmakingConfigurationStatusRequiresAcceptance, players...)
		if _, err := h.api.DeleteMatchmakingConfiguration(h.context(), &gamelift.DeleteMatchmakingConfigurationInput{Name: aws.String("arena")}); err == nil {
			t.Error("a configuration with tickets was deleted")
		}
		if _, err := h.api.DeleteMatchmakingRuleSet(h.context(), &gamelift.DeleteMatchmakingRuleSetInput{Name: aws.String("arena")}); err == nil {
			t.Error("a rule set in use was deleted")
		}
		for _, p := range players[4:] {
			accept(p)
		}
		h.reach(types.MatchmakingConfigurationStatusCompleted, players...)
		h.ask("match-dev", "second")
		h.reach(types.MatchmakingConfigurationStatusCompleted, "alone", "second")
		tags, err := h.api.ListTagsForResource(h.context(), &gamelift.ListTagsForResourceInput{ResourceARN: aws.String("arn:aws:gamelift:us-east-1:000000000000:matchmakingconfiguration/arena")})
		if err != nil || len(tags.Tags) != 1 {
			t.Errorf("%+v %v", tags, err)
		}
		configurations, err := h.api.DescribeMatchmakingConfigurations(h.context(), &gamelift.DescribeMatchmakingConfigurationsInput{RuleSetName: aws.String("arena")})
		if err != nil || !slices.ContainsFunc(configurations.Configurations, func(k types.MatchmakingConfiguration) bool { return *k.Name == "arena" }) {
			t.Errorf("%+v %v", configurations, err)
		}
	})
}
