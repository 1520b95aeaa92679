package serviceapi

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"troupe/messages"
)

// API-64, FM-28.
func TestStartMatchBackfill(t *testing.T) {
	inBoth(t, func(t *testing.T, protocol string) {
		a := newAPI(t)
		a.fake.matchmakers = []*messages.Matchmaker{{Name: "m"}}
		const game = "arn:aws:gamelift:us-east-1::gamesession/fleet-one/x"
		in := members{"TicketId": "t", "ConfigurationName": "m", "GameSessionArn": game, "Players": []any{members{"PlayerId": "p", "Team": "red"}}}
		ticket := a.call(t, protocol, "StartMatchBackfill", in).OK(t)["MatchmakingTicket"].(members)
		connection := ticket["GameSessionConnectionInfo"].(members)
		if ticket["Status"] != "QUEUED" || connection["GameSessionArn"] != game || connection["Port"] != nil || items(t, ticket, "Players")[0]["Team"] != "red" {
			t.Errorf("%v", ticket)
		}
		if r := a.fake.tickets[0]; r.Players[0].Team != "red" || r.Backfill.Session != game {
			t.Errorf("%+v", r)
		}
		many := make([]any, 200)
		for i := range many {
			many[i] = members{"PlayerId": fmt.Sprint(i), "Team": "red"}
		}
		for name, bad := range map[string]members{
			"no players": with(in, "Players", []any{}), "200 players": with(in, "Players", many),
			"no team": with(in, "Players", []any{members{"PlayerId": "p"}}), "no configuration": with(in, "ConfigurationName", nil),
		} {
			if r := a.call(t, protocol, "StartMatchBackfill", bad); r.Status != 400 || r.Code() != invalidRequest {
				t.Errorf("%s: %d %v", name, r.Status, r.Body)
			}
		}
		for name, bad := range map[string]members{"configuration": with(in, "ConfigurationName", "none"), "game session": with(in, "GameSessionArn", "arn:aws:gamelift:us-east-1::fleet/x")} {
			if r := a.call(t, protocol, "StartMatchBackfill", bad); r.Code() != exceptions["NF"] {
				t.Errorf("%s: %v", name, r.Body)
			}
		}
		a.fake.crowded = true
		if r := a.call(t, protocol, "StartMatchBackfill", in); r.Code() != "ThrottlingException" {
			t.Errorf("%v", r.Body)
		}
	})
}

const queueARN = "arn:aws:gamelift:us-east-1:000000000000:gamesessionqueue/q"

