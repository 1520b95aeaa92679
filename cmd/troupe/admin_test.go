package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/messages"
	"troupe/transport/host"
)

// adminHost starts a host with a game session in which ann has a seat.
func adminHost(t *testing.T) (*host.Host, *messages.GameSession) {
	t.Helper()
	c := plainHost()
	c.Fleets[0].GameSessionsMax = 1 // so that a placement waits
	h := startHost(t, c)
	g, err := h.System().CreateGameSession(t.Context(), messages.CreateGameSession{FleetID: "fleet-dev", MaxPlayers: 4})
	for err == nil && g.Status == messages.GameSessionActivating {
		var now []*messages.GameSession
		if now, err = h.System().GameSessions(t.Context(), messages.GameSessionQuery{ID: g.ID}); err == nil {
			g = now[0]
		}
	}
	if err == nil {
		_, err = h.System().CreatePlayerSessions(t.Context(), messages.CreatePlayerSessions{GameSessionID: g.ID, Players: []messages.NewPlayer{{PlayerID: "ann"}}})
	}
	if err == nil {
		_, err = h.System().StartPlacement(t.Context(), messages.StartPlacement{ID: "place-1", Queue: "queue-dev", MaxPlayers: 4})
	}
	for waits := ""; err == nil && !strings.Contains(waits, "is full"); { // its first pass has ended
		var listed []messages.PlacementState
		if listed, err = h.System().Placements(t.Context(), messages.PlacementList{ID: "place-1", Limit: 1}); len(listed) == 1 {
			waits = listed[0].Waits
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return h, g
}

// The last line tells of players that the list has not, and why.
func TestConnectionsAreSummedUp(t *testing.T) {
	for answer, want := range map[string]string{
		`{"matched": 5000, "silent": 0}`: "50 of 5000 players\n",
		`{"matched": 1, "silent": 2}`:    "1 of 1 player; silent: 2 game sessions, whose players are not there\n",
	} {
		var raw map[string]json.RawMessage
		var out bytes.Buffer
		if err := errors.Join(json.Unmarshal([]byte(answer), &raw), sumUp(&out, raw, 50)); err != nil || out.String() != want {
			t.Errorf("%q, %v; want %q", out.String(), err, want)
		}
	}
}

// The commands of an operator, in the order of a night: each against a real host.
func TestAdminCommands(t *testing.T) {
	h, g := adminHost(t)
	seats, err := h.System().PlayerSessions(t.Context(), messages.PlayerSessionQuery{PlayerID: "ann"})
	if err != nil || len(seats) != 1 {
		t.Fatal(seats, err)
	}
	seat := string(seats[0].ID)
	profile := filepath.Join(t.TempDir(), "heap.pprof")
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{"fleets", 0, "fleet-dev"}, {"scripts", 0, "SCRIPT"}, {"aliases", 0, "alias-dev"}, {"locations", 0, "us-east-1"},
		{"sessions", 0, "  ACTIVE  1/4      127.0.0.1:"}, {"sessions --fleet fleet-dev --location us-east-1 --status ACTIVE", 0, "us-east-1"}, {"sessions --alias alias-dev --json", 0, `"address": "127.0.0.1:`},
		{"sessions --game-session " + string(g.ID), 0, "  ACTIVE  1/4  "}, {"sessions --game-session " + string(g.ID) + " --json", 0, `"playerList": [`},
		{"sessions --filter maximumSessions=4 --sort loud", exitFailure, "sort: "}, {"sessions --filter maximumSessions=5 --json", 0, "[]\n"},
		{"sessions --fleet fleet-none", exitFailure, "fleet-none"}, {"sessions --alias alias-none", exitFailure, "alias-none"}, {"sessions --game-session none", exitFailure, "none"},
		{"sessions --location moon", exitFailure, "no fleet has the location moon"}, {"sessions --game-session none --location moon", exitUsage, "without the flags"},
		{"sessions --fleet fleet-dev --alias alias-dev", exitUsage, ""}, {"sessions --status LOUD", exitUsage, ""},
		{"players", 0, "  ann     RESERVED  fleet-"}, {"players --player ann --status COMPLETED --json", 0, "[]\n"}, {"players --fleet fleet-dev --json", 0, `"playerId": "ann"`},
		{"players --game-session " + string(g.ID), 0, "RESERVED"}, {"players --player-session " + seat, 0, "  ann  "}, {"players --player-session psess-00000000", exitFailure, "psess-00000000"},
		{"players --fleet fleet-dev --player ann", exitUsage, ""}, {"players --game-session none", exitFailure, "none"},
		{"queues", 0, "queue-dev  "}, {"queues queue-dev queue-dev --json", 0, `"name": "queue-dev"`}, {"queues none", exitFailure, "there is no queue none"},
		{"connections", 0, "PLAYER"}, {"connections --closed --player ann", 0, "WHY"}, {"connections --sort rate", 0, "0 of 0 players\n"}, {"connections --sort loud", exitUsage, ""},
		{"placements why none", exitFailure, "none"}, {"placements none", exitFailure, "none"}, {"placements place-1 --queue queue-dev", exitUsage, "without ids"},
		{"placements", 0, "WHY"}, {"placements --queue queue-dev --status PENDING", 0, "is full\n"}, {"placements place-1 place-1", 0, "PENDING"},
		{"placements place-1 --json", 0, `"waits": "`}, {"placements why place-1", 0, "PENDING in queue queue-dev: "}, {"placements --status LOUD", exitUsage, ""},
		{"placements --limit 999", exitFailure, "limit"},
		{"log-level", 0, "info"}, {"log-level debug", 0, "debug"}, {"log-level loud", exitUsage, ""},
		{"kick ann --reason rude", 0, "that end: 1"}, {"kick bob", exitFailure, "bob has no seat"}, {"kick", exitUsage, ""},
		{"ban ann --for 1h --reason rude", 0, "banned until"}, {"ban", 0, "rude"}, {"ban --json", 0, `"playerId": "ann"`},
		{"ban ann", exitUsage, "--for"}, {"ban --lift", exitUsage, "which player"},
		{"ban ann --lift", 0, "lifted"}, {"ban ann --lift", exitFailure, "not banned"},
		{"profile --kind heap -o " + profile, 0, "bytes"},
		{"terminate " + string(g.ID) + " --force", 0, "TERMINATING"}, {"terminate none", exitFailure, "none"},
		{"events", 0, `"action":"kick player","target":"ann"`},
	} {
		code, out, said := call(append(append([]string{"admin"}, strings.Fields(test.args)...), "--endpoint", h.Addrs().APIURL)...)
		if code != test.code || !strings.Contains(out+said, test.want) {
			t.Errorf("admin %s: %d %s%s; want %d %s", test.args, code, out, said, test.code, test.want)
		}
		if strings.Contains(out+said, seat[len(seat)-20:]) {
			t.Errorf("admin %s shows a whole player session id: %s%s", test.args, out, said)
		}
	}
	if info, err := os.Stat(profile); err != nil || info.Size() == 0 {
		t.Error(err)
	}
}

// A list in pages is read to its end.
func TestListsAreReadToTheirEnd(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := map[string]string{
			"":  `{"players": [{"playerId": "ann"}, {"playerId": "bob"}], "matched": null, "next": "b"}`,
			"b": `{"players": [{"playerId": "carla"}], "matched": null, "next": "c"}`, "c": `{"players": [], "matched": null, "next": null}`,
		}[r.URL.Query().Get("next")]
		if q := r.URL.Query(); q.Get("limit") != "200" || q.Get("status") != "ACTIVE" || r.URL.Path != "/admin/v1/players" {
			answer = `{"players": []}`
		}
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	code, out, said := call("admin", "players", "--status", "ACTIVE", "--endpoint", server.URL)
	if got := strings.Count(out, "\n"); code != 0 || got != 4 || !strings.Contains(out, "carla") {
		t.Errorf("%d, %d lines: %s%s", code, got, out, said)
	}
}
