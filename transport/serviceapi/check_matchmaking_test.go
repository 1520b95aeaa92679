package serviceapi

import (
	"strings"
	"testing"
)

// Matchmaking is not built yet. All its operations refuse every input with an exception that clients know (service-api.md
// 2.1); none answers as if matchmaking existed.
// API-63.
func TestMatchmakingIsRefusedByName(t *testing.T) {
	a := newSilentServer(t)
	inBoth(t, func(t *testing.T, protocol string) {
		for operation, in := range map[string]members{
			"StartMatchmaking":                  {"ConfigurationName": "m", "Players": []any{members{"PlayerId": "p"}}},
			"StopMatchmaking":                   {"TicketId": "placing"},
			"DescribeMatchmaking":               {"TicketIds": []any{"unknown"}},
			"AcceptMatch":                       {"TicketId": "t", "PlayerIds": []any{"p"}, "AcceptanceType": "ACCEPT"},
			"StartMatchBackfill":                {"ConfigurationName": "m", "Players": []any{members{"PlayerId": "p"}}},
			"CreateMatchmakingRuleSet":          {"Name": "r", "RuleSetBody": "{}"},
			"ValidateMatchmakingRuleSet":        {"RuleSetBody": "{}"},
			"DescribeMatchmakingConfigurations": {},
		} {
			r := a.ask(t, protocol, operation, in)
			if text, _ := r.Body["message"].(string); r.Status != 400 || r.Code() != exceptions["UR"] || !strings.Contains(text, operation) {
				t.Errorf("%s: %d %v", operation, r.Status, r.Body)
			}
		}
	})
}
