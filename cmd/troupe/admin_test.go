package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/transport/transporttest/hosttest"
)

// adminHost starts a host with a game session, in which ann has a seat, and with a pending placement.
func adminHost(t *testing.T, on hosttest.Network) (running, *messages.GameSession) {
	t.Helper()
	c := hosttest.Config(t)
	c.Fleets[0].GameSessionsMax = 1
	h := startHost(t, on, c)
	g, err := messages.Do(t.Context(), h.System(), messages.CreateGameSession{FleetID: "fleet-dev", MaxPlayers: 4})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "an ACTIVE game session", func() error {
		g, err = messages.Do(t.Context(), h.System(), messages.GameSessionQuery{ID: g.ID})
		if err == nil && g.Status == messages.GameSessionActivating {
			err = errors.New("it is activating")
		}
		return err
	})
	_, err = messages.Do(t.Context(), h.System(), messages.CreatePlayerSessions{GameSessionID: g.ID, Players: []messages.NewPlayer{{PlayerID: "ann"}}})
	if err == nil {
		_, err = messages.Do(t.Context(), h.System(), messages.StartPlacement{ID: "place-1", Queue: "queue-dev", MaxPlayers: 4})
	}
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the first pass of the placement", func() error {
		listed, err := messages.Do(t.Context(), h.System(), messages.PlacementList{ID: "place-1", Limit: 1})
		if err == nil && !strings.Contains(listed[0].Waits, "is full") {
			err = fmt.Errorf("%+v", listed[0])
		}
		return err
	})
	return h, g
}

