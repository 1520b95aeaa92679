package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

// crowd remembers the players of all running game sessions for a moment: asking each game
// session costs too much to do it for everybody who looks.
type crowd struct {
	turn chan struct{} // held by who uses what follows
	at   time.Time
	all  []player
}

const (
	crowdLife = time.Second
	// crowdAsked is how many game sessions are asked at a time.
	crowdAsked = 4
	// crowdMax bounds the players that are looked at.
	crowdMax = 100_000
)

// connections lists players of running game sessions who have a seat and have been there: the
// slowest first, or those with the longest queue.
func (c *Console) connections(w http.ResponseWriter, r *http.Request, q query) *problem {
	by, p := q.oneOf("sort", "queue", "rtt", "newest")
	if p != nil {
		return p
	}
	limit, p := q.number("limit", limitDefault, limitMax)
	if p != nil {
		return p
	}
	all, p := c.crowdNow(r)
	if p != nil {
		return p
	}
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b player) int {
		switch by {
		case "queue":
			return cmp.Or(cmp.Compare(b.QueueBytes, a.QueueBytes), cmp.Compare(a.PlayerSession, b.PlayerSession))
		case "rtt":
			return cmp.Or(cmp.Compare(valueOf(b.RTTSeconds), valueOf(a.RTTSeconds)), cmp.Compare(a.PlayerSession, b.PlayerSession))
		}
		return cmp.Or(b.Created.Compare(*a.Created), cmp.Compare(a.PlayerSession, b.PlayerSession))
	})
	return answer(w, struct {
		Connections []player `json:"connections"`
		Matched     int      `json:"matched"`
	}{append([]player{}, all[:min(limit, len(all))]...), len(all)})
}

func valueOf(f *float64) float64 {
	if f == nil {
		return 0
	}
	return *f
}

// crowdNow returns the players of all running game sessions. Callers must not change them.
func (c *Console) crowdNow(r *http.Request) ([]player, *problem) {
	t := &c.crowd
	select {
	case t.turn <- struct{}{}:
	case <-r.Context().Done():
		return nil, refused(r.Context().Err())
	}
	defer func() { <-t.turn }()
	if t.all != nil && time.Since(t.at) < crowdLife {
		return t.all, nil
	}
	seq, p := c.find(r, "", "ACTIVE")
	if p != nil {
		return nil, p
	}
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	var (
		mu   sync.Mutex
		wait sync.WaitGroup
	)
	all := []player{}
	slots := make(chan struct{}, crowdAsked)
	for g := range seq {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			state, err := c.o.Backend.InspectGameSession(ctx, g.ID)
			if err != nil { // it has ended meanwhile
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for i := range state.Players {
				if p := &state.Players[i]; (p.InGame || p.Attached) && len(all) < crowdMax {
					all = append(all, shownPlayer(g.ID, p))
				}
			}
		})
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return nil, refused(err)
	}
	t.all, t.at = all, time.Now()
	return all, nil
}
