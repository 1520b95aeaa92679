package fleet

import (
	"fmt"
	"testing"

	"troupe/actors/actorstest/assert"
	"troupe/actors/gamesession"
	"troupe/actors/stage"
	"troupe/messages"
)

// BenchmarkRoom queries the room of a fleet with a bound on activating game sessions, while
// 50,000 game sessions are live.
func BenchmarkRoom(b *testing.B) {
	r, err := New(Options{Region: "home", Fleets: []*messages.Fleet{{
		ID: "fleet-a", Status: messages.FleetActive, Locations: []string{"home"}, GameSessionsMax: 1 << 20,
		Runtime: messages.RuntimeConfiguration{ActivatingMax: 100},
	}}})
	assert.NoError(b, err)
	f := r.catalog.Fleet("fleet-a")
	for i := range 50_000 {
		g := &messages.GameSession{ID: messages.GameSessionID(fmt.Sprint(i)), Status: messages.GameSessionActive}
		r.games.refs[new(stage.Ref)] = &entry{id: g.ID, fleet: r.games.fleetOf(f.ID), location: "home", published: gamesession.NewPublisher(g)}
	}
	for b.Loop() {
		assert.NoError(b, r.games.room(f, "home"))
	}
}