func TestRuleSetsAndConfigurations(t *testing.T) {
	inBoth(t, func(t *testing.T, protocol string) {
		a := newAPI(t)
		for _, operation := range []string{"ValidateMatchmakingRuleSet", "CreateMatchmakingRuleSet"} {
			in := members{"RuleSetBody": "bad"}
			if operation[0] == 'C' {
				in["Name"] = "r"
			}
			r := a.call(t, protocol, operation, in)
			if text, _ := r.Body["message"].(string); r.Code() != invalidRequest || !strings.HasPrefix(text, "E_JSON: $") {
				t.Errorf("%s: %v", operation, r.Body)
			}
		}
		if out := a.call(t, protocol, "ValidateMatchmakingRuleSet", members{"RuleSetBody": "{}"}).OK(t); out["Valid"] != true {
			t.Errorf("%v", out)
		}
		set := a.call(t, protocol, "CreateMatchmakingRuleSet", members{"Name": "r.1", "RuleSetBody": "{}"}).OK(t)["RuleSet"].(members)
		if arn := set["RuleSetArn"]; arn != "arn:aws:gamelift:us-east-1:000000000000:matchmakingruleset/r.1" || set["RuleSetBody"] != "{}" {
			t.Errorf("%v", set)
		}
		for _, names := range [][]string{{"r.1"}, {set["RuleSetArn"].(string)}} {
			if got := items(t, a.call(t, protocol, "DescribeMatchmakingRuleSets", members{"Names": names}).OK(t), "RuleSets"); len(got) != 1 {
				t.Errorf("%v", got)
			}
		}
		if r := a.call(t, protocol, "DescribeMatchmakingRuleSets", members{"Names": []string{"none"}}); r.Code() != exceptions["NF"] {
			t.Errorf("%v", r.Body)
		}
		full := members{
			"Name": "m", "RuleSetName": set["RuleSetArn"], "GameSessionQueueArns": []string{queueARN}, "RequestTimeoutSeconds": 90, "AcceptanceRequired": true,
			"AcceptanceTimeoutSeconds": 30, "AdditionalPlayerCount": 2, "CustomEventData": "mine", "GameSessionData": "data", "Description": "text",
			"GameProperties": []any{members{"Key": "k", "Value": "v"}}, "NotificationTarget": "arn:aws:sns:us-east-1:000000000000:t",
			"FlexMatchMode": "WITH_QUEUE", "BackfillMode": "MANUAL",
		}
		k := a.call(t, protocol, "CreateMatchmakingConfiguration", full).OK(t)["Configuration"].(members)
		for member, want := range full {
			got := k[member]
			if member == "RuleSetName" {
				want = "r.1"
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %v, want %v", member, got, want)
			}
		}
		if k["ConfigurationArn"] != "arn:aws:gamelift:us-east-1:000000000000:matchmakingconfiguration/m" {
			t.Errorf("%v", k)
		}
		changed := a.call(t, protocol, "UpdateMatchmakingConfiguration", members{"Name": k["ConfigurationArn"], "AcceptanceRequired": false}).OK(t)["Configuration"].(members)
		if changed["AcceptanceRequired"] != false || changed["Description"] != "text" {
			t.Errorf("%v", changed)
		}
		for want, in := range map[int]members{1: {"Names": []string{"m", "none"}}, 0: {"RuleSetName": "other"}} {
			if got := items(t, a.call(t, protocol, "DescribeMatchmakingConfigurations", in).OK(t), "Configurations"); len(got) != want {
				t.Errorf("%v: %v", in, got)
			}
		}
		if r := a.call(t, protocol, "UpdateMatchmakingConfiguration", members{"Name": "m", "BackfillMode": "AUTOMATIC"}); r.OK(t)["Configuration"].(members)["BackfillMode"] != "AUTOMATIC" {
			t.Errorf("%v", r.Body)
		}
		for _, operation := range []string{"DeleteMatchmakingConfiguration", "DeleteMatchmakingRuleSet"} {
			name := map[bool]string{true: "m", false: "r.1"}[strings.HasSuffix(operation, "Configuration")]
			if out := a.call(t, protocol, operation, members{"Name": name}).OK(t); len(out) != 0 {
				t.Errorf("%v", out)
			}
			if r := a.call(t, protocol, operation, members{"Name": name}); r.Code() != exceptions["NF"] {
				t.Errorf("%v", r.Body)
			}
		}
	})
}

