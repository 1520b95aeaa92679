package matchmaker

import (
	"strings"
	"testing"

	"troupe/messages"
)

// FM-30: the data has the members, types and numbers that the models of the server SDKs read. It has
// attributes of all types, but only those that the rule set declares, with their defaults; all teams; and
// both keys of automatic backfill.
func TestMatchmakerDataIsThatOfTheSDKs(t *testing.T) {
	const body = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"},{"name":"mode","type":"string","default":"<ctf>"},
		{"name":"maps","type":"string_list"},{"name":"bets","type":"string_number_map"}],"teams":[{"name":"red","minPlayers":1,"maxPlayers":2},{"name":"blue","minPlayers":0,"maxPlayers":1}]}`
	const want = `{"matchId":"MATCH","matchmakingConfigurationArn":"arn:aws:gamelift:us-east-1:000000000000:matchmakingconfiguration/m","teams":[` +
		`{"name":"red","players":[{"playerId":"a","attributes":{` +
		`"bets":{"attributeType":"STRING_DOUBLE_MAP","valueAttribute":{"x":2.0,"y":0.25}},` +
		`"maps":{"attributeType":"STRING_LIST","valueAttribute":["one","two"]},` +
		`"mode":{"attributeType":"STRING","valueAttribute":"<ctf>"},` +
		`"skill":{"attributeType":"DOUBLE","valueAttribute":-1510.0}}}]},{"name":"blue","players":[]}],` +
		`"autoBackfillMode":null,"autoBackfillTicketId":null}`
	bubble(t, nil, func(w *world) {
		w.named("m", body, nil)
		if _, err := request[messages.StartMatchmaking, *messages.Ticket](w, messages.StartMatchmaking{TicketID: "T", Matchmaker: "m", Players: []messages.TicketPlayer{{
			ID: "a", Latencies: map[string]int{"here": 1}, Attributes: map[string]messages.Attribute{
				"skill": {Kind: messages.AttributeNumber, N: -1510}, "maps": {Kind: messages.AttributeTexts, SL: []string{"one", "two"}},
				"bets": {Kind: messages.AttributeMap, SDM: map[string]float64{"x": 2, "y": 0.25}}, "undeclared": {Kind: messages.AttributeText, S: "x"},
			},
		}}}); err != nil {
			t.Fatal(err)
		}
		w.pass()
		w.want("T COMPLETED")
		if got := w.placer.started[0].Latencies; len(got) != 1 || got[0].Location != "here" {
			t.Errorf("the placement has latencies %v", got)
		}
		got := strings.Replace(w.game().session.MatchmakerData, string(w.ticket("T").Match), "MATCH", 1)
		if got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	})
}
