package console

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"sort"

	"troupe/messages"
)

// players lists player sessions: of one player, of one game session, with a given beginning of their id, or
// of all ACTIVE game sessions.
func (c *Console) players(w http.ResponseWriter, r *http.Request, q query) *problem {
	limit := q.numbers["limit"]
	status, _ := messages.ParsePlayerSessionStatus(q.words["status"]) // 0 means any status
	behind, p := placeIn[place](q)
	if p != nil {
		return p
	}
	if behind != nil && behind.Short == "" && behind.Game == "" {
		return errNext
	}
	given := 0
	for _, name := range []string{"player", "gameSession", "playerSession", "fleet"} {
		if q.text(name) != "" {
			given++
		}
	}
	if given > 1 {
		return invalid("give one of player, gameSession, playerSession and fleet, or none for all ACTIVE game sessions")
	}
	out := struct {
		Players []player `json:"players"`
		// number on all pages; null for the players of ACTIVE game sessions, which are not counted
		Matched *int    `json:"matched"`
		Next    *string `json:"next"`
		// nodes that did not answer; their player sessions are missing
		SilentNodes []string `json:"silentNodes"`
	}{Players: []player{}}
	var found []placed
	var silent []string
	var more *place // where the next page continues, if not all records were read
	playing := given == 0 || q.text("fleet") != ""
	if playing {
		var running []*messages.GameSession
		if running, silent, p = active(r, c.o.Backend, messages.FleetID(q.text("fleet"))); p == nil {
			found, more, p = c.playing(r, running, status, behind, limit+1)
		}
	} else {
		var matched int
		found, matched, p = c.chosen(r, q, status, behind)
		out.Matched = &matched
	}
	if p != nil {
		return p
	}
	out.SilentNodes = c.silentNodes(silent)
	if len(found) > limit {
		found = found[:limit]
		more = &found[limit-1].place
	}
	if more != nil {
		out.Next = nextOf(more)
	}
	states := make(map[messages.GameSessionID]*messages.GameSessionState)
	soon, cancel := context.WithTimeout(r.Context(), answerMax) // one deadline for all game sessions of the page
	defer cancel()
	for _, one := range found {
		if playing { // querying every game session would take too long; the operation connections does it, with a cache
			out.Players = append(out.Players, recordedPlayer(one.PlayerSession))
		} else {
			out.Players = append(out.Players, c.withState(soon, one.PlayerSession, states))
		}
	}
	return answer(w, out)
}

// chosen returns the player sessions that match a query and follow behind. matched is the number of all that
// match.
func (c *Console) chosen(r *http.Request, q query, status messages.PlayerSessionStatus, behind *place) (found []placed, matched int, p *problem) {
	short := ""
	if id := q.text("playerSession"); id != "" {
		short = messages.PlayerSessionID(id).Short()
	}
	records, err := messages.Do(r.Context(), c.o.Backend, messages.PlayerSessionQuery{
		PlayerID: messages.PlayerID(q.text("player")), GameSessionID: messages.GameSessionID(q.text("gameSession")), ShortID: short,
	})
	if err != nil {
		return nil, 0, refused(err)
	}
	if short != "" && len(records) == 0 {
		return nil, 0, unknown("player session", "psess-"+short)
	}
	all := placesIn(place{}, records, status)
	return after(all, behind), len(all), nil
}

// gamesRead is the maximum number of game sessions whose records are read for one page of players. A page may
// therefore be short. It is a variable for tests.
var gamesRead = 500

// playing returns player sessions of game sessions that follow behind, at least n if there are so many. If it stops after
// gamesRead game sessions, more is the place where the next page continues.
func (c *Console) playing(r *http.Request, of []*messages.GameSession, status messages.PlayerSessionStatus, behind *place, n int) (found []placed, more *place, p *problem) {
	var games []place
	for _, g := range of {
		// sorts after all player sessions of this game session
		end := place{Begun: g.Created.UnixNano(), Game: g.ID, Created: math.MinInt64}
		if behind == nil || end.compare(*behind) > 0 {
			games = append(games, end)
		}
	}
	slices.SortFunc(games, place.compareGame)
	for i, g := range games {
		if i == gamesRead {
			return found, &games[i-1], nil
		}
		records, err := messages.Do(r.Context(), c.o.Backend, messages.PlayerSessionQuery{GameSessionID: g.Game, Status: status})
		// the game session has ended meanwhile and its records are deleted
		if err != nil && !errors.Is(err, &messages.Error{Code: messages.NotFound}) {
			return nil, nil, refused(err)
		}
		if found = append(found, after(placesIn(g, records, status), behind)...); len(found) >= n {
			break
		}
	}
	return found, nil, nil
}

// place is the sort key of a player session in a list, and the content of next. Lists have the newest game
// session first, and within it the newest player session. If a list is not sorted by game session, Begun and
// Game are empty.
type place struct {
	Begun   int64                  `json:"b"` // creation of the game session, in ns
	Game    messages.GameSessionID `json:"g"`
	Created int64                  `json:"c"` // creation of the player session, in ns
	Short   string                 `json:"s"` // short form, because the complete id is a secret
}

func (a place) compareGame(b place) int {
	return cmp.Or(cmp.Compare(b.Begun, a.Begun), cmp.Compare(a.Game, b.Game))
}

func (a place) compare(b place) int {
	return cmp.Or(a.compareGame(b), cmp.Compare(b.Created, a.Created), cmp.Compare(a.Short, b.Short))
}

type placed struct {
	*messages.PlayerSession
	place place
}

// placesIn returns the sorted player sessions with a status; 0 means any status.
func placesIn(game place, records []*messages.PlayerSession, status messages.PlayerSessionStatus) (all []placed) {
	for _, s := range records {
		if status == 0 || s.Status == status {
			all = append(all, placed{s, place{game.Begun, game.Game, s.Created.UnixNano(), s.ID.Short()}})
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int { return a.place.compare(b.place) })
	return all
}

// after returns the player sessions that follow behind. With nil, it returns all.
func after(all []placed, behind *place) []placed {
	if behind == nil {
		return all
	}
	return all[sort.Search(len(all), func(i int) bool { return all[i].place.compare(*behind) > 0 }):]
}

// withState adds the state of a running game session to a player's record. states caches the responses, so
// that each game session is queried once.
func (c *Console) withState(ctx context.Context, s *messages.PlayerSession, states map[messages.GameSessionID]*messages.GameSessionState) player {
	state, asked := states[s.GameSessionID]
	if !asked {
		state, _, _ = c.inspect(ctx, c.o.Backend, s.GameSessionID)
		states[s.GameSessionID] = state
	}
	if state != nil {
		for i := range state.Players {
			if state.Players[i].ID == s.ID {
				return shownPlayer(s.GameSessionID, s.Node, &state.Players[i])
			}
		}
	}
	return recordedPlayer(s)
}
