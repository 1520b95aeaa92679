package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"troupe/bench/server"
)

// seatsMax is what the service API allows in one game session.
const seatsMax = 200

// players reserves seats, one call each.
func (b *bench) players(ctx context.Context) error {
	for round := range b.Rounds {
		if err := b.playerRound(ctx, round); err != nil {
			return err
		}
	}
	p99 := spreadOf(b.res.Players, func(f figures) float64 { return f.P99 })
	rate := spreadOf(b.res.Players, func(f figures) float64 { return f.Rate })
	failed := spreadOf(b.res.Players, func(f figures) float64 { return float64(f.Failed) })
	b.res.Bars.Add("CreatePlayerSession, p99 ms", b.barPlayer, p99.Median, p99.Median <= b.barPlayer && failed.Max == 0)
	b.res.Bars.Add("CreatePlayerSession per second, at least", 0.98*b.PlayerRate, rate.Median, rate.Median >= 0.98*b.PlayerRate)
	return nil
}

func (b *bench) playerRound(ctx context.Context, round int) (err error) {
	proc, err := b.host(ctx, fmt.Sprintf("players-%d.db", round))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, proc.Stop()) }()
	api := proc.API(b.Workers)
	defer api.Close()
	seats := int(b.PlayerRate * b.Measure.Seconds())
	var sessions []string
	for range seats/(seatsMax/2) + 1 { // half full, so that none is at its bound
		id, err := proc.CreateGameSession(ctx, "fleet-a", seatsMax)
		if err != nil {
			return err
		}
		sessions = append(sessions, id)
	}
	k := newClock()
	begun := pace(ctx, b.PlayerRate, b.Measure, b.Workers, func(ctx context.Context, i int, due time.Time) {
		in := struct{ GameSessionId, PlayerId string }{sessions[i%len(sessions)], fmt.Sprintf("player-%d", i)}
		var out struct {
			PlayerSession struct{ PlayerSessionId string }
		}
		err := api.Call(ctx, "CreatePlayerSession", in, &out)
		if err == nil && out.PlayerSession.PlayerSessionId == "" {
			err = errors.New("no player session in the answer")
		}
		k.record(due, err)
	})
	b.res.Players = append(b.res.Players, k.figures(begun))
	return nil
}

// searchResult is one filter over many game sessions.
type searchResult struct {
	Filter        string  `json:"filter"`
	MadePerSecond float64 `json:"made_per_s"`
	P50           float64 `json:"p50_ms"`
	P99           float64 `json:"p99_ms"`
	Max           float64 `json:"max_ms"`
}

// filter has three terms, which one game session in 500 fits.
const filter = "maximumSessions > 1 AND hasAvailablePlayerSessions=true AND gameSessionProperties.map='m7'"

// search makes many game sessions, and searches them.
func (b *bench) search(ctx context.Context) (err error) {
	proc, err := b.host(ctx, "search.db")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, proc.Stop()) }()
	api := proc.API(b.Workers)
	defer api.Close()
	made, err := b.populate(ctx, api)
	if err != nil {
		return err
	}
	in := struct{ FleetId, FilterExpression, SortExpression string }{"fleet-a", filter, "creationTimeMillis DESC"}
	k := newClock()
	begun := time.Now()
	for range b.Searches {
		var out struct {
			GameSessions []struct{ GameSessionId string }
		}
		due := time.Now()
		err := api.Call(ctx, "SearchGameSessions", in, &out)
		if want := min(20, (b.Found+492)/500); err == nil && len(out.GameSessions) < want {
			err = fmt.Errorf("%d game sessions found, not %d", len(out.GameSessions), want)
		}
		if err != nil {
			return err
		}
		k.record(due, nil)
	}
	f := k.figures(begun)
	b.res.Search = &searchResult{Filter: filter, MadePerSecond: made, P50: f.P50, P99: f.P99, Max: f.Max}
	b.res.Bars.Add(fmt.Sprintf("search of %d game sessions, p99 ms", b.Found), b.barSearch, f.P99, f.P99 <= b.barSearch)
	return nil
}

// populate makes game sessions, and returns how many per second.
func (b *bench) populate(ctx context.Context, api *server.API) (float64, error) {
	type property struct{ Key, Value string }
	k := newClock()
	begun := pace(ctx, 1e6, time.Duration(float64(b.Found)/1e6*float64(time.Second)), 16, func(ctx context.Context, i int, _ time.Time) {
		in := struct {
			FleetId                   string
			MaximumPlayerSessionCount int
			GameProperties            []property
		}{"fleet-a", 8, []property{{"map", fmt.Sprintf("m%d", i%500)}, {"mode", "ranked"}}}
		k.record(time.Now(), api.Call(ctx, "CreateGameSession", in, new(struct{})))
	})
	f := k.figures(begun)
	if f.Failed > 0 {
		return 0, fmt.Errorf("%d game sessions were not made: %s", f.Failed, f.First)
	}
	return f.Rate, rest(ctx, 2*time.Second) // all of them ACTIVE
}
