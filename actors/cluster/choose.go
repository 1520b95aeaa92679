package cluster

import (
	"math/rand/v2"

	"troupe/messages"
	"troupe/messages/coord"
)

// candidate is a node with room for a game session.
type candidate struct {
	coord.Node
	room, warm int
}

// WithRoom returns the nodes with room for a game session of a fleet in a location, in the order in which to try them.
// The first node is the better one of two that are drawn at random. Loads are out of date, so if the best node always
// came first, it would get all game sessions until the next loads arrive. Nodes with more room are drawn more often. If
// two nodes have equal room, the one with a waiting process is better.
func (v *View) WithRoom(f messages.FleetID, location string, random *rand.Rand) []coord.Node {
	var all []candidate
	sum := 0
	for _, m := range v.Members {
		for _, p := range m.Load.Places {
			if m.Takes() && p.Fleet == string(f) && p.Location == location && p.Room > 0 {
				all = append(all, candidate{m.Node, p.Room, p.Warm})
				sum += p.Room
			}
		}
	}
	draw := func(from int) int {
		at := random.IntN(sum)
		for i, c := range all[from:] {
			if at -= c.room; at < 0 {
				return from + i
			}
		}
		panic("cluster: the sum of all rooms is wrong")
	}
	nodes := make([]coord.Node, len(all))
	for i := range all {
		best := draw(i)
		if i == 0 {
			if other := draw(i); all[other].better(all[best]) {
				best = other
			}
		}
		all[i], all[best] = all[best], all[i]
		nodes[i] = all[i].Node
		sum -= all[i].room
	}
	return nodes
}

func (c candidate) better(o candidate) bool {
	return c.room > o.room || c.room == o.room && c.warm > 0 && o.warm == 0
}
