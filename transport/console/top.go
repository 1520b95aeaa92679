package console

import (
	"cmp"
	"math"
	"net/http"
	"slices"

	"troupe/messages"
)

// busyGame is a running game session with the sums of its players.
type busyGame struct {
	ID            string   `json:"id"`
	Name          string   `json:"name"`
	FleetID       string   `json:"fleetId"`
	Location      string   `json:"location"`
	Seats         int      `json:"seats"` // player sessions RESERVED or ACTIVE
	MaxPlayers    int      `json:"maxPlayers"`
	Attached      int      `json:"attached"`
	Detached      int      `json:"detached"`
	InPerSecond   *float64 `json:"inPerSecond"`  // null until two answers are a second apart
	OutPerSecond  *float64 `json:"outPerSecond"` // null as well
	QueueBytes    int      `json:"queueBytes"`
	RTTSeconds    *float64 `json:"rttSeconds"`    // the median of its players; null if none is known
	RTTMaxSeconds *float64 `json:"rttMaxSeconds"` // null if none is known
	Silent        bool     `json:"silent"`        // it does not answer, so that its players are not known
}

// rates sets the messages a second since an earlier look, that many seconds ago; 0: there was none.
func (p *player) rates(before, now traffic, seconds float64) {
	if seconds <= 0 {
		return
	}
	per := func(before, now uint64) *float64 {
		if now < before { // of a stay in the game that is over
			before = 0
		}
		r := math.Round(float64(now-before)/seconds*10) / 10
		return &r
	}
	p.InPerSecond, p.OutPerSecond = per(before.in, now.in), per(before.out, now.out)
}

// rate is what a player counts in the order by rate.
func (p *player) rate() float64 { return valueOf(p.InPerSecond) + valueOf(p.OutPerSecond) }

// busy sums up the players of a game session. Known says that their rates are known.
func busy(g *messages.GameSession, players []player, known bool) busyGame {
	b := busyGame{ID: string(g.ID), Name: g.Name, FleetID: string(g.FleetID), Location: g.Location, Seats: g.CurrentPlayers, MaxPlayers: g.MaxPlayers}
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

// top lists running game sessions and their players, in one order.
func (c *Console) top(w http.ResponseWriter, r *http.Request, q query) *problem {
	by, limit := q.words["sort"], q.numbers["limit"]
	all, games, p := c.crowdNow(r)
	if p != nil {
		return p
	}
	games = append([]busyGame{}, games...)
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
	return answer(w, struct {
		GameSessions        []busyGame `json:"gameSessions"`
		GameSessionsRunning int        `json:"gameSessionsRunning"`
		GameSessionsSilent  int        `json:"gameSessionsSilent"` // their players are not there
		Players             []player   `json:"players"`
		PlayersInGame       int        `json:"playersInGame"`
	}{games[:min(limit, len(games))], len(games), silentOf(games), firstPlayers(all, by, limit), len(all)})
}
