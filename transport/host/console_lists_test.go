package host

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"troupe/messages"
)

// Game sessions are found by fleet, by alias and by location, and player sessions in the ways that operators know them. Nothing of
// the rest of a player session's id is shown.
func TestTheConsoleFindsByEachOfItsFilters(t *testing.T) {
	synctest.Test(t, theConsoleFindsByEachOfItsFilters)
}

func theConsoleFindsByEachOfItsFilters(t *testing.T) {
	h := consoleHost(t, Options{Network: memory(t)})
	games, err := h.System().GameSessions(t.Context(), messages.GameSessionQuery{FleetID: "fleet-dev"})
	if err != nil || len(games) != 1 {
		t.Fatal(games, err)
	}
	seats, err := h.System().PlayerSessions(t.Context(), messages.PlayerSessionQuery{GameSessionID: games[0].ID})
	if err != nil || len(seats) != 1 {
		t.Fatal(seats, err)
	}
	terminal, err := h.System().CreateAlias(t.Context(), messages.CreateAlias{Name: "closed", Message: "closed for the winter"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.System().StopPlacement(t.Context(), "waits"); err != nil { // the second location would have room for it
		t.Fatal(err)
	}
	if _, err := h.System().CreateLocation(t.Context(), messages.Location{Name: "custom-attic"}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.System().AddFleetLocations(t.Context(), messages.FleetLocations{FleetID: "fleet-dev", Locations: []string{"custom-attic"}}); err != nil {
		t.Fatal(err)
	}
	game, seat, region := url.QueryEscape(string(games[0].ID)), string(seats[0].ID), h.reloads.config.Region
	address := fmt.Sprintf(`"address":"%s:%d"`, games[0].IPAddress, games[0].Port)
	for _, test := range []struct {
		path   string
		status int
		has    string
	}{
		{"game-sessions?alias=alias-dev", 200, `"matched":1`}, {"game-sessions?alias=alias-dev&status=any&location=" + region, 200, address},
		{"game-sessions?fleet=fleet-dev&location=" + region, 200, address}, {"game-sessions?location=" + region, 200, `"matched":1`},
		{"game-sessions?location=" + region + "&status=TERMINATED", 200, `"matched":0`}, {"game-sessions?location=custom-attic", 200, `"matched":0`},
		{"game-sessions?fleet=fleet-dev&location=custom-attic&status=any", 200, `"matched":0`}, {"game-session?id=" + game, 200, address},
		{"game-sessions?alias=alias-none", 404, "alias-none"}, {"game-sessions?fleet=fleet-none", 404, "fleet-none"}, {"game-sessions?fleet=fleet-none&status=any", 404, "fleet-none"},
		{"game-sessions?location=moon", 404, "no fleet has the location moon"}, {"game-sessions?alias=alias-dev&location=moon", 400, "moon is not one of fleet fleet-dev"},
		{"game-sessions?fleet=fleet-dev&location=moon&status=any", 400, "moon is not one of fleet fleet-dev"},
		{"game-sessions?alias=" + string(terminal.ID), 400, "closed for the winter"}, {"game-sessions?alias=alias-dev&fleet=fleet-dev", 400, "not both"},
		{"players", 200, `"playerId":"ann"`}, {"scripts", 200, `"running":[{"fleetId":"fleet-dev","scriptVersion":"","gameSessions":1,"players":1,"newest":"20`}, {"players?fleet=fleet-dev&status=RESERVED", 200, `"playerId":"ann"`}, {"players?status=ACTIVE", 200, `"players":[]`},
		{"players?player=ann", 200, `"matched":1`}, {"players?player=ann&status=COMPLETED", 200, `"matched":0`}, {"players?gameSession=" + game, 200, `"state":"reserved"`},
		{"players?playerSession=psess-" + seats[0].ID.Short(), 200, `"playerId":"ann"`}, {"players?playerSession=" + seat, 200, `"playerId":"ann"`},
		{"players?playerSession=psess-00000000", 404, "there is no player session psess-00000000"}, {"players?fleet=fleet-none", 404, "fleet-none"},
		{"players?gameSession=none", 404, "none"}, {"players?player=ann&fleet=fleet-dev", 400, "give one of"},
	} {
		status, body := h.act("GET", "/"+test.path)
		if status != test.status || !strings.Contains(body, test.has) || strings.Contains(body, seat[len(seat)-20:]) {
			t.Errorf("%s: %d %s; want %d and %s", test.path, status, body, test.status, test.has)
		}
		if test.status == 200 {
			continue
		}
		var said struct{ Code, Message string }
		if err := json.Unmarshal([]byte(body), &said); err != nil || said.Code == "" || !strings.Contains(said.Message, " ") {
			t.Errorf("%s: no sentence: %s", test.path, body)
		}
	}
}
