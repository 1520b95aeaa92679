package ops_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"troupe/actors"
	"troupe/actors/connection"
	"troupe/actors/fleet"
	"troupe/actors/gamesession/gamesessiontest"
	"troupe/actors/matchmaker"
	"troupe/actors/script"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/ops"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newPages returns the pages of a host with one fleet.
func newPages(t *testing.T, count *counters.Set) (*actors.System, *ops.Pages) {
	t.Helper()
	system, err := actors.Start(actors.Options{
		Log: zerolog.Nop(), Counters: count, Timeouts: connection.DefaultTimeouts(),
		Fleet: fleet.Options{
			Region: "local", Session: gamesessiontest.Settings(),
			Fleets:     []*messages.Fleet{{ID: "fleet-x", Status: messages.FleetActive, Locations: []string{"local"}, GameSessionsMax: 2}},
			NewHandler: func(*messages.Fleet) script.Handler { return script.Relay{} },
		},
		Matchmaking: matchmaker.Options{
			RuleSets:    []*messages.RuleSet{{Name: "rules-x", Body: `{"ruleLanguageVersion":"1.0","teams":[{"name":"all","minPlayers":2,"maxPlayers":2}]}`}},
			Matchmakers: []*messages.Matchmaker{{Name: "match-x", RuleSet: "rules-x", Standalone: true, RequestTimeout: time.Minute}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(system.Close)
	end := time.Unix(1_900_000_000, 0)
	return system, ops.New(ops.Options{
		Counters: count, System: system, Version: "v9",
		Queued: func() (int64, int64) { return 3, 4 }, StoreBytes: func() (int64, error) { return 5, nil },
		CertificateEnds: func() (time.Time, time.Time) { return end, end.Add(time.Hour) },
	})
}

func TestPages(t *testing.T) { synctest.Test(t, pages) }

func pages(t *testing.T) {
	count := new(counters.Set)
	system, pages := newPages(t, count)
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "next") })
	get := func(method, path string) (int, string) {
		w := httptest.NewRecorder()
		pages.Mux(next).ServeHTTP(w, httptest.NewRequest(method, path, nil))
		return w.Code, w.Body.String()
	}
	for _, c := range []struct {
		method, path string
		status       int
		text         string
	}{
		{"GET", "/healthz", 200, "ok\n"},
		{"GET", "/readyz", 503, "draining\n"},
		{"POST", "/", 200, "next"},
		{"GET", "/other", 200, "next"},
	} {
		if status, text := get(c.method, c.path); status != c.status || text != c.text {
			t.Errorf("%s %s: %d %q", c.method, c.path, status, text)
		}
	}
	pages.SetReady(true)
	if status, text := get("GET", "/readyz"); status != 200 || text != "ready\n" {
		t.Errorf("ready: %d %q", status, text)
	}
	count.StoreFailing.Store(1)
	if status, text := get("GET", "/readyz"); status != 503 || text != "the store cannot write\n" {
		t.Errorf("the store fails: %d %q", status, text)
	}
	count.StoreFailing.Store(0)

	if _, err := messages.Do(t.Context(), system, messages.CreateGameSession{FleetID: "fleet-x", MaxPlayers: 2}); err != nil {
		t.Fatal(err)
	}
	count.Dropped.Add(counters.DropNotMember, 3)
	count.CountClose(uint16(messages.CloseSlowConsumer))
	count.LoginLatency.Observe(3 * time.Millisecond)
	count.CountCall("CreateGameSession", 3*time.Millisecond, "")
	count.CountCall("", time.Second, "UnknownOperationException")
	status, text := get("GET", "/metrics")
	if status != 200 {
		t.Fatalf("metrics: %d", status)
	}
	for _, line := range []string{
		`troupe_build_info{version="v9"} 1`,
		`troupe_dropped_total{reason="not_member"} 3`,
		`troupe_close_reasons_total{reason="slow_consumer"} 1`,
		`troupe_actors{kind="gamesession"} 1`,
		`troupe_connections{transport="ws"} 0`,
		`troupe_players{state="detached"} 0`,
		`troupe_messages_in_total{transport="udp"} 0`,
		`troupe_messages_delivered_total{transport="ws"} 0`,
		`troupe_bytes_out_total{transport="ws"} 0`,
		`troupe_actor_restarts_total{kind="player"} 0`,
		`troupe_mailbox_depth{mailbox="busiest_game_session"} 0`,
		`troupe_login_seconds_bucket{le="0.005"} 1`,
		`troupe_login_seconds_count 1`,
		`troupe_api_operation_seconds_bucket{operation="CreateGameSession",le="0.005"} 1`,
		`troupe_api_operation_seconds_count{operation="none"} 1`,
		`troupe_api_operation_errors_total{operation="none",type="UnknownOperationException"} 1`,
		`troupe_fleet_free_game_sessions{fleet="fleet-x",location="local"} 1`,
		`troupe_fleet_game_sessions{fleet="fleet-x",location="local"} 1`,
		`troupe_queued_bytes 3`,
		`troupe_queued_bytes_max 4`,
		`troupe_store_bytes 5`,
		`troupe_certificate_end_timestamp_seconds{certificate="served"} 1.9e+09`,
		`troupe_certificate_end_timestamp_seconds{certificate="operator"} 1.9000036e+09`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
	count.Dropped.Add(counters.DropNotMember, 1)
	if _, again := get("GET", "/metrics"); again != text {
		t.Error("metrics are gathered more than once a second")
	}
	if !strings.Contains(text, "troupe_game_sessions{status=\"") || !strings.Contains(text, "go_memstats_mallocs_total") {
		t.Error("game sessions or the Go runtime are missing")
	}
}

// The number of labels by configuration is limited: the oldest configurations have their own label, and the
// others share one.
func TestManyMatchmakingConfigurations(t *testing.T) { synctest.Test(t, manyMatchmakingConfigurations) }

func manyMatchmakingConfigurations(t *testing.T) {
	system, pages := newPages(t, new(counters.Set))
	for i := range 110 {
		time.Sleep(time.Millisecond) // gives each configuration another creation time
		if _, err := messages.Do(t.Context(), system, messages.CreateMatchmaker{Matchmaker: messages.Matchmaker{Name: messages.MatchmakerName(fmt.Sprintf("m%d", i)), RuleSet: "rules-x", Standalone: true, RequestTimeout: time.Minute}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := messages.Do(t.Context(), system, messages.StartMatchmaking{Matchmaker: "m109", Players: []messages.TicketPlayer{{ID: "a"}}}); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	pages.Mux(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	text := w.Body.String()
	if n := strings.Count(text, "troupe_matchmaking_waiting{"); n != 101 || !strings.Contains(text, `troupe_matchmaking_waiting{configuration="(others)"} 1`) ||
		!strings.Contains(text, `troupe_matchmaking_waiting{configuration="match-x"} 0`) {
		t.Errorf("%d labels", n)
	}
}
