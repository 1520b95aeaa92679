package crowd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"troupe/actors/store"
	"troupe/bench/loadgen"
	"troupe/messages"
)

const (
	fleet    = "fleet-arena"
	location = "us-east-1"
	arns     = "arn:aws:gamelift:us-east-1::gamesession/" + fleet + "/"

	gamePadding  = 350  // bytes of the properties of a game session, so that its record has 0.7 KB
	placePadding = 2200 // bytes of a placement's record
	eventPadding = 700  // bytes of an event's record
)

// game returns the n-th game session.
func game(n int64) *messages.GameSession {
	return &messages.GameSession{
		ID: messages.GameSessionID(fmt.Sprintf("%sgsess-%032d", arns, n)), FleetID: fleet, Location: location, Name: "game", CreatorID: "creator",
		Properties: []messages.Property{{Key: "map", Value: strings.Repeat("m", gamePadding)}}, MaxPlayers: 8, Created: time.Now(),
		IPAddress: "10.0.0.7", DNSName: "node.example.com", Port: 33400, ScriptVersion: "1",
	}
}

// claim claims a game session for a node, and waits for the answer.
func (n *node) claim(ctx context.Context, g *messages.GameSession) error {
	answer := make(chan error, 1)
	n.directory.Claim(g, [32]byte{}, func(err error) { answer <- err })
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// end ends the oldest game session of a node.
func (n *node) end() {
	if len(n.games) > 0 {
		n.directory.End(n.games[0], true)
		n.games = n.games[1:]
		n.live.Add(-1)
	}
}

// Fill claims the game sessions of all nodes, and returns how many it claimed in a second.
func (c *Crowd) Fill(ctx context.Context) (perSecond float64, err error) {
	begun := time.Now()
	ids := make([]messages.GameSessionID, c.o.Games)
	err = parallel(ctx, c.o.Games, claimers, func(ctx context.Context, i int) error {
		g := game(int64(i))
		ids[i] = g.ID
		return c.nodes[i%len(c.nodes)].claim(ctx, g)
	})
	for i, id := range ids {
		n := c.nodes[i%len(c.nodes)]
		n.games = append(n.games, id)
		n.live.Add(1)
	}
	c.made = int64(c.o.Games)
	return float64(c.o.Games) / time.Since(begun).Seconds(), err
}

// Measured is what a load has shown.
type Measured struct {
	Claims *loadgen.Histogram // from the time at which a claim was due to its answer
	Lag    *loadgen.Histogram // from the write of a load until a node's watch delivered it, for each node
	Counts Counts             // requests of all nodes
	Failed int64              // claims and placements
	Late   *loadgen.Histogram // how late the load itself was
	First  error
}

// Load lets game sessions and placements begin and game sessions end, each rate times in a second, for a time. Each
// begins when it is due, whether or not earlier ones have been answered.
func (c *Crowd) Load(ctx context.Context, rate float64, d time.Duration) (Measured, error) {
	m := Measured{Claims: loadgen.NewHistogram(), Lag: loadgen.NewHistogram(), Late: loadgen.NewHistogram()}
	c.traffic.traffic.Lock()
	c.lag = m.Lag
	c.traffic.traffic.Unlock()
	before, alive := c.Counts(), c.alive()
	var mu sync.Mutex
	failed := func(err error) {
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			if m.Failed++; m.First == nil {
				m.First = err
			}
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var work sync.WaitGroup
	begun := time.Now()
	for i := range int64(rate * d.Seconds()) {
		due := begun.Add(time.Duration(float64(i) / rate * float64(time.Second)))
		if wait := time.Until(due); wait > 0 {
			if err := sleep(ctx, wait); err != nil {
				work.Wait()
				return m, err
			}
		}
		m.Late.Record(time.Since(due))
		n, other := alive[int(i)%len(alive)], alive[(int(i)+len(alive)/2)%len(alive)]
		g := game(c.made)
		c.made++
		n.games = append(n.games, g.ID)
		n.live.Add(1)
		other.end() // of another node, so that the rooms change
		work.Go(func() {
			err := n.claim(ctx, g)
			m.Claims.Record(time.Since(due))
			failed(err)
		})
		work.Go(func() { failed(c.place(ctx, string(g.ID[len(arns):]))) })
	}
	err := sleep(ctx, time.Until(begun.Add(d)))
	m.Counts = c.Counts().Minus(before)
	work.Wait()
	return m, err
}

// place writes a placement as the leader does: that it has begun, that it has ended with an event, and that the event is
// delivered.
func (c *Crowd) place(ctx context.Context, id string) error {
	record := []byte(`"` + strings.Repeat("p", placePadding) + `"`)
	event := []byte(`"` + strings.Repeat("e", eventPadding) + `"`)
	for _, changes := range [][]store.Change{
		{{Kind: store.Placement, ID: id, Value: record}},
		{{Kind: store.Placement, ID: id, Value: record}, {Kind: store.Event, ID: id, Value: event}},
		{store.Delete(store.Event, id)},
	} {
		if err := c.commit(ctx, changes); err != nil {
			return err
		}
	}
	return nil
}

// commit commits in the term under way.
func (c *Crowd) commit(ctx context.Context, changes []store.Change) error {
	records := c.leader.Load()
	if records == nil {
		return errors.New("no node leads")
	}
	answer := make(chan error, 1)
	records.Commit(changes, func(err error) { answer <- err })
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
