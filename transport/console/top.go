package console

import (
	"cmp"
	"math"
	"net/http"
	"slices"

	"troupe/messages"
)

// busyGame is a running game session with sums over its players.
type busyGame struct {
	ID            string   `json:"id"`
	Name          string   `json:"name"`
	FleetID       string   `json:"fleetId"`
	Location      string   `json:"location"`
	Node          string   `json:"node"`
	Seats         int      `json:"seats"` // number of player sessions RESERVED or ACTIVE
	MaxPlayers    int      `json:"maxPlayers"`
	Attached      int      `json:"attached"`
	Detached      int      `json:"detached"`
	InPerSecond   *float64 `json:"inPerSecond"`  // null until two lists are a second apart
	OutPerSecond  *float64 `json:"outPerSecond"` // null like inPerSecond
	QueueBytes    int      `json:"queueBytes"`
	RTTSeconds    *float64 `json:"rttSeconds"`    // median over its players; null if unknown
	RTTMaxSeconds *float64 `json:"rttMaxSeconds"` // maximum over its players; null if unknown
	Silent        bool     `json:"silent"`        // it did not respond, so its players are unknown
}

// rates sets the message rates since an earlier list. seconds is the time between both; 0 means that there
// was none.
func (p *player) rates(before, now traffic, seconds float64) {
	if seconds <= 0 {
		return
	}
	per := func(before, now uint64) *float64 {
		if now < before { // the counters were reset because the player has entered the game again
			before = 0
		}
		r := math.Round(float64(now-before)/seconds*10) / 10
		return &r
	}
	p.InPerSecond, p.OutPerSecond = per(before.in, now.in), per(before.out, now.out)
}

// rate returns the player's messages per second in both directions, for sorting.
func (p *player) rate() float64 { return valueOf(p.InPerSecond) + valueOf(p.OutPerSecond) }

// busy sums up the players of a game session. known says whether their rates are known.
func busy(g *messages.GameSession, players []player, known bool) busyGame {
	b := busyGame{ID: string(g.ID), Name: g.Name, FleetID: string(g.FleetID), Location: g.Location, Node: g.Node, Seats: g.CurrentPlayers, MaxPlayers: g.MaxPlayers}
	var (
		in, out float64
		trips   []float64
	)
	for i := range players {
		p := &players[i]
		if p.State == "attached" {
			b.Attached++
		} else {
			b.Detached++
		}
		b.QueueBytes += p.QueueBytes
		if p.InPerSecond != nil {
			in, out = in+*p.InPerSecond, out+*p.OutPerSecond
		}
		if p.RTTSeconds != nil {
			trips = append(trips, *p.RTTSeconds)
		}
	}
	if known {
		in, out = math.Round(in*10)/10, math.Round(out*10)/10
		b.InPerSecond, b.OutPerSecond = &in, &out
	}
	if len(trips) > 0 {
		slices.Sort(trips)
		b.RTTSeconds, b.RTTMaxSeconds = &trips[(len(trips)-1)/2], &trips[len(trips)-1]
	}
	return b
}

// topList is the busiest game sessions and players.
type topList struct {
	GameSessions        []busyGame `json:"gameSessions"`
	GameSessionsRunning int        `json:"gameSessionsRunning"`
	GameSessionsSilent  int        `json:"gameSessionsSilent"` // game sessions that did not respond; their players are missing
	Players             []player   `json:"players"`
	PlayersInGame       int        `json:"playersInGame"`
	SilentNodes         []string   `json:"silentNodes"` // nodes that did not answer; their game sessions are missing
}

// first sorts both lists by the same criterion, and returns the first limit of each.
func (t topList) first(by string, limit int) topList {
	games := slices.Clone(t.GameSessions)
	slices.SortFunc(games, func(a, b busyGame) int {
		order := 0
		switch by {
		case "rate":
			order = cmp.Compare(valueOf(b.InPerSecond)+valueOf(b.OutPerSecond), valueOf(a.InPerSecond)+valueOf(a.OutPerSecond))
		case "queue":
			order = cmp.Compare(b.QueueBytes, a.QueueBytes)
		case "rtt":
			order = cmp.Compare(valueOf(b.RTTMaxSeconds), valueOf(a.RTTMaxSeconds))
		}
		return cmp.Or(order, cmp.Compare(b.Attached+b.Detached, a.Attached+a.Detached), cmp.Compare(a.ID, b.ID))
	})
	if by == "players" {
		by = "rate"
	}
	t.GameSessions, t.Players = games[:min(limit, len(games))], firstPlayers(t.Players, by, limit)
	return t
}

// top lists running game sessions and their players. Each node answers with its own first ones.
func (c *Console) top(w http.ResponseWriter, r *http.Request, q query) *problem {
	all, games, p := c.crowdNow(r)
	if p != nil {
		return p
	}
	list := topList{append([]busyGame{}, games...), len(games), silentOf(games), all, len(all), []string{}}
	if q.text("node") == "" {
		var others []topList
		others, list.SilentNodes = gather[topList](r.Context(), c, r.Method, "top", q)
		list.Players = slices.Clip(list.Players) // the cached list must not change
		for _, o := range others {
			list.GameSessions, list.Players = append(list.GameSessions, o.GameSessions...), append(list.Players, o.Players...)
			list.GameSessionsRunning += o.GameSessionsRunning
			list.GameSessionsSilent += o.GameSessionsSilent
			list.PlayersInGame += o.PlayersInGame
		}
	}
	return answer(w, list.first(q.words["sort"], q.numbers["limit"]))
}
