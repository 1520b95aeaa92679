package serviceapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/messages"
)

// stock adds the example game sessions of service-api.md 4.3 to a fleet.
func (a *api) stock() {
	properties := func(pairs ...string) (all []messages.Property) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, messages.Property{Key: pairs[i], Value: pairs[i+1]})
		}
		return all
	}
	for i, g := range []messages.GameSession{
		{Name: "Matt's Awesome Game 1", MaxPlayers: 10, CurrentPlayers: 3, Properties: properties("difficulty", "novice", "map", "winter")},
		{Name: "ranked-2", MaxPlayers: 4, CurrentPlayers: 4, Properties: properties("difficulty", "expert", "map", "summer")},
		{Name: "ranked-3", MaxPlayers: 12, CurrentPlayers: 10, Properties: properties("map", "winter", "level", "10")},
		{MaxPlayers: 2},
		{Name: "Ranked-3", MaxPlayers: 10, CurrentPlayers: 10, Properties: properties("difficulty", "novice", "level", "9")},
	} {
		g.ID = messages.GameSessionID(fmt.Sprintf("arn:aws:gamelift:us-east-1::gamesession/%s/S%d", fleetOne, i+1))
		g.FleetID, g.Location, g.Status, g.Created = fleetOne, "us-east-1", messages.GameSessionActive, time.UnixMilli(int64(i+1)*1000)
		a.fake.games = append(a.fake.games, &g)
	}
}

// found returns the last segments of the ids in a search result, and its page token.
func (a *api) found(t *testing.T, protocol string, in members) (ids []string, token any) {
	t.Helper()
	out := a.call(t, protocol, "SearchGameSessions", in).OK(t)
	for _, g := range items(t, out, "GameSessions") {
		id := g["GameSessionId"].(string)
		ids = append(ids, id[strings.LastIndexByte(id, '/')+1:])
	}
	return ids, out["NextToken"]
}

// Package search has the remaining test vectors. API-55.
func TestSearchVectorsHoldOverTheWire(t *testing.T) {
	a := newAPI(t)
	a.stock()
	inBoth(t, func(t *testing.T, protocol string) {
		for _, c := range []struct{ filter, sort, want string }{
			{"", "", "S1 S2 S3 S4 S5"},
			{`hasAvailablePlayerSessions=true`, "", "S1 S3 S4"},
			{`gameSessionName = 'Matt\'s Awesome Game 1'`, "", "S1"},
			{`gameSessionProperties.difficulty = "novice"`, "", "S1 S5"},
			{`NOT gameSessionProperties.map='winter' AND hasAvailablePlayerSessions=true`, "", "S4"},
			{"", "creationTimeMillis DESC", "S5 S4 S3 S2 S1"},
			{"", "gameSessionProperties.level DESC", "S5 S3 S1 S2 S4"},
			{"maximumSessions>=10", "maximumSessions ASC", "S1 S5 S3"},
			{"", "gameSessionName ASC", "S1 S5 S2 S3 S4"},
		} {
			in := members{"FleetId": fleetOne}
			if c.filter != "" {
				in["FilterExpression"] = c.filter
			}
			if c.sort != "" {
				in["SortExpression"] = c.sort
			}
			if got, token := a.found(t, protocol, in); strings.Join(got, " ") != c.want || token != nil {
				t.Errorf("%s, %s: got %v, want %s; token %v", c.filter, c.sort, got, c.want, token)
			}
		}
		for member, text := range map[string]string{"FilterExpression": "maximumSessions == 10", "SortExpression": "maximumSessions SIDEWAYS"} {
			r := a.call(t, protocol, "SearchGameSessions", members{"FleetId": fleetOne, member: text}).Want(t, 400, invalidRequest)
			if got := r.Body["message"].(string); !strings.HasPrefix(got, member+", at character 1") || !strings.Contains(got, "expected") {
				t.Errorf("got %q", got)
			}
		}
	})
}

