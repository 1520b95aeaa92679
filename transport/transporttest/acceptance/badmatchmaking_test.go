package acceptance_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/transport/host"
)

// wantInvalid checks that an error is the modeled InvalidRequestException, with a message that begins so.
func (h *testHost) wantInvalid(what string, err error, begins string) {
	h.Helper()
	var invalid *types.InvalidRequestException
	if !errors.As(err, &invalid) || !strings.HasPrefix(invalid.ErrorMessage(), begins) {
		h.Errorf("%s: got %v, want an InvalidRequestException: %s", what, err, begins)
	}
}

// tryRuleSet gives a body to both operations that take one. The answers must be the same.
func (h *testHost) tryRuleSet(name, body string) error {
	h.Helper()
	_, validated := h.api.ValidateMatchmakingRuleSet(h.context(), &gamelift.ValidateMatchmakingRuleSetInput{RuleSetBody: &body})
	_, created := h.api.CreateMatchmakingRuleSet(h.context(), &gamelift.CreateMatchmakingRuleSetInput{Name: &name, RuleSetBody: &body})
	message := func(err error) string {
		var invalid *types.InvalidRequestException
		if errors.As(err, &invalid) {
			return invalid.ErrorMessage()
		}
		return fmt.Sprint(err)
	}
	if message(validated) != message(created) {
		h.Errorf("%s: ValidateMatchmakingRuleSet says %v, CreateMatchmakingRuleSet %v", name, validated, created)
	}
	return created
}

// The invalid rule sets of flexmatch.md 20 get the modeled exception, with code and JSON path, and leave nothing behind.
// FM-2, FM-3, FM-4.
func TestInvalidRuleSets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sets []struct{ Name, Body, Code, Path string }
		raw, err := os.ReadFile("../../../actors/matchmaker/ruleset/testdata/invalid.json")
		if err == nil {
			err = json.Unmarshal(raw, &sets)
		}
		if err != nil {
			t.Fatal(err)
		}
		h := startHost(t, func(c *host.Config) { c.API.Rate = 0 }, nil)
		before, err := h.api.DescribeMatchmakingRuleSets(h.context(), &gamelift.DescribeMatchmakingRuleSetsInput{})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for i, s := range sets {
			seen[s.Name[:3]] = true
			h.wantInvalid(s.Name, h.tryRuleSet(fmt.Sprint("bad-", i), s.Body), s.Code+": "+s.Path+": ")
		}
		for i := range 30 {
			if name := fmt.Sprintf("I%02d", i+1); !seen[name] {
				t.Errorf("%s was not tried", name)
			}
		}
		if after, err := h.api.DescribeMatchmakingRuleSets(h.context(), &gamelift.DescribeMatchmakingRuleSetsInput{}); err != nil || len(after.RuleSets) != len(before.RuleSets) {
			t.Errorf("there are rule sets that were refused: %v", err)
		}
	})
}