// The last line reports how many players are missing from the list, and why.
func TestConnectionsAreSummedUp(t *testing.T) {
	for want, got := range map[string]string{
		"50 of 5000 players": sumUp(50, 5000, 0),
		"1 of 1 player; silent: 2 game sessions, whose players are not there": sumUp(50, 1, 2),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Lists say which nodes are missing, once for all pages, and also beside JSON. So do actions.
func TestListsNameSilentNodes(t *testing.T) { synctest.Test(t, listsNameSilentNodes) }

func listsNameSilentNodes(t *testing.T) {
	on := standIn(t, func(w http.ResponseWriter, r *http.Request) {
		next := `"2"`
		if r.URL.Query().Get("next") != "" {
			next = "null"
		}
		fmt.Fprintf(w, `{"silentNodes":["b"],"next":%s,"gameSessions":[],"players":[],"connections":[],"running":[],"kicked":0,"silent":0,"until":"soon"}`, next)
	})
	const missing = "silent nodes, whose entries are missing: b\n"
	for _, line := range []string{"sessions", "sessions --json", "players", "connections", "connections --json", "connections --closed", "scripts --running"} {
		code, _, said := on.call(append([]string{"admin"}, strings.Fields(line)...)...)
		if code != 0 || said != missing {
			t.Errorf("%s: %d %q", line, code, said)
		}
	}
	if _, out, _ := on.call("admin", "ban", "eve", "--for", "1h"); !strings.HasSuffix(out, "; nodes that do not answer now: b\n") {
		t.Error(out)
	}
}

// The commands of an operator, in the order of an incident at night. Each runs against a real host. Tables show short
// forms of game session ARNs, and flags accept both forms. A player id has up to 1,024 characters, regardless of their
// size in bytes (service-api.md 2.3).
func TestAdminCommands(t *testing.T) { synctest.Test(t, adminCommands) }

func adminCommands(t *testing.T) {
	h, g := adminHost(t, nil)
	long, short := strings.Repeat("☃", 1024), new(caller{Region: "us-east-1"}).shortGame(string(g.ID))
	seats, err := messages.Do(t.Context(), h.System(), messages.CreatePlayerSessions{GameSessionID: g.ID, Players: []messages.NewPlayer{{PlayerID: messages.PlayerID(long)}}})
	if err != nil || len(short) > 60 {
		t.Fatal(short, err)
	}
	seat := string(seats[0].ID)
	profile := filepath.Join(t.TempDir(), "heap.pprof")
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{"fleets", 0, "fleet-dev"}, {"scripts", 0, "SCRIPT"}, {"aliases", 0, "alias-dev"}, {"locations", 0, "us-east-1"},
		{"sessions", 0, "  ACTIVE  2/4      127.0.0.1:"}, {"sessions --fleet fleet-dev --location us-east-1 --status ACTIVE", 0, "us-east-1"}, {"sessions --alias alias-dev --json", 0, `"address": "127.0.0.1:`},
		{"sessions --game-session " + string(g.ID), 0, "\n" + short + "  -     ACTIVE  2/4  "}, {"sessions --game-session " + string(g.ID) + " --json", 0, `"playerList": [`},
		{"sessions --game-session " + short, 0, short}, {"players --game-session " + short, 0, short}, {"sessions --region eu-west-1", 0, string(g.ID)},
		{"sessions --filter maximumSessions=4 --sort loud", exitFailure, "sort: "}, {"sessions --filter maximumSessions=5 --json", 0, "[]\n"},
		{"sessions --fleet fleet-none", exitFailure, "fleet-none"}, {"sessions --alias alias-none", exitFailure, "alias-none"}, {"sessions --game-session none", exitFailure, "none"},
		{"sessions --location moon", exitFailure, "no fleet has the location moon"}, {"sessions --game-session none --location moon", exitUsage, "without the flags"},
		{"sessions --fleet fleet-dev --alias alias-dev", exitUsage, ""}, {"sessions --status LOUD", exitUsage, ""},
		{"players", 0, "RESERVED"}, {"players --player ann", 0, "  ann     RESERVED  fleet-"}, {"players --player ann --status COMPLETED --json", 0, "[]\n"}, {"players --fleet fleet-dev --json", 0, `"playerId": "ann"`},
		{"players --game-session " + string(g.ID), 0, "RESERVED"}, {"players --player-session " + seat, 0, long}, {"players --player-session psess-00000000", exitFailure, "psess-00000000"},
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
		{"players --player " + long, 0, "RESERVED"}, {"connections --closed --player " + long, 0, "WHY"}, {"kick " + long, 0, "that end: 1"},
		{"ban " + long + " --for 1h", 0, "banned until"}, {"ban " + long + " --lift", 0, "lifted"},
		{"profile --kind heap -o " + profile, 0, "bytes"},
		{"terminate " + string(g.ID) + " --force", 0, "TERMINATING"}, {"terminate none", exitFailure, "none"},
		{"events", 0, `"action":"kick player","target":"ann"`},
	} {
		code, out, said := h.call(append([]string{"admin"}, strings.Fields(test.args)...)...)
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

// All pages of a paginated list are read.
func TestListsAreReadToTheirEnd(t *testing.T) { synctest.Test(t, listsAreReadToTheirEnd) }

func listsAreReadToTheirEnd(t *testing.T) {
	host := standIn(t, func(w http.ResponseWriter, r *http.Request) {
		answer := map[string]string{
			"":  `{"players": [{"playerId": "ann"}, {"playerId": "bob"}], "matched": null, "next": "b"}`,
			"b": `{"players": [{"playerId": "carla"}], "matched": null, "next": "c"}`, "c": `{"players": [], "matched": null, "next": null}`,
		}[r.URL.Query().Get("next")]
		if q := r.URL.Query(); q.Get("limit") != "200" || q.Get("status") != "ACTIVE" || r.URL.Path != "/admin/v1/players" {
			answer = `{"players": []}`
		}
		_, _ = io.WriteString(w, answer)
	})
	code, out, said := host.call("admin", "players", "--status", "ACTIVE")
	if got := strings.Count(out, "\n"); code != 0 || got != 4 || !strings.Contains(out, "carla") {
		t.Errorf("%d, %d lines: %s%s", code, got, out, said)
	}
}

// Without a terminal, troupe top prints one table, or JSON, and ends.
func TestTopOnce(t *testing.T) { synctest.Test(t, topOnce) }

func topOnce(t *testing.T) {
	h, g := adminHost(t, nil)
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"top", 0, "GAME SESSION  "}, {"top --sort rtt", 0, "/4 "}, {"top --json", 0, `"id": "` + string(g.ID)},
		{"top --sort loud", exitUsage, "--sort"}, {"top --every 1ms", exitUsage, "1s"}, {"top --limit 1000", exitFailure, "limit"},
	} {
		began := time.Now()
		code, out, said := h.call(strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out+said, c.want) || strings.Contains(out, "\x1b") || code == 0 && time.Since(began) != onceRest {
			t.Errorf("%s: %d after %v\n%s%s", c.args, code, time.Since(began), out, said)
		}
	}
	if f, err := os.Create(filepath.Join(t.TempDir(), "out")); err != nil || terminal(f) != nil || f.Close() != nil {
		t.Error("a file is a terminal", err)
	}
}
