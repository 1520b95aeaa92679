package fleet

import (
	"fmt"
	"testing"

	"troupe/actors/gamesession"
	"troupe/actors/stage"
	"troupe/messages"
)

// BenchmarkRoom asks for room in a fleet that bounds how many activate, while 50,000 game
// sessions live.
func BenchmarkRoom(b *testing.B) {
	r, err := New(Options{Region: "home", Fleets: []*messages.Fleet{{
		ID: "fleet-a", Status: messages.FleetActive, Locations: []string{"home"}, GameSessionsMax: 1 << 20,
		Runtime: messages.RuntimeConfiguration{ActivatingMax: 100},
	}}})
	if err != nil {
		b.Fatal(err)
	}
	f := r.catalog.Fleet("fleet-a")
	for i := range 50_000 {
		g := &messages.GameSession{ID: messages.GameSessionID(fmt.Sprint(i)), Status: messages.GameSessionActive}
		r.games.refs[new(stage.Ref)] = &entry{id: g.ID, fleet: r.games.fleetOf(f.ID), location: "home", published: gamesession.NewPublisher(g)}
	}
	for b.Loop() {
		if err := r.games.room(f, "home"); err != nil {
			b.Fatal(err)
		}
	}
}
