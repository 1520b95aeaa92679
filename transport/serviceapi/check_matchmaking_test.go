package serviceapi

import (
	"strings"
	"testing"
)

// Until there is matchmaking, its operations say so in a way that clients know (service-api.md 2.1), whatever they are asked;
// nothing of it is answered as if it were there.
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
