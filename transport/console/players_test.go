package console

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/search"
)

// pages reads all pages of a list and returns the given member of all items.
func (w *world) pages(path, query, list, member string) (all []string) {
	w.Helper()
	for next, n := "", 0; n < 100; n++ {
		a := w.want(200, "", "GET", "/admin/v1/"+path+"?"+query+"&next="+url.QueryEscape(next), "")
		var answer map[string]json.RawMessage
		var items []map[string]any
		var more *string
		if err := json.Unmarshal(a.Body.Bytes(), &answer); err != nil {
			w.Fatal(err)
		}
		if err := json.Unmarshal(answer[list], &items); err != nil {
			w.Fatal(err)
		}
		if err := json.Unmarshal(answer["next"], &more); err != nil {
			w.Fatal(err)
		}
		if strings.Contains(a.Body.String(), "secret") {
			w.Fatalf("a whole id: %s", a.Body)
		}
		for _, one := range items {
			all = append(all, fmt.Sprint(one[member]))
		}
		if more == nil {
			return all
		}
		next = *more
		if raw, err := base64.RawURLEncoding.DecodeString(next); err != nil || strings.Contains(string(raw), "secret") {
			w.Fatalf("next is %s, %v", raw, err)
		}
	}
	w.Fatal("the pages do not end")
	return nil
}

// With any page size, all pages together have each player session of every ACTIVE game session once, newest
// first. Neither the items nor next contain a complete id.
func TestAllPagesHaveEachPlayerSessionOnce(t *testing.T) {
	defer func(was int) { gamesRead = was }(gamesRead)
	w := newWorld(t, false)
	w.console.o.Backend = aFew{}
	var want, ofOne []string
	for _, game := range []string{"e", "c", "d", "a", "b"} { // newest first, as aFew has created them
		for _, i := range []int{2, 3, 0, 1} {
			want = append(want, fmt.Sprintf("psess-%s-%05d-", game, i))
		}
	}
	for _, i := range []int{2, 3, 0, 1} {
		ofOne = append(ofOne, fmt.Sprintf("psess-c-%05d-", i))
	}
	for _, limit := range []int{1, 2, 3, 7, 19, 20, 200, 201, 202} {
		if limit > 200 { // limits above 200 stand for pages that read few game sessions
			gamesRead, limit = limit-200, 200
		}
		for query, want := range map[string][]string{"": want, "fleet=fleet-dev": want, "status=ACTIVE": want, "gameSession=c": ofOne, "status=COMPLETED": nil, "gameSession=c&status=RESERVED": nil} {
			if got := w.pages("players", fmt.Sprintf("limit=%d&%s", limit, query), "players", "playerSession"); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("limit %d, %s: %v, want %v", limit, query, got, want)
			}
		}
	}
}

// longNames is a fake host whose game sessions have names of maximum length.
type longNames struct{ aFew }

func (b longNames) Do(ctx context.Context, q messages.Request) (any, error) {
	find, ok := q.(messages.FindGameSessions)
	if !ok {
		return b.aFew.Do(ctx, q)
	}
	return search.Find(&find, func(yield func(*messages.GameSession, int) bool) {
		for i := range 7 {
			id := messages.GameSessionID("arn:aws:gamelift:us-east-1::gamesession/fleet-dev/" + strings.Repeat("x", 40) + string(rune('a'+i)))
			if !yield(&messages.GameSession{ID: id, FleetID: "fleet-dev", Name: strings.Repeat("☃", 1023) + string(rune('z'-i)), Status: messages.GameSessionActive}, 0) {
				return
			}
		}
	})
}

// Pages sorted by name are complete and have each game session once, even with very long names.
func TestPagesByLongNamesGoOn(t *testing.T) {
	w := newWorld(t, false)
	w.console.o.Backend = longNames{}
	for _, direction := range []string{"ASC", "DESC"} {
		all := w.pages("game-sessions", "status=ACTIVE&limit=2&sort="+url.QueryEscape("gameSessionName "+direction), "gameSessions", "name")
		if less := slices.IsSorted(all); len(all) != 7 || len(slices.Compact(slices.Clone(all))) != 7 || direction == "ASC" && !less {
			t.Errorf("%s: %d, %v", direction, len(all), fmt.Sprint(all)[:0])
		}
	}
}

// slowCrowd is a fake host with one game session that responds slowly. It counts its requests.
type slowCrowd struct {
	messages.Doer
	takes time.Duration
	asked int
}

func (b *slowCrowd) Do(ctx context.Context, q messages.Request) (any, error) {
	switch q := q.(type) {
	case messages.FindGameSessions:
		return messages.FoundGameSessions{GameSessions: []*messages.GameSession{{ID: "game", Status: messages.GameSessionActive}}}, nil
	case messages.InspectGameSession:
		return b.inspectGameSession(ctx, q.ID)
	}
	return b.Doer.Do(ctx, q)
}

func (b *slowCrowd) inspectGameSession(context.Context, messages.GameSessionID) (*messages.GameSessionState, error) {
	b.asked++
	time.Sleep(b.takes)
	return new(messages.GameSessionState), nil
}

// The list of all players is cached, so that querying game sessions takes a small share of the time, however
// many clients request it.
func TestALookAtAllPlayersStandsForAWhile(t *testing.T) {
	for _, test := range []struct{ takes, stands time.Duration }{
		{time.Millisecond, crowdLife}, {100 * time.Millisecond, crowdShare * 100 * time.Millisecond}, {time.Second, crowdLifeMax},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, false)
			b := &slowCrowd{takes: test.takes}
			w.console.o.Backend = b
			look := func(asked int) {
				t.Helper()
				w.want(200, "", "GET", "/admin/v1/connections", "")
				if b.asked != asked {
					t.Errorf("a look that takes %v: asked %d times, not %d", test.takes, b.asked, asked)
				}
			}
			look(1)
			time.Sleep(test.stands - test.takes - time.Millisecond)
			look(1)
			time.Sleep(2 * time.Millisecond)
			look(2)
		})
	}
}

// Running versions are counted by fleet and version. Those with the newest game session come first.
func TestVersionsThatRun(t *testing.T) {
	w := newWorld(t, false)
	w.console.o.Backend = aFew{}
	a := w.want(200, "", "GET", "/admin/v1/scripts", "")
	const want = `"running":[` +
		`{"fleetId":"fleet-dev","scriptVersion":"2 (new)","gameSessions":3,"players":6,"newest":"2027-01-15T08:00:02Z"},` +
		`{"fleetId":"fleet-dev","scriptVersion":"1 (old)","gameSessions":2,"players":4,"newest":"2027-01-15T08:00:01Z"}]`
	if got := strings.TrimSpace(a.Body.String()); !strings.Contains(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}