// The largest rule sets are refused, or accepted and used as others; what they cost is measured by TestLargestRuleSetsCostTheirBound.
// FM-1.
func TestLargestRuleSets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) { c.API.Rate = 0 }, nil)
		const version = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number","default":1}],`
		const balanced = version + `"algorithm":{"strategy":"balanced","balancedAttribute":"skill"},"teams":[{"name":"t","minPlayers":1,"maxPlayers":1,"quantity":%d}]}`
		team := version + `"teams":[{"name":"t","minPlayers":2,"maxPlayers":2}]`
		expanded := func(steps string) string {
			return team + `,"rules":[{"name":"Near","type":"distance","measurements":["avg(teams[t].players.attributes[skill])"],"referenceValue":5,"maxDistance":300}],` +
				`"expansions":[{"target":"rules[Near].maxDistance","steps":[` + steps + `]}]}`
		}
		nested := func(n int) string {
			return team + `,"rules":[{"name":"Any","type":"comparison","operation":">","referenceValue":0,"measurements":["avg(` +
				strings.Repeat("flatten(", n-1) + "teams[*].players.attributes[skill]" + strings.Repeat(")", n) + `"]}]}`
		}
		steps := make([]string, 1000)
		for i := range steps {
			steps[i] = fmt.Sprintf(`{"waitTimeSeconds":%d,"value":%d}`, i+1, i)
		}
		for i, c := range []struct{ what, body, begins string }{
			{"200 players", fmt.Sprintf(balanced, 200), ""},
			{"201 players", fmt.Sprintf(balanced, 201), "E_LARGE: $.teams: "},
			{"ten nested functions", nested(10), ""},
			{"17 nested functions", nested(17), "E_EXPR_SYNTAX: $.rules[0].measurements[0]: "},
			{"100 steps", expanded(strings.Join(steps[:100], ",")), ""},
			{"1000 steps", expanded(strings.Join(steps, ",")), "E_EXPANSION_STEPS: $.expansions"},
			{"a list of 15,000 elements", expanded(`{"waitTimeSeconds":1,"value":[` + strings.Repeat("1,", 14_999) + `1]}`), "E_EXPANSION_STEPS: $.expansions[0].steps[0].value: "},
			{"30,000 levels", expanded(`{"waitTimeSeconds":1,"value":` + strings.Repeat("[", 30_000) + strings.Repeat("]", 30_000) + `}`), "E_JSON: $"},
			{"65,535 characters", team + strings.Repeat(" ", 65_535-len(team)-1) + "}", ""},
			{"65,536 characters", team + strings.Repeat(" ", 65_536-len(team)-1) + "}", "RuleSetBody"},
			{"500,000 elements", expanded(`{"waitTimeSeconds":1,"value":[` + strings.Repeat("1,", 499_999) + `1]}`), "RuleSetBody"},
		} {
			err := h.tryRuleSet(fmt.Sprint("large-", i), c.body)
			if c.begins != "" {
				h.wantInvalid(c.what, err, c.begins)
			} else if err != nil {
				t.Errorf("%s: %v", c.what, err)
			}
		}
		million := expanded(`{"waitTimeSeconds":1,"value":[` + strings.Repeat("1,", 999_999) + `1]}`)
		if _, err := h.api.ValidateMatchmakingRuleSet(h.context(), &gamelift.ValidateMatchmakingRuleSetInput{RuleSetBody: &million}); err == nil || !strings.Contains(err.Error(), "413") {
			t.Errorf("a million elements: got %v, want status 413: the body of the request is over its limit", err)
		}
		h.ask("match-dev", "a")
		h.ask("match-dev", "b")
		h.reach(types.MatchmakingConfigurationStatusCompleted, "a", "b")
	})
}

