package endpoint_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
)

const (
	duel = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"},{"name":"modes","type":"string_list"},{"name":"rank","type":"string"},{"name":"wins","type":"string_number_map"}],
	"teams":[{"name":"red","minPlayers":1,"maxPlayers":2},{"name":"blue","minPlayers":1,"maxPlayers":2}]}`
	attributes = `"skill":{"AttrType":"DOUBLE","N":12.5},"modes":{"AttrType":"STRING_LIST","SL":["x","y"]},` +
		`"rank":{"AttrType":"STRING","S":"gold"},"wins":{"AttrType":"STRING_DOUBLE_MAP","SDM":{"duel":3}}`
	duelARN = "arn:aws:gamelift:us-east-1:000000000000:matchmakingconfiguration/duel"
)

// duels makes a queue to the fleet, and a matchmaking configuration on it.
func (w *world) duels() {
	w.t.Helper()
	ask(w, messages.CreateQueue{Queue: messages.Queue{Name: "q", Timeout: time.Minute, Destinations: []string{"arn:aws:gamelift:us-east-1::fleet/" + string(w.fleet)}}})
	ask(w, messages.CreateRuleSet{RuleSet: messages.RuleSet{Name: "duel", Body: duel}})
	ask(w, messages.CreateMatchmaker{Matchmaker: messages.Matchmaker{
		Name: "duel", RuleSet: "duel", Queues: []messages.QueueName{"q"}, RequestTimeout: 2 * time.Minute,
	}})
}

func (w *world) ticket(name messages.PlayerID) messages.TicketID {
	w.t.Helper()
	return ask(w, messages.StartMatchmaking{Matchmaker: "duel", Players: []messages.TicketPlayer{{ID: name, Attributes: map[string]messages.Attribute{
		"skill": {Kind: messages.AttributeNumber, N: 12.5}, "modes": {Kind: messages.AttributeTexts, SL: []string{"x", "y"}},
		"rank": {Kind: messages.AttributeText, S: "gold"}, "wins": {Kind: messages.AttributeMap, SDM: map[string]float64{"duel": 3}},
	}}}}).ID
}

func backfill(g messages.GameSessionID, ticket string) string {
	return `"TicketId":"` + ticket + `","GameSessionArn":"` + string(g) + `","MatchmakingConfigurationArn":"` + duelARN + `","Players":[` +
		`{"PlayerId":"a","Team":"red","PlayerAttributes":{"n":{"AttrType":"NONE"},` + attributes + `},"LatencyInMs":{}},` +
		`{"PlayerId":"b","Team":"blue","PlayerAttributes":{` + attributes + `},"LatencyInMs":{}}]`
}

type update struct {
	UpdateReason, BackfillTicketId string //nolint:revive // the names on the wire
	GameSession                    struct {
		GameSessionId, Name, FleetId, MatchmakerData, Status string //nolint:revive // the names on the wire
		MaximumPlayerSessionCount, Port                      int
		GameProperties                                       map[string]string
	}
}

// SS-15, SS-16, SS-18, SS-26 to SS-28, SS-101, SS-119, SS-120, SS-128: FlexMatch makes a match on a process, which then asks
// for more players.
func TestMatchmaking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t)
		w.duels()
		p := w.connect("p").ready(7777)
		tickets := []messages.TicketID{w.ticket("a"), w.ticket("b")}
		var g struct{ GameSessionId, MatchmakerData string } //nolint:revive // the names on the wire
		p.pushed("CreateGameSession", &g)
		if !strings.Contains(g.MatchmakerData, `"playerId":"a"`) || !strings.Contains(g.MatchmakerData, duelARN) {
			t.Error(g.MatchmakerData)
		}
		id := messages.GameSessionID(g.GameSessionId)
		p.call(200, "ActivateGameSession", of(id))
		time.Sleep(5 * time.Second)
		var seats []messages.PlayerSessionID
		for _, tk := range ask(w, messages.TicketQuery{IDs: tickets}) {
			if tk.Status.String() != "COMPLETED" || tk.Game.Port != 7777 || tk.Game.IPAddress != "10.1.2.3" {
				t.Fatalf("%+v", tk)
			}
		}
		for _, s := range ask(w, messages.PlayerSessionQuery{GameSessionID: id}) {
			seats = append(seats, s.ID)
			p.call(200, "AcceptPlayerSession", seat(id, s.ID))
		}
		if len(seats) != 2 {
			t.Fatal(seats)
		}
		var first, second struct{ TicketId string } //nolint:revive // the name on the wire
		unmarshal(t, p.call(200, "StartMatchBackfill", backfill(id, "")).text, &first)
		if len(first.TicketId) != 36 { // SS-26
			t.Error(first)
		}
		made := ask(w, messages.TicketQuery{IDs: []messages.TicketID{messages.TicketID(first.TicketId)}})[0]
		if a := made.Players[0].Attributes; a["skill"].N != 12.5 || !slices.Equal(a["modes"].SL, []string{"x", "y"}) || a["rank"].S != "gold" || a["wins"].SDM["duel"] != 3 || len(a) != 4 || made.Players[0].Team != "red" { // SS-27
			t.Errorf("%+v", made.Players[0])
		}
		unmarshal(t, p.call(200, "StartMatchBackfill", backfill(id, "mine.2")).text, &second)
		if second.TicketId != "mine.2" {
			t.Error(second)
		}
		var u update
		p.pushed("UpdateGameSession", &u) // SS-120
		if u.UpdateReason != "BACKFILL_CANCELLED" || u.BackfillTicketId != first.TicketId || u.GameSession.FleetId != string(w.fleet) || u.GameSession.GameProperties == nil {
			t.Errorf("%+v", u)
		}
		w.ticket("c")
		u = update{}
		p.pushed("UpdateGameSession", &u)
		if u.UpdateReason != "MATCHMAKING_DATA_UPDATED" || u.BackfillTicketId != "mine.2" || !strings.Contains(u.GameSession.MatchmakerData, `"playerId":"c"`) || u.GameSession.Status != "ACTIVE" {
			t.Errorf("%+v", u)
		}
		for _, attribute := range []string{ // and back (SS-27)
			`"skill":{"attributeType":"DOUBLE","valueAttribute":12.5}`, `"modes":{"attributeType":"STRING_LIST","valueAttribute":["x","y"]}`,
			`"rank":{"attributeType":"STRING","valueAttribute":"gold"}`, `"wins":{"attributeType":"STRING_DOUBLE_MAP","valueAttribute":{"duel":3.0}}`,
		} {
			if n := strings.Count(u.GameSession.MatchmakerData, attribute); n != 3 {
				t.Errorf("%s for %d players in %s", attribute, n, u.GameSession.MatchmakerData)
			}
		}
		ask(w, messages.FillGameSession{Session: id, Reason: messages.BackfillFailed, Ticket: "mine.f"}) // SS-28
		u = update{}
		p.pushed("UpdateGameSession", &u)
		if u.UpdateReason != "BACKFILL_FAILED" || u.BackfillTicketId != "mine.f" || !strings.Contains(u.GameSession.MatchmakerData, `"playerId":"c"`) {
			t.Errorf("%+v", u)
		}
		unmarshal(t, p.call(200, "StartMatchBackfill", backfill(id, "mine.3")).text, &second)
		p.call(400, "StopMatchBackfill", `"TicketId":"mine.2","GameSessionArn":"`+string(id)+`","MatchmakingConfigurationArn":"`+duelARN+`"`)
		p.call(400, "StopMatchBackfill", `"TicketId":"nobody","GameSessionArn":"`+string(id)+`","MatchmakingConfigurationArn":"`+duelARN+`"`)
		p.call(400, "StartMatchBackfill", strings.ReplaceAll(backfill(id, ""), "duel", "other"))
		p.call(400, "StartMatchBackfill", backfill(id+"x", ""))
		p.call(200, "StopMatchBackfill", `"TicketId":"mine.3","GameSessionArn":"`+string(id)+`","MatchmakingConfigurationArn":"`+duelARN+`"`)
		u = update{}
		p.pushed("UpdateGameSession", &u)
		if u.UpdateReason != "BACKFILL_CANCELLED" || u.BackfillTicketId != "mine.3" {
			t.Errorf("%+v", u)
		}
		p.call(200, "StartMatchBackfill", backfill(id, "mine.4"))
		for range 3 {
			time.Sleep(time.Minute)
			p.send("HeartbeatServerProcess", `"HealthStatus":true`)
		}
		u = update{}
		for u.UpdateReason == "" {
			if m := p.next(); m.Action == "UpdateGameSession" {
				unmarshal(t, m.text, &u)
			}
		}
		if u.UpdateReason != "BACKFILL_TIMED_OUT" || u.BackfillTicketId != "mine.4" {
			t.Errorf("%+v", u)
		}
		p.drain()
		p.call(200, "StartMatchBackfill", backfill(id, "mine.5"))
		p.call(200, "TerminateServerProcess", "") // SS-119
		time.Sleep(5 * time.Second)
		if s := ask(w, messages.TicketQuery{IDs: []messages.TicketID{"mine.5"}})[0].Status.String(); s != "CANCELLED" {
			t.Error(s)
		}
		p.silent()
	})
}

// drain drops what has arrived.
func (p *process) drain() {
	synctest.Wait()
	for len(p.text) > 0 {
		<-p.text
	}
}

// SS-205: the newest of the updates that wait for a connection is sent a second after its first heartbeat.
func TestUpdatesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t)
		w.duels()
		p := w.connect("p").ready(7777)
		w.ticket("a")
		w.ticket("b")
		var g struct{ GameSessionId string } //nolint:revive // the name on the wire
		p.pushed("CreateGameSession", &g)
		id := messages.GameSessionID(g.GameSessionId)
		p.call(200, "ActivateGameSession", of(id))
		time.Sleep(5 * time.Second)
		p.call(200, "StartMatchBackfill", backfill(id, "t"))
		p.nc.Close()
		time.Sleep(time.Second)
		for _, ticket := range []messages.TicketID{"u1", "u2"} { // over the service API, while the process has no connection
			ask(w, messages.StartMatchBackfill{TicketID: ticket, Matchmaker: "duel", Session: id, Players: []messages.TicketPlayer{{ID: "a", Team: "red"}, {ID: "b", Team: "blue"}}})
			time.Sleep(time.Second)
		}
		p = w.connect("p")
		p.silent()
		p.beat(true)
		at := time.Now()
		var u update
		p.pushed("UpdateGameSession", &u)
		if d := time.Since(at); d != time.Second || u.BackfillTicketId != "u1" {
			t.Errorf("%v: %+v", d, u)
		}
		time.Sleep(5 * time.Second)
		p.silent()
	})
}
