package console

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/messages"
	"troupe/messages/search"
)

// aFew is a fake host with a few game sessions, placements and tickets.
type aFew struct{ messages.Doer }

func (aFew) all() []*messages.GameSession {
	all := make([]*messages.GameSession, 5)
	for i := range all {
		all[i] = &messages.GameSession{
			ID: messages.GameSessionID(rune('a' + i)), FleetID: "fleet-dev", Name: "lobby", Status: messages.GameSessionActive, MaxPlayers: 1 + i,
			ScriptVersion: []string{"2 (new)", "1 (old)"}[i%2], Created: time.Unix(1_800_000_000+int64(i/2), 0), Properties: []messages.Property{{Key: "map", Value: "castle"}},
		}
	}
	return all
}

func (aFew) fleets(context.Context) ([]*messages.Fleet, error) {
	return []*messages.Fleet{{ID: "fleet-dev"}}, nil
}

func (b aFew) Do(ctx context.Context, q messages.Request) (any, error) {
	switch q := q.(type) {
	case messages.FleetQuery:
		return b.fleets(ctx)
	case messages.ScriptQuery:
		return []*messages.Script(nil), nil
	case messages.FindGameSessions:
		return search.Find(&q, b.games())
	case messages.GameSessionQuery:
		for _, g := range b.all() {
			if g.ID == q.ID {
				return g, nil
			}
		}
		return nil, messages.Errorf(messages.NotFound, "no game session")
	case messages.PlayerSessionQuery:
		return b.playerSessions(ctx, q)
	case messages.PlacementList:
		return b.placements(ctx, q)
	case messages.TicketList:
		return b.matchmakerTickets(ctx, q)
	case messages.QueueQuery:
		return b.queues(ctx)
	case messages.MatchmakerStateQuery:
		return b.matchmakerStates(ctx)
	case messages.InspectGameSession:
		return b.inspectGameSession(ctx, q.ID)
	}
	return b.Doer.Do(ctx, q)
}

func (b aFew) games() iter.Seq2[*messages.GameSession, int] {
	return func(yield func(*messages.GameSession, int) bool) {
		for i, g := range b.all() {
			if !yield(g, i) {
				return
			}
		}
	}
}

func (aFew) playerSessions(_ context.Context, q messages.PlayerSessionQuery) ([]*messages.PlayerSession, error) {
	all := make([]*messages.PlayerSession, 4)
	for i := range all {
		all[i] = &messages.PlayerSession{
			ID: messages.PlayerSessionID(fmt.Sprintf("psess-%s-%05d-secret", q.GameSessionID, i)), PlayerID: "ann", GameSessionID: q.GameSessionID,
			Status: messages.PlayerSessionActive, Created: time.Unix(1_800_000_100+int64(i/2), 0),
		}
	}
	return all, nil
}

func (aFew) placements(context.Context, messages.PlacementList) ([]messages.PlacementState, error) {
	return nil, nil
}

func (aFew) matchmakerTickets(_ context.Context, q messages.TicketList) (messages.ListedTickets, error) {
	return messages.ListedTickets{Tickets: make([]*messages.Ticket, 0, q.Limit)}, nil
}

func (aFew) queues(context.Context) ([]*messages.Queue, error) {
	return []*messages.Queue{{Name: "queue-dev"}}, nil
}

func (aFew) matchmakerStates(context.Context) ([]messages.MatchmakerState, error) {
	return []messages.MatchmakerState{{Matchmaker: &messages.Matchmaker{Name: "match-dev"}}}, nil
}

func (aFew) inspectGameSession(context.Context, messages.GameSessionID) (*messages.GameSessionState, error) {
	return new(messages.GameSessionState), nil
}

// queried are paths whose handlers parse parameters in their own ways.
var queried = []string{"game-sessions", "players", "connections", "connections/closed", "placements", "matchmaking/tickets", "overview"}

// FuzzQuery: with any query, the response is a success, or an error with a code and a short sentence.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		"", "limit=200", "limit=0", "limit=1&limit=2", "limit=99999999999999999999", "x=1", "%zz", "a;b", "status=any&limit=2", "sort=rtt", "by=host&player=ann",
		"filter=gameSessionProperties.map+%3D+%27castle%27+AND+maximumSessions%3E2&sort=maximumSessions+ASC&limit=1", "filter=%00", "sort=creationTimeMillis+DESC",
		"next=e30", "next=bnVsbA", "next=W10", "limit=1&next=eyJLZXkiOiJ4IiwiSUQiOiJhIn0", "configuration=" + strings.Repeat("m", 3000), "player=%ff%fe",
		"alias=a&location=l", "playerSession=psess-1&status=ACTIVE", "limit=1&next=eyJzIjoieCJ9", "queue=queue-dev", "queue=none", "configuration=match-dev", "configuration=none",
	} {
		for path := range queried {
			f.Add(uint8(path), seed)
		}
	}
	f.Fuzz(func(t *testing.T, path uint8, raw string) {
		w := newWorld(t, false)
		w.console.o.Backend = aFew{}
		r := httptest.NewRequest(http.MethodGet, "http://games.example/admin/v1/"+queried[int(path)%len(queried)], nil)
		r.URL.RawQuery = raw
		a := httptest.NewRecorder()
		w.server.ServeHTTP(a, r)
		var said struct{ Code, Message string }
		if err := json.Unmarshal(a.Body.Bytes(), &said); err != nil {
			t.Fatalf("%v: %s", err, a.Body)
		}
		switch {
		case (a.Code == http.StatusBadRequest && said.Code == "BadRequest" || a.Code == http.StatusNotFound && said.Code == "NotFound") && said.Message != "" && len(said.Message) < 4<<10:
		case a.Code == http.StatusOK:
			values, err := url.ParseQuery(raw)
			for name, all := range values {
				if len(all) > 1 || (len(all[0]) > queryValueMax && name != "player") || !slices.Contains(w.console.routes[queried[int(path)%len(queried)]][http.MethodGet].params, name) {
					t.Errorf("%q is taken", name)
				}
			}
			if err != nil {
				t.Error(err)
			}
		default:
			t.Fatalf("%d %s", a.Code, a.Body)
		}
	})
}
