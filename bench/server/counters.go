package server

import (
	"context"
	"encoding/json"
	"fmt"
)

// Counters is what the server says about itself; a negative value is unknown. Mallocs counts from its start.
type Counters struct {
	Mallocs    int64
	Goroutines int64
}

var unknownCounters = Counters{Mallocs: -1, Goroutines: -1}

// answerBytesMax bounds what is read from a server.
const answerBytesMax = 16 << 20

// Counters asks the server: /stats of the bare relay and of peers that have it, /debug/runtime of the host. Asking
// allocates in the server; see ScrapeCost.
func (p *Process) Counters(ctx context.Context) (Counters, error) {
	if p.Spec.Kind == Troupe {
		f, err := p.figures(ctx)
		if err != nil {
			return unknownCounters, err
		}
		return f.counters(), nil
	}
	if !p.Announce.Stats {
		return unknownCounters, nil
	}
	text, err := api{url: "http://" + p.Announce.WS, client: p.client}.read(ctx, "/stats")
	if err != nil {
		return unknownCounters, fmt.Errorf("read counters: %w", err)
	}
	return readStats(text)
}

// ScrapeCost is how many objects one more call of Counters allocates in the server: the difference of two calls in a row.
func (p *Process) ScrapeCost(ctx context.Context) (int64, error) {
	a, err := p.Counters(ctx)
	if err != nil {
		return 0, err
	}
	b, err := p.Counters(ctx)
	if err != nil {
		return 0, err
	}
	return b.Mallocs - a.Mallocs, nil
}

func readStats(text []byte) (Counters, error) {
	c := unknownCounters
	if err := json.Unmarshal(text, &c); err != nil { // names match without regard to case
		return c, fmt.Errorf("decode stats: %w", err)
	}
	return c, nil
}
