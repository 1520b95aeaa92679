package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"troupe/messages"
)

// hosting is a fake host whose game sessions are ACTIVATING the first time they are queried.
type hosting struct {
	messages.Doer
	created messages.CreateGameSession
	seats   messages.CreatePlayerSessions
	looks   int
	port    int
}

func (b *hosting) Do(ctx context.Context, q messages.Request) (any, error) {
	switch q := q.(type) {
	case messages.CreateGameSession:
		return b.createGameSession(ctx, q)
	case messages.GameSessionQuery:
		return b.gameSession(ctx, q)
	case messages.CreatePlayerSessions:
		return b.createPlayerSessions(ctx, q)
	}
	return b.Doer.Do(ctx, q)
}

func (b *hosting) createGameSession(_ context.Context, q messages.CreateGameSession) (*messages.GameSession, error) {
	if q.FleetID != "fleet" {
		return nil, messages.Errorf(messages.NotFound, "no fleet")
	}
	b.created = q
	return &messages.GameSession{ID: "game", Status: messages.GameSessionActivating}, nil
}

func (b *hosting) gameSession(context.Context, messages.GameSessionQuery) (*messages.GameSession, error) {
	if b.looks++; b.looks == 1 {
		return &messages.GameSession{ID: "game", Status: messages.GameSessionActivating}, nil
	}
	return &messages.GameSession{ID: "game", Status: messages.GameSessionActive}, nil
}

func (b *hosting) createPlayerSessions(_ context.Context, q messages.CreatePlayerSessions) ([]*messages.PlayerSession, error) {
	b.seats = q
	return []*messages.PlayerSession{{ID: "psess-whole", PlayerID: q.Players[0].PlayerID, GameSessionID: q.GameSessionID, Port: b.port}}, nil
}

func TestAnOperatorTakesASeat(t *testing.T) {
	w := newWorld(t, false)
	b := &hosting{port: 1901}
	w.console.o.Backend = b
	w.console.o.GameURLs = func() []string { return []string{"ws://192.0.2.1:1900", "wss://games.example:1901"} }
	post := func(status int, code, target string) string {
		t.Helper()
		return w.want(status, code, "POST", "/admin/v1/"+target, "", csrfHeader, machine).Body.String()
	}
	if body := post(200, "", "game-sessions?fleet=fleet&name=n&maxPlayers=3&location=here"); !strings.Contains(body, `"status":"ACTIVE"`) || b.looks != 2 {
		t.Errorf("after %d looks: %s", b.looks, body)
	}
	if q := b.created; q.Name != "n" || q.MaxPlayers != 3 || q.Location != "here" {
		t.Errorf("%+v", q)
	}
	var got seat
	take := func() {
		t.Helper()
		if err := json.Unmarshal([]byte(post(200, "", "players?gameSession=game&player=ann&data=d")), &got); err != nil {
			t.Fatal(err)
		}
	}
	take() // now the fleet announces the secured listener
	if got.PlayerSessionID != "psess-whole" || got.PlayerID != "ann" || got.GameSessionID != "game" || !slices.Equal(got.URLs, []string{"wss://games.example:1901", "ws://192.0.2.1:1900"}) {
		t.Errorf("%+v", got)
	}
	b.port = 1900
	if take(); got.URLs[0] != "ws://192.0.2.1:1900" || len(got.URLs) != 2 {
		t.Errorf("%+v", got)
	}
	if b.seats.Players[0] != (messages.NewPlayer{PlayerID: "ann", PlayerData: "d"}) {
		t.Errorf("%+v", b.seats)
	}
	if a := w.operations.acted; len(a) != 3 || a[0].Action != "create game session" || a[0].Target != "fleet" || a[1].Action != "create player session" || a[1].Target != "ann" {
		t.Errorf("%+v", a)
	}
	post(http.StatusNotFound, "NotFound", "game-sessions?fleet=other")
	for _, bad := range []string{"game-sessions", "game-sessions?fleet=fleet&maxPlayers=201", "game-sessions?fleet=fleet&maxPlayers=0", "game-sessions?fleet=fleet&name=" + strings.Repeat("x", nameMax+1),
		"players?player=ann", "players?gameSession=game", "players?gameSession=game&player=" + strings.Repeat("x", playerMax+1), "players?gameSession=game&player=ann&data=" + strings.Repeat("x", queryValueMax+1)} {
		post(http.StatusBadRequest, "BadRequest", bad)
	}
}

// manyNodes is a cluster of more nodes than a policy names.
type manyNodes struct{ Cluster }

func (manyNodes) GameURLs() (all []string) {
	for i := range 1000 {
		all = append(all, fmt.Sprintf("ws://node-%03d:1900", i), "ws://[::1]:1900")
	}
	return all
}

// Addresses that are invalid in a policy are left out, so they cannot end or add a directive.
func TestThePolicyHasNothingButListeners(t *testing.T) {
	w := newWorld(t, false)
	w.console.o.GameURLs = func() []string {
		return []string{"ws://192.0.2.1:1900", "wss://games.example:1901", "ws://[::1]:1900", "ws://a; script-src *", "ws://*", "http://games.example", "wss://"}
	}
	want := strings.Replace(policy, "connect-src 'self'", "connect-src 'self' ws://192.0.2.1:1900 wss://games.example:1901", 1)
	if got := w.want(200, "", "GET", "/", "", "Accept", "text/html").Header().Get("Content-Security-Policy"); got != want {
		t.Error(got)
	}
	w.console.o.Cluster = manyNodes{}
	got := w.want(200, "", "GET", "/", "", "Accept", "text/html").Header().Get("Content-Security-Policy")
	if n := len(got) - len(want); !strings.HasPrefix(got, want[:strings.Index(want, "; form-action")]+" ws://node-000:1900 ws://node-001:1900 ") || n > policyMax || n < policyMax-len(" ws://node-000:1900") {
		t.Error(got)
	}
	if got := w.want(200, "", "GET", "/console/app.js", "").Header().Get("Content-Security-Policy"); got != policy {
		t.Error(got)
	}
}
