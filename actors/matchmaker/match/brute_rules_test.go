package match

import (
	"math"
	"slices"
)

// bruteRules are rules of the language, each with an independent implementation.
var bruteRules = []bruteRule{
	{
		`{"name":"near","type":"distance","measurements":["max(flatten(teams[*].players.attributes[skill]))"],"referenceValue":"min(flatten(teams[*].players.attributes[skill]))","maxDistance":%v}`, "near.maxDistance",
		func(stage int) float64 { return []float64{10, 25, 20}[stage] },
		func(b *brute, c bruteMatch, v float64) bool {
			low, high := math.Inf(1), math.Inf(-1)
			for ticket := range c.team {
				low, high = min(low, b.mean(ticket)), max(high, b.mean(ticket))
			}
			return high-low <= v
		},
	},
	{
		`{"name":"fair","type":"distance","measurements":["avg(teams[*].players.attributes[skill])"],"referenceValue":"avg(flatten(teams[*].players.attributes[skill]))","maxDistance":%v}`, "fair.maxDistance",
		func(stage int) float64 { return []float64{4, 8, 12}[stage] },
		func(b *brute, c bruteMatch, v float64) bool {
			mean := func(seats []bruteSeat) float64 {
				sum := 0.0
				for _, s := range seats {
					sum += b.mean(s.ticket)
				}
				return sum / float64(len(seats))
			}
			for _, seats := range c.players {
				if len(seats) > 0 && math.Abs(mean(seats)-mean(c.all())) > v+1e-9 {
					return false
				}
			}
			return true
		},
	},
	{
		`{"name":"medics","type":"collection","operation":"contains","measurements":["flatten(teams[*].players.attributes[roles])"],"referenceValue":"medic","maxCount":%v}`, "medics.maxCount",
		func(stage int) float64 { return []float64{1, 1, 3}[stage] },
		func(_ *brute, c bruteMatch, v float64) bool {
			n := 0.0
			for _, s := range c.all() {
				if has(s.Attrs["roles"], "medic") {
					n++
				}
			}
			return n <= v
		},
	},
	{
		`{"name":"agree","type":"collection","operation":"intersection","measurements":"flatten(teams[*].players.attributes[roles])","minCount":%v}`, "agree.minCount",
		func(stage int) float64 { return []float64{1, 1, 0}[stage] },
		func(_ *brute, c bruteMatch, v float64) bool {
			n := 0.0
			for _, role := range []string{"medic", "tank", "scout"} {
				if !slices.ContainsFunc(c.all(), func(s bruteSeat) bool { return !has(s.Attrs["roles"], role) }) {
					n++
				}
			}
			return n >= v
		},
	},
	{
		`{"name":"fast","type":"latency","maxLatency":%v}`, "fast.maxLatency",
		func(stage int) float64 { return []float64{50, 60, 100}[stage] },
		func(b *brute, c bruteMatch, v float64) bool {
		next:
			for _, location := range []string{"eu", "us"} {
				for ticket := range c.team {
					sum := 0.0
					for _, p := range b.tickets[ticket].Players {
						ms, ok := p.Lat[location]
						if !ok {
							continue next
						}
						sum += float64(ms)
					}
					if sum/float64(len(b.tickets[ticket].Players)) > v {
						continue next
					}
				}
				return true
			}
			return false
		},
	},
	{
		`{"name":"even","type":"distance","measurements":["count(teams[t_1].players)"],"referenceValue":"count(teams[t_2].players)","maxDistance":%v}`, "even.maxDistance",
		func(stage int) float64 { return []float64{0, 1, 2}[stage] },
		func(_ *brute, c bruteMatch, v float64) bool {
			return math.Abs(float64(len(c.players[0])-len(c.players[1]))) <= v
		},
	},
	{
		`{"name":"good","type":"comparison","measurements":["flatten(teams[*].players.attributes[skill])"],"operation":">=","referenceValue":%v}`, "good.referenceValue",
		func(stage int) float64 { return []float64{15, 10, 12}[stage] },
		func(b *brute, c bruteMatch, v float64) bool {
			for ticket := range c.team {
				if b.mean(ticket) < v {
					return false
				}
			}
			return true
		},
	},
	{
		`{"name":"close","type":"latency","maxLatency":90,"distanceReference":"avg","maxDistance":%v}`, "close.maxDistance",
		func(stage int) float64 { return []float64{8, 15, 12}[stage] },
		func(b *brute, c bruteMatch, v float64) bool {
		next:
			for _, location := range []string{"eu", "us"} {
				var all []float64
				sum := 0.0
				for ticket := range c.team {
					ms, ok := b.latency(ticket, location)
					if !ok || ms > 90 {
						continue next
					}
					all, sum = append(all, ms), sum+ms
				}
				if !slices.ContainsFunc(all, func(ms float64) bool { return math.Abs(ms-sum/float64(len(all))) > v+1e-9 }) {
					return true
				}
			}
			return false
		},
	},
	{
		`{"name":"parties","type":"collection","operation":"contains","partyAggregation":"union","measurements":["flatten(teams[*].players.attributes[roles])"],"referenceValue":"tank","minCount":%v}`, "parties.minCount",
		func(stage int) float64 { return []float64{2, 1, 2}[stage] },
		func(b *brute, c bruteMatch, v float64) bool {
			n := 0.0
			for ticket := range c.team {
				if b.roles(ticket, "tank") > 0 { // also in a backfill ticket, because it is one party
					n++
				}
			}
			return n >= v
		},
	},
	{
		`{"name":"league","type":"batchDistance","batchAttribute":"skill","partyAggregation":"max","maxDistance":%v}`, "league.maxDistance",
		func(stage int) float64 { return []float64{5, 15, 30}[stage] },
		func(b *brute, c bruteMatch, v float64) bool {
			low, high := math.Inf(1), math.Inf(-1)
			for ticket := range c.team {
				best := 0.0
				for _, p := range b.tickets[ticket].Players {
					best = max(best, p.Attrs["skill"].(float64))
				}
				low, high = min(low, best), max(high, best)
			}
			return high-low <= v
		},
	},
	{
		`{"name":"full","type":"comparison","measurements":["count(flatten(teams[*].players))"],"operation":">=","referenceValue":%v},
		{"name":"mean","type":"comparison","measurements":["avg(flatten(teams[*].players.attributes[skill]))"],"operation":"<","referenceValue":20},
		{"name":"either","type":"compound","statement":"or(full, not(mean))"}`, "full.referenceValue",
		func(stage int) float64 { return []float64{4, 3, 2}[stage] },
		func(b *brute, c bruteMatch, v float64) bool {
			sum := 0.0
			for _, s := range c.all() {
				sum += b.mean(s.ticket)
			}
			n := float64(len(c.all()))
			return n >= v || n > 0 && sum/n >= 20
		},
	},
	{
		`{"name":"wanted","type":"collection","operation":"reference_intersection_count","measurements":["flatten(teams[*].players.attributes[roles])"],"referenceValue":"set_intersection(flatten(teams[*].players.attributes[likes]))","minCount":%v}`, "wanted.minCount",
		func(stage int) float64 { return []float64{2, 1, 1}[stage] },
		func(_ *brute, c bruteMatch, v float64) bool {
			for _, s := range c.all() {
				n := 0.0
				for _, role := range s.Attrs["roles"].([]any) {
					if !slices.ContainsFunc(c.all(), func(other bruteSeat) bool { return !has(other.Attrs["likes"], role.(string)) }) {
						n++
					}
				}
				if n < v {
					return false
				}
			}
			return true
		},
	},
}