// API-56.
func TestSearchShowsActiveOnesOfOneFleetInPagesOf20(t *testing.T) {
	a := newAPI(t)
	for i := range 45 {
		a.newGameSession(t, i%4)
	}
	for i, g := range a.fake.games {
		changed := *g
		if i%9 == 8 {
			changed.Status = messages.GameSessionTerminating
		}
		a.fake.games[i] = &changed
	}
	other := *a.fake.games[0]
	other.ID, other.FleetID = "arn:aws:gamelift:us-east-1::gamesession/fleet-two/other", fleetTwo
	a.fake.games = append(a.fake.games, &other)
	inBoth(t, func(t *testing.T, protocol string) {
		for _, sort := range []string{"", "maximumSessions DESC", "gameSessionName ASC", "gameSessionId DESC"} {
			in := members{"FleetId": fleetOne, "Limit": 100}
			if sort != "" {
				in["SortExpression"] = sort
			}
			var all []string
			for pages := 1; ; pages++ {
				got, token := a.found(t, protocol, in)
				if all = append(all, got...); len(got) > 20 || pages > 2 {
					t.Fatalf("%s: page %d has %d", sort, pages, len(got))
				}
				if token == nil {
					break
				}
				in["NextToken"] = token
				if r := a.call(t, protocol, "SearchGameSessions", members{"FleetId": fleetOne, "SortExpression": "playerSessionCount", "NextToken": token}); r.Status != 400 {
					t.Errorf("a token of another order: %d", r.Status)
				}
			}
			if slices.Sort(all); len(all) != 40 || len(slices.Compact(all)) != 40 || slices.Contains(all, "other") {
				t.Errorf("%s: got %d: %v", sort, len(all), all)
			}
		}
		for _, in := range []members{
			{}, {"FleetId": fleetOne, "AliasId": aliasOne}, {"FleetId": fleetOne, "Limit": 0}, {"FleetId": fleetOne, "NextToken": "x"}, {"FleetId": fleetOne, "NextToken": "AQ"},
		} {
			a.call(t, protocol, "SearchGameSessions", in).Want(t, 400, invalidRequest)
		}
		a.call(t, protocol, "SearchGameSessions", members{"AliasId": aliasEnd}).Want(t, 400, "TerminalRoutingStrategyException")
		a.call(t, protocol, "SearchGameSessions", members{"FleetId": "fleet-none"}).Want(t, 400, "NotFoundException")
		if got, _ := a.found(t, protocol, members{"AliasId": aliasOne, "FilterExpression": "maximumSessions=3", "Limit": 2}); len(got) != 2 {
			t.Errorf("by alias: %v", got)
		}
	})
}

// API-57.
func TestSearchRefusesAFilterOf1025Characters(t *testing.T) {
	a := newAPI(t)
	a.stock()
	long := func(n int) string { return "gameSessionName<>'" + strings.Repeat("ü", n-19) + "'" }
	inBoth(t, func(t *testing.T, protocol string) {
		for _, member := range []string{"FilterExpression", "SortExpression"} {
			for _, text := range []string{"", long(1025)} {
				a.call(t, protocol, "SearchGameSessions", members{"FleetId": fleetOne, member: text}).Want(t, 400, invalidRequest)
			}
		}
		if got, _ := a.found(t, protocol, members{"FleetId": fleetOne, "FilterExpression": long(1024)}); len(got) != 5 {
			t.Errorf("1024 characters: %v", got)
		}
	})
}

// A page token may be shorter than a game session's name; then it has only the beginning of the name. While
// the last game session of the previous page exists, pages are exact. Afterwards they may repeat game
// sessions but skip none.
func TestSearchSortsByNamesLongerThanAToken(t *testing.T) {
	a := newAPI(t)
	var want []string
	for i := range 6 {
		a.newGameSession(t, 1)
		g := *a.fake.games[i]
		g.Name = strings.Repeat("ü", 1000) + string(rune('a'+i))
		a.fake.games[i] = &g
		want = append(want, fmt.Sprintf("gsess-%04d", i))
	}
	kept := slices.Clone(a.fake.games)
	for _, direction := range []string{" ASC", " DESC"} {
		for _, removed := range []bool{false, true} {
			a.fake.games = slices.Clone(kept)
			in := members{"FleetId": fleetOne, "SortExpression": "gameSessionName" + direction, "Limit": 3}
			first, token := a.found(t, "json", in)
			if text, _ := token.(string); text == "" || len(text) > 1024 {
				t.Fatalf("token of %d characters", len(text))
			}
			if removed {
				a.fake.games = slices.DeleteFunc(a.fake.games, func(g *messages.GameSession) bool { return strings.HasSuffix(string(g.ID), first[2]) })
			}
			in["NextToken"], in["Limit"] = token, 20
			rest, _ := a.found(t, "json", in)
			all := append(first, rest...)
			if !removed && len(all) != 6 {
				t.Errorf("%s: got %v", direction, all)
			}
			slices.Sort(all)
			if !slices.Equal(slices.Compact(all), want) {
				t.Errorf("%s, last removed %v: got %v", direction, removed, all)
			}
		}
	}
}