// Tickets at the limits of flexmatch.md 1 are accepted, shown as they were, and matched. One more of anything is refused with the
// modeled exception and the path of the member.
// FM-37.
func TestLargestTickets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) { c.API.Rate = 0 }, nil)
		body := `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"list-0","type":"string_list"},{"name":"map-0","type":"string_number_map"}],
		"teams":[{"name":"red","minPlayers":10,"maxPlayers":10},{"name":"blue","minPlayers":10,"maxPlayers":10}],
		"rules":[{"name":"Shared","type":"collection","operation":"intersection","measurements":["flatten(teams[*].players.attributes[list-0])"],"minCount":100},
		{"name":"Fast","type":"latency","maxLatency":100}]}`
		if err := h.tryRuleSet("large", body); err != nil {
			t.Fatal(err)
		}
		if _, err := h.api.CreateMatchmakingConfiguration(h.context(), &gamelift.CreateMatchmakingConfigurationInput{
			Name: aws.String("large"), RuleSetName: aws.String("large"), AcceptanceRequired: aws.Bool(false), RequestTimeoutSeconds: aws.Int32(600),
			FlexMatchMode: types.FlexMatchModeStandalone,
		}); err != nil {
			t.Fatal(err)
		}
		long := func(i, n int) string { return fmt.Sprintf("%03d", i) + strings.Repeat("x", n-3) }
		attributes := func() map[string]types.AttributeValue {
			all := map[string]types.AttributeValue{}
			for i := range 3 {
				var list []string
				pairs := map[string]float64{}
				for j := range 100 {
					list = append(list, long(j, 100))
				}
				for j := range 10 {
					pairs[long(j, 100)] = float64(j)
				}
				all[fmt.Sprint("list-", i)], all[fmt.Sprint("map-", i)] = types.AttributeValue{SL: list}, types.AttributeValue{SDM: pairs}
				all[fmt.Sprint("text-", i)] = types.AttributeValue{S: aws.String(long(i, 100))}
			}
			all[long(0, 1024)] = types.AttributeValue{N: aws.Float64(1e308)}
			return all
		}
		ticket := func(id string) *gamelift.StartMatchmakingInput {
			in := &gamelift.StartMatchmakingInput{ConfigurationName: aws.String("large"), TicketId: aws.String(id + strings.Repeat("-", 128-len(id)))}
			for i := range 10 {
				p := types.Player{PlayerId: aws.String(id + long(i, 1024-len(id))), PlayerAttributes: attributes(), LatencyInMs: map[string]int32{}}
				for j := range 64 {
					p.LatencyInMs[fmt.Sprint("location-", j)] = int32(j + 1)
				}
				in.Players = append(in.Players, p)
			}
			return in
		}
		var ids []string
		for _, id := range []string{"a", "b"} {
			in := ticket(id)
			ids = append(ids, *in.TicketId)
			out, err := h.api.StartMatchmaking(h.context(), in)
			if err != nil {
				t.Fatal(err)
			}
			if p := out.MatchmakingTicket.Players[9]; *p.PlayerId != *in.Players[9].PlayerId || len(p.PlayerAttributes) != 10 || len(p.PlayerAttributes["list-2"].SL) != 100 ||
				len(p.PlayerAttributes["map-2"].SDM) != 10 || len(p.LatencyInMs) != 64 {
				t.Errorf("the ticket is shown as %.300v", p)
			}
		}
		h.reach(types.MatchmakingConfigurationStatusCompleted, ids...)
		for name, c := range map[string]struct {
			change func(in *gamelift.StartMatchmakingInput, p *types.Player)
			begins string
		}{
			"129 characters of a ticket": {func(in *gamelift.StartMatchmakingInput, _ *types.Player) { in.TicketId = aws.String(long(0, 129)) }, "TicketId"},
			"11 players": {func(in *gamelift.StartMatchmakingInput, p *types.Player) {
				in.Players = append(in.Players, types.Player{PlayerId: aws.String("more")})
			}, "Players"},
			"1,025 characters of a player": {func(_ *gamelift.StartMatchmakingInput, p *types.Player) { p.PlayerId = aws.String(long(0, 1025)) }, "Players[9].PlayerId"},
			"11 attributes": {func(_ *gamelift.StartMatchmakingInput, p *types.Player) {
				p.PlayerAttributes["more"] = types.AttributeValue{N: aws.Float64(1)}
			}, "Players[9].PlayerAttributes"},
			"101 items": {func(_ *gamelift.StartMatchmakingInput, p *types.Player) {
				p.PlayerAttributes["list-0"] = types.AttributeValue{SL: append(p.PlayerAttributes["list-0"].SL, "more")}
			}, "Players[9].PlayerAttributes[list-0].SL"},
			"101 characters of an item": {func(_ *gamelift.StartMatchmakingInput, p *types.Player) {
				p.PlayerAttributes["list-0"].SL[99] = long(0, 101)
			}, "Players[9].PlayerAttributes[list-0].SL[99]"},
			"11 pairs": {func(_ *gamelift.StartMatchmakingInput, p *types.Player) { p.PlayerAttributes["map-0"].SDM["more"] = 1 }, "Players[9].PlayerAttributes[map-0].SDM"},
			"101 characters of a text": {func(_ *gamelift.StartMatchmakingInput, p *types.Player) {
				p.PlayerAttributes["text-0"] = types.AttributeValue{S: aws.String(long(0, 101))}
			}, "Players[9].PlayerAttributes[text-0].S"},
			"a latency of 0": {func(_ *gamelift.StartMatchmakingInput, p *types.Player) { p.LatencyInMs["location-0"] = 0 }, "Players[9].LatencyInMs"},
		} {
			in := ticket("c")
			c.change(in, &in.Players[9])
			_, err := h.api.StartMatchmaking(h.context(), in)
			h.wantInvalid(name, err, c.begins)
		}
	})
}