// latency returns the average latency of a ticket to a location. It returns false if a player does not report
// that location.
func (b *brute) latency(ticket int, location string) (float64, bool) {
	sum := 0.0
	for _, p := range b.tickets[ticket].Players {
		ms, ok := p.Lat[location]
		if !ok {
			return 0, false
		}
		sum += float64(ms)
	}
	return sum / float64(len(b.tickets[ticket].Players)), true
}

// roles counts the players of a ticket that have a role.
func (b *brute) roles(ticket int, role string) (n int) {
	for _, p := range b.tickets[ticket].Players {
		if has(p.Attrs["roles"], role) {
			n++
		}
	}
	return n
}

// bruteSorts are sort rules. key is lowest for the first candidate. Tickets without a value come last.
var bruteSorts = []struct {
	text string
	key  func(b *brute, anchor, ticket int) float64
}{
	{``, func(*brute, int, int) float64 { return 0 }},
	{
		`{"name":"affinity","type":"distanceSort","sortDirection":"ascending","sortAttribute":"skill"}`,
		func(b *brute, anchor, ticket int) float64 { return math.Abs(b.mean(ticket) - b.mean(anchor)) },
	},
	{
		`{"name":"preference","type":"absoluteSort","sortDirection":"descending","sortAttribute":"modes","mapKey":"maxValue","partyAggregation":"min"}`,
		func(b *brute, anchor, ticket int) float64 {
			key, best := "", math.Inf(-1)
			for _, k := range []string{"ctf", "dm"} {
				if v, ok := b.tickets[anchor].Players[0].Attrs["modes"].(map[string]any)[k]; ok && v.(float64) > best {
					key, best = k, v.(float64)
				}
			}
			low := math.Inf(1)
			for _, p := range b.tickets[ticket].Players {
				if v, ok := p.Attrs["modes"].(map[string]any)[key]; ok {
					low = min(low, v.(float64))
				}
			}
			if math.IsInf(low, 1) {
				return low
			}
			return -low
		},
	},
}
