package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"troupe/messages"
)

// crowd caches the players of all running game sessions for a short time. Querying every game session is too
// expensive to do it for each request.
type crowd struct {
	turn  chan struct{} // mutex for the fields below
	at    time.Time
	good  time.Duration // how long the cached list is valid
	all   []player
	games []busyGame // running game sessions, unsorted
	// totals are the cumulative messages of each player at the time of the cached list. The next list
	// computes its rates from them.
	totals map[messages.PlayerSessionID]traffic
	// order says which game sessions to ask first: those that responded last time (-1), then those that were not asked in
	// time or are new (0), and those that did not respond last (1), because each takes answerMax.
	order map[messages.GameSessionID]int
}

type traffic struct{ in, out uint64 }

const (
	crowdLife = time.Second
	// The list is valid for at least crowdShare times as long as it took to build, but at most for
	// crowdLifeMax. So building takes at most 2 % of the time, unless crowdLifeMax applies. With 1,000 game
	// sessions and 5,000 players, it takes 35 to 100 ms of CPU time.
	crowdShare   = 50
	crowdLifeMax = 10 * time.Second
	crowdAsked   = 4
	crowdMax     = 100_000 // maximum number of players in the list
)

// connections lists the players of running game sessions who are in the game or connected.
func (c *Console) connections(w http.ResponseWriter, r *http.Request, q query) *problem {
	by, limit := q.words["sort"], q.numbers["limit"]
	all, games, p := c.crowdNow(r)
	if p != nil {
		return p
	}
	list := connectionList{firstPlayers(all, by, limit), len(all), silentOf(games), []string{}}
	if q.text("node") == "" {
		var others []connectionList
		others, list.SilentNodes = gather[connectionList](r.Context(), c, r.Method, "connections", q)
		for _, o := range others {
			list.Connections = append(list.Connections, o.Connections...)
			list.Matched, list.Silent = list.Matched+o.Matched, list.Silent+o.Silent
		}
		list.Connections = firstPlayers(list.Connections, by, limit)
	}
	return answer(w, list)
}

type connectionList struct {
	Connections []player `json:"connections"`
	Matched     int      `json:"matched"`
	Silent      int      `json:"silent"`      // game sessions that did not respond; their players are missing
	SilentNodes []string `json:"silentNodes"` // nodes that did not answer; their players are missing
}

func silentOf(games []busyGame) (n int) {
	for i := range games {
		if games[i].Silent {
			n++
		}
	}
	return n
}

// firstPlayers sorts a copy of the players by the given criterion and returns the first limit of them.
func firstPlayers(all []player, by string, limit int) []player {
	all = append([]player{}, all...)
	slices.SortFunc(all, func(a, b player) int {
		order := 0
		switch by {
		case "queue":
			order = cmp.Compare(b.QueueBytes, a.QueueBytes)
		case "rtt":
			order = cmp.Compare(valueOf(b.RTTSeconds), valueOf(a.RTTSeconds))
		case "rate":
			order = cmp.Compare(b.rate(), a.rate())
		default:
			order = timeIn(b.Created).Compare(timeIn(a.Created))
		}
		return cmp.Or(order, cmp.Compare(a.PlayerSession, b.PlayerSession))
	})
	return all[:min(limit, len(all))]
}

func valueOf(f *float64) float64 {
	if f == nil {
		return 0
	}
	return *f
}

// crowdNow returns the players of all running game sessions, and the game sessions. Both may be cached.
// Callers must not modify them.
func (c *Console) crowdNow(r *http.Request) ([]player, []busyGame, *problem) {
	t := &c.crowd
	select {
	case t.turn <- struct{}{}:
	case <-r.Context().Done():
		return nil, nil, refused(r.Context().Err())
	}
	defer func() { <-t.turn }()
	if t.all != nil && time.Since(t.at) < t.good {
		return t.all, t.games, nil
	}
	running, _, p := active(r, c.local(), "")
	if p != nil {
		return nil, nil, p
	}
	most := 10 * time.Second
	if r.URL.Query().Has("node") { // another node waits only for askPlayersMax
		most = askPlayersMax - 500*time.Millisecond
	}
	ctx, cancel := context.WithTimeout(r.Context(), most)
	defer cancel()
	var (
		mu   sync.Mutex
		wait sync.WaitGroup
	)
	all, games, totals, order := []player{}, []busyGame{}, map[messages.PlayerSessionID]traffic{}, map[messages.GameSessionID]int{}
	now := time.Now() // has a monotonic clock reading
	seconds := 0.0    // time since the previous list; 0 if that is too long ago for rates
	if d := now.Sub(t.at); t.all != nil && d <= rateMax {
		seconds = d.Seconds()
	}
	slots := make(chan struct{}, crowdAsked)
	slices.SortStableFunc(running, func(a, b *messages.GameSession) int { return cmp.Compare(t.order[a.ID], t.order[b.ID]) })
	for _, g := range running {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			state, silent, err := c.inspect(ctx, c.local(), g.ID)
			if err != nil && ctx.Err() == nil { // the game session has ended meanwhile
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if silent {
				order[g.ID] = 1
			}
			if silent || err != nil {
				one := busy(g, nil, false)
				one.Silent = true
				games = append(games, one)
				return
			}
			order[g.ID] = -1
			first := len(all)
			for i := range state.Players {
				if p := &state.Players[i]; (p.InGame || p.Attached) && len(all) < crowdMax {
					shown, n := shownPlayer(g.ID, g.Node, p), traffic{p.Received, p.Sent}
					shown.rates(t.totals[p.ID], n, seconds)
					all, totals[p.ID] = append(all, shown), n
				}
			}
			games = append(games, busy(g, all[first:], seconds > 0))
		})
	}
	wait.Wait()
	if err := r.Context().Err(); err != nil {
		return nil, nil, refused(err)
	}
	t.all, t.games, t.totals, t.order, t.at = all, games, totals, order, now
	t.good = min(max(crowdLife, crowdShare*time.Since(now)), crowdLifeMax)
	if ctx.Err() != nil { // some game sessions were not asked
		t.good = 0
	}
	return all, games, nil
}