// API-64, FM-37, FM-38.
func TestTickets(t *testing.T) {
	inBoth(t, func(t *testing.T, protocol string) {
		a := newAPI(t)
		a.fake.matchmakers = []*messages.Matchmaker{{Name: "m"}}
		player := members{
			"PlayerId": "p", "LatencyInMs": members{"us-east-1": 20},
			"PlayerAttributes": members{"mode": members{"S": "duel"}, "maps": members{"SL": []string{"a", "b", "a"}}, "bet": members{"SDM": members{"x": 1.5}}, "skill": members{"N": 1510.5}},
		}
		in := members{"TicketId": "t", "ConfigurationName": "m", "Players": []any{player}}
		ticket := a.call(t, protocol, "StartMatchmaking", in).OK(t)["MatchmakingTicket"].(members)
		if ticket["Status"] != "QUEUED" || ticket["TicketId"] != "t" || ticket["GameSessionConnectionInfo"] != nil || ticket["EndTime"] != nil {
			t.Errorf("%v", ticket)
		}
		got := a.fake.tickets[0].Players[0]
		if got.Attributes["skill"].N != 1510.5 || len(got.Attributes["maps"].SL) != 2 || got.Attributes["bet"].SDM["x"] != 1.5 || got.Latencies["us-east-1"] != 20 {
			t.Errorf("%+v", got)
		}
		a.fake.tickets[0].Status = messages.TicketCompleted
		a.fake.tickets[0].Players[0].Team = "red"
		a.fake.tickets[0].Game = &messages.MatchedSession{ID: "arn:x", IPAddress: "192.0.2.1", Port: 7, Placed: []messages.PlacedPlayer{{PlayerID: "p", PlayerSessionID: "psess-1"}}}
		list := items(t, a.call(t, protocol, "DescribeMatchmaking", members{"TicketIds": []string{"none", "t"}}).OK(t), "TicketList")
		if len(list) != 1 {
			t.Fatalf("%v", list)
		}
		connection := list[0]["GameSessionConnectionInfo"].(members)
		seats := items(t, connection, "MatchedPlayerSessions")
		if connection["GameSessionArn"] != "arn:x" || fmt.Sprint(connection["Port"]) != "7" || seats[0]["PlayerSessionId"] != "psess-1" || items(t, list[0], "Players")[0]["Team"] != "red" {
			t.Errorf("%v", list)
		}
		if out := a.call(t, protocol, "StopMatchmaking", members{"TicketId": "t"}).OK(t); len(out) != 0 {
			t.Errorf("%v", out)
		}
		if out := a.call(t, protocol, "AcceptMatch", members{"TicketId": "t", "PlayerIds": []string{"p"}, "AcceptanceType": "REJECT"}).OK(t); len(out) != 0 || a.fake.answers[0].Accept {
			t.Errorf("%v %v", out, a.fake.answers)
		}
		ten := make([]any, 11)
		for i := range ten {
			ten[i] = members{"PlayerId": fmt.Sprint(i)}
		}
		many := members{}
		for i := range 11 {
			many[fmt.Sprint(i)] = members{"N": 1}
		}
		for name, bad := range map[string]members{
			"11 players":     with(in, "Players", ten),
			"no players":     with(in, "Players", []any{}),
			"no id":          with(in, "Players", []any{members{}}),
			"one twice":      with(in, "Players", []any{player, player}),
			"two values":     with(in, "Players", []any{members{"PlayerId": "p", "PlayerAttributes": members{"a": members{"S": "x", "N": 1}}}}),
			"no value":       with(in, "Players", []any{members{"PlayerId": "p", "PlayerAttributes": members{"a": members{}}}}),
			"11 attributes":  with(in, "Players", []any{members{"PlayerId": "p", "PlayerAttributes": many}}),
			"101 items":      with(in, "Players", []any{members{"PlayerId": "p", "PlayerAttributes": members{"a": members{"SL": strings.Split(strings.Repeat("x,", 100)+"x", ",")}}}}),
			"latency of 0":   with(in, "Players", []any{members{"PlayerId": "p", "LatencyInMs": members{"x": 0}}}),
			"wrong id":       with(in, "TicketId", "a b"),
			"another region": with(in, "ConfigurationName", "arn:aws:gamelift:us-east-1:000000000000:queue/m"),
		} {
			if r := a.call(t, protocol, "StartMatchmaking", bad); r.Status != 400 || r.Code() != invalidRequest {
				t.Errorf("%s: %d %v", name, r.Status, r.Body)
			}
		}
		if protocol == "cbor" {
			nan := []any{members{"PlayerId": "p", "PlayerAttributes": members{"a": members{"N": math.NaN()}}}}
			if r := a.call(t, protocol, "StartMatchmaking", with(in, "Players", nan)); r.Status != 400 {
				t.Errorf("NaN: %d %v", r.Status, r.Body)
			}
		}
		if r := a.call(t, protocol, "DescribeMatchmaking", members{"TicketIds": strings.Split("0123456789a", "")}); r.Code() != invalidRequest {
			t.Errorf("%v", r.Body)
		}
		if r := a.call(t, protocol, "StartMatchmaking", with(in, "ConfigurationName", "none")); r.Code() != exceptions["NF"] {
			t.Errorf("%v", r.Body)
		}
	})
}
