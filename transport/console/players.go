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

// players lists records of player sessions: of a player or a game session, by the beginning of an id, or of all ACTIVE game sessions.
func (c *Console) players(w http.ResponseWriter, r *http.Request, q query) *problem {
	limit := q.numbers["limit"]
	status, _ := messages.ParsePlayerSessionStatus(q.words["status"]) // 0 for any
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
		Matched *int     `json:"matched"` // on all pages; null for those of ACTIVE game sessions, which nobody counts
		Next    *string  `json:"next"`
	}{Players: []player{}}
	var found []placed
	var more *place // where to go on if not all was read
	playing := given == 0 || q.text("fleet") != ""
	if playing {
		found, more, p = c.playing(r, messages.FleetID(q.text("fleet")), status, behind, limit+1)
	} else {
		var matched int
		found, matched, p = c.chosen(r, q, status, behind)
		out.Matched = &matched
	}
	if p != nil {
		return p
	}
	if len(found) > limit {
		found = found[:limit]
		more = &found[limit-1].place
	}
	if more != nil {
		out.Next = nextOf(more)
	}
	states := make(map[messages.GameSessionID]*messages.GameSessionState)
	soon, cancel := context.WithTimeout(r.Context(), answerMax) // for all game sessions of the page together
	defer cancel()
	for _, one := range found {
		if playing { // asking every game session would take long; connections does, with a memory
			out.Players = append(out.Players, recordedPlayer(one.PlayerSession))
		} else {
			out.Players = append(out.Players, c.withState(soon, one.PlayerSession, states))
		}
	}
	return answer(w, out)
}

// chosen returns the player sessions behind a place that a query names, and how many there are in all.
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

// gamesRead bounds the game sessions that are read for one page of players, which is short if there were few in them. For tests.
var gamesRead = 500

// playing returns the first n player sessions behind a place, of the ACTIVE game sessions of a fleet or of all. If it has read gamesRead of
// them, more is where to go on.
func (c *Console) playing(r *http.Request, fleet messages.FleetID, status messages.PlayerSessionStatus, behind *place, n int) (found []placed, more *place, p *problem) {
	active, p := c.active(r, fleet)
	if p != nil {
		return nil, nil, p
	}
	var games []place
	for _, g := range active {
		end := place{Begun: g.Created.UnixNano(), Game: g.ID, Created: math.MinInt64} // behind all of its player sessions
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
		if err != nil && !errors.Is(err, &messages.Error{Code: messages.NotFound}) { // it has ended meanwhile, and is forgotten
			return nil, nil, refused(err)
		}
		if found = append(found, after(placesIn(g, records, status), behind)...); len(found) >= n {
			break
		}
	}
	return found, nil, nil
}

// place is the place of a player session in a list, and what next of a page contains: the newest game session first, in it the newest
// player session. In a list that is not by game session, Begun and Game are empty.
type place struct {
	Begun   int64                  `json:"b"` // of the game session, in ns
	Game    messages.GameSessionID `json:"g"`
	Created int64                  `json:"c"` // of the player session, in ns
	Short   string                 `json:"s"` // its whole id is a secret
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

// placesIn returns the player sessions with a status, 0 for any, in their order.
func placesIn(game place, records []*messages.PlayerSession, status messages.PlayerSessionStatus) (all []placed) {
	for _, s := range records {
		if status == 0 || s.Status == status {
			all = append(all, placed{s, place{game.Begun, game.Game, s.Created.UnixNano(), s.ID.Short()}})
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int { return a.place.compare(b.place) })
	return all
}

// after returns those that come after a place; nil means from the start.
func after(all []placed, behind *place) []placed {
	if behind == nil {
		return all
	}
	return all[sort.Search(len(all), func(i int) bool { return all[i].place.compare(*behind) > 0 }):]
}

// withState adds to a record what its game session says, if that runs. Each is asked once: states are the answers so far.
func (c *Console) withState(ctx context.Context, s *messages.PlayerSession, states map[messages.GameSessionID]*messages.GameSessionState) player {
	state, asked := states[s.GameSessionID]
	if !asked {
		state, _, _ = c.inspect(ctx, s.GameSessionID)
		states[s.GameSessionID] = state
	}
	if state != nil {
		for i := range state.Players {
			if state.Players[i].ID == s.ID {
				return shownPlayer(s.GameSessionID, &state.Players[i])
			}
		}
	}
	return recordedPlayer(s)
}
