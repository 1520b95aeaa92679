package fleet

import (
	"fmt"
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/gamesession"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/messages"
	"troupe/messages/counters"
)

// forgetting is an actor that ends and forgets game sessions one at a time. Meanwhile many game sessions are live, and
// as many ended ones as possible are remembered.
type forgetting struct {
	r    *games
	done chan time.Duration
}

func (f *forgetting) Started(*stage.Context) {}
func (f *forgetting) Stopped(*stage.Context) {}

func (f *forgetting) Receive(c *stage.Context, msg any) {
	f.r.context = c
	n := msg.(int)
	begin := time.Now()
	for range n {
		f.r.keepEnded(f.another("more"))
		f.r.forgetEnded()
	}
	f.done <- time.Since(begin)
}

func (f *forgetting) another(kind string) *entry {
	r := f.r
	id := messages.GameSessionID(fmt.Sprint(kind, "-", len(r.sessions), "-", len(r.order)))
	e := &entry{id: id, fleet: r.fleetOf("fleet-a"), location: "home", storage: stored, endedAt: time.Now(),
		published: gamesession.NewPublisher(&messages.GameSession{ID: id, Status: messages.GameSessionActive})}
	r.sessions[id] = e
	r.order = append(r.order, e)
	return e
}

// The total memory of ended game sessions is limited, no matter how large each one is.
func TestEndedGameSessionsAreBoundedInBytes(t *testing.T) {
	registry, err := New(Options{Region: "home", EndedKeep: time.Hour, Fleets: []*messages.Fleet{
		{ID: "fleet-a", Status: messages.FleetActive, Locations: []string{"home"}},
	}})
	assert.NoError(t, err)
	f := &forgetting{r: registry.games, done: make(chan time.Duration, 1)}
	const each = 100 << 20
	for range 10 {
		e := f.another("large")
		f.r.keepEnded(e)
		e.bytes += each // simulates large data
		f.r.endedBytes += each
	}
	s := stagetest.Start(t, nil)
	defer s.Close()
	s.SpawnAt(s.Stage.NewRef(counters.ActorFleet, stage.LaneLimits{}), f).Tell(1)
	<-f.done
	if n := len(f.r.ended); n != 6 || f.r.endedBytes > endedBytesMax || len(f.r.sessions) != 6 {
		t.Errorf("%d game sessions are remembered, %d in the index, with %d bytes", n, len(f.r.sessions), f.r.endedBytes)
	}
}

func TestPropertiesInAnyOrderMakeTheSameRequest(t *testing.T) {
	of := func(p ...messages.Property) [32]byte {
		return Fingerprint(&messages.CreateGameSession{MaxPlayers: 2, Properties: p})
	}
	a, b := messages.Property{Key: "a", Value: "1"}, messages.Property{Key: "b", Value: "2"}
	if of(a, b) != of(b, a) || of(a, b) == of(a) || of(a) == of(messages.Property{Key: "a", Value: "2"}) {
		t.Error("fingerprints")
	}
}
