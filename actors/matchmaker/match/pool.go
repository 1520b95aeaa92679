package match

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"troupe/actors/matchmaker/ruleset"
)

// Player is one player of a ticket.
type Player struct {
	ID         string
	Attributes map[string]ruleset.Value
	Latencies  map[string]int // in milliseconds, by location
	Team       string         // the player's team; only in a backfill ticket
}

// Ticket is a request for a match, or a backfill request for a running game session. It must not be changed
// while it is in a pool.
type Ticket struct {
	ID       string
	Start    time.Time
	Players  []Player
	Backfill string // ID of the game session of a backfill ticket; "" for other tickets
	Room     int    // in a backfill ticket: maximum number of players that a match may add; 0 means no limit besides the team sizes
}

// Match is a match formed by a pass. Its tickets are no longer in the pool.
type Match struct {
	Tickets []*Ticket // the anchor first
	Teams   []Team    // all teams, including empty ones, in the order of declaration
	Age     time.Duration
	Rules   []RuleCount
	MaxSize int // maximum number of players of all teams at the stage of the match
}

// Team is one team of a match.
type Team struct {
	Name    string
	Players []Player
}

// RuleCount counts the evaluations of a rule during the search for a match.
type RuleCount struct {
	Name           string
	Passed, Failed int
}

// Options are the options of a pool.
type Options struct {
	AdditionalPlayers int // number of seats that a match must leave free
	Budget            int // evaluations per pass, at least 1,000; 0 means PassBudget
	// Pause, if not nil, is called by Begin and Step about every 20 µs of work. It may sleep. It must not use
	// the pool.
	Pause func()

	noRepair bool // for tests
}

// Pool contains the tickets that wait for a match by one rule set.
type Pool struct {
	set       *ruleset.RuleSet
	options   Options
	plans     []plan // by stage
	ranges    int    // number of range rules, and so of entry.keys
	latency   int    // index of the latency rule that restricts the usable locations, or -1
	largest   int    // maximum size of a team at any stage
	weights   []int  // cost of an evaluation, by rule
	dependent []bool // by rule: whether the result depends on the assignment to teams
	entries   []*entry
	gone      int // number of entries that have left the pool
	byID      map[string]*entry
	players   map[string]*player
	locations map[string]*location
	freeIDs   []int
	arrivals  uint64
	removals  uint64
	cut       *Pass // the last pass if its budget was spent before it was complete; otherwise nil
}

// location is a location that a ticket reports. Its ID is reused when no ticket reports it any more.
type location struct {
	name        string
	id, tickets int
}

// player is a player named by tickets. A match contains at most one ticket of a player.
type player struct{ tickets int }

// entry is a ticket in the pool with its precomputed values.
type entry struct {
	ticket   *Ticket
	start    time.Time
	arrival  uint64
	n        int // number of players
	backfill bool
	values   [][]ruleset.Value
	numbers  [][3]float64 // by attribute: average, minimum and maximum over the players
	teams    []int        // in a backfill ticket: index of the team, by player
	reports  []report     // latencies to the locations that all players report, sorted by location ID
	places   []*location  // the same locations
	who      []*player    // by index of the player in the ticket
	keys     []float64    // by range rule: value of the ticket
	never    string       // why the ticket can never be matched; "" if it can

	inPass
}

// inPass contains the values that a pass computes for an entry.
type inPass struct {
	stage int
	mask  uint64 // bits of the usable locations (Pass.usable)
	pos   int    // position in the batch, in the order of candidates
	gone  bool   // the ticket was matched or removed
	tried bool   // the ticket was an anchor
	cut   bool   // the last search of the ticket spent its budget, so there may be a match
	spent bool   // a complete search for the ticket found nothing, so no match of this pass can contain it
}

// maxLocations is the maximum number of locations used per ticket. Those with the lowest latencies are used.
const maxLocations = 64

// room returns the maximum number of players of a match that contains the ticket.
func (e *entry) room() int {
	if e.backfill && e.ticket.Room > 0 {
		return e.n + e.ticket.Room
	}
	return math.MaxInt
}

// report contains the latencies of a ticket to a location: average, minimum and maximum over its players.
type report struct {
	id int
	ms [3]float64
}

// New returns an empty pool.
func New(set *ruleset.RuleSet, o Options) *Pool {
	p := &Pool{set: set, options: o, byID: map[string]*entry{}, players: map[string]*player{}, locations: map[string]*location{}}
	for _, s := range set.Stages {
		for _, t := range s.Teams {
			p.largest = max(p.largest, t.Max)
		}
	}
	p.makePlans()
	return p
}

// Len returns the number of tickets in the pool.
func (p *Pool) Len() int { return len(p.byID) }

// Tickets returns the tickets in the pool in the order of arrival.
func (p *Pool) Tickets() []*Ticket {
	all := make([]*Ticket, 0, len(p.byID))
	for _, e := range p.entries {
		if !e.gone {
			all = append(all, e.ticket)
		}
	}
	return all
}

// Add adds a ticket. It accepts a ticket that can never be matched; Explain tells why. Add returns an error
// if the ticket has no players, if the type of an attribute differs from that in the rule set, or if the pool
// already has a ticket with this ID.
func (p *Pool) Add(t Ticket) error {
	if p.byID[t.ID] != nil {
		return errors.New("the pool has a ticket with this id")
	}
	if len(t.Players) == 0 {
		return errors.New("a ticket needs a player")
	}
	e := &entry{ticket: &t, start: t.Start, backfill: t.Backfill != "", arrival: p.arrivals, n: len(t.Players)}
	if err := p.readAttributes(e); err != nil {
		return err
	}
	p.arrivals++
	p.readLatencies(e)
	p.readTeams(e)
	for _, r := range p.plans[0].ranges {
		e.keys = append(e.keys, pick(e.numbers[r.attribute], r.party))
	}
	p.checkNever(e)
	e.who = make([]*player, e.n)
	for i := range t.Players {
		id := t.Players[i].ID
		if p.players[id] == nil {
			p.players[id] = &player{}
		}
		e.who[i] = p.players[id]
		e.who[i].tickets++
	}
	p.byID[t.ID] = e
	p.entries = append(p.entries, e)
	return nil
}

// Remove removes a ticket. It may be called between the steps of a pass. It reports whether the ticket was in
// the pool.
func (p *Pool) Remove(id string) bool {
	e := p.byID[id]
	if e == nil {
		return false
	}
	p.remove(e)
	return true
}

func (p *Pool) remove(e *entry) {
	e.gone = true
	delete(p.byID, e.ticket.ID)
	p.removals++
	for i, who := range e.who {
		if who.tickets--; who.tickets == 0 {
			delete(p.players, e.ticket.Players[i].ID)
		}
	}
	for _, l := range e.places {
		if l.tickets--; l.tickets == 0 {
			p.freeIDs = append(p.freeIDs, l.id)
			delete(p.locations, l.name)
		}
	}
	if p.gone++; p.gone > len(p.entries)/2 {
		p.entries = slices.DeleteFunc(p.entries, func(e *entry) bool { return e.gone })
		p.gone = 0
	}
}

// common returns the names of the locations that all players report.
func common(players []Player) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(players[0].Latencies)), func(name string) bool {
		return slices.ContainsFunc(players[1:], func(p Player) bool {
			_, reports := p.Latencies[name]
			return !reports
		})
	})
}

func (p *Pool) readAttributes(e *entry) error {
	e.values = make([][]ruleset.Value, e.n)
	e.numbers = make([][3]float64, len(p.set.Attributes))
	for i, player := range e.ticket.Players {
		e.values[i] = make([]ruleset.Value, len(p.set.Attributes))
		for j, a := range p.set.Attributes {
			v, ok := player.Attributes[a.Name]
			switch {
			case ok && v.Type != a.Type:
				return fmt.Errorf("the attribute %q of the player %q must be a %s; it is a %s", a.Name, player.ID, a.Type, v.Type)
			case !ok && a.Default != nil:
				v = *a.Default
			case !ok && e.never == "":
				e.never = fmt.Sprintf("the player %q has no attribute %q, which has no default", player.ID, a.Name)
			}
			e.values[i][j] = v
		}
	}
	for j := range p.set.Attributes {
		e.numbers[j] = aggregate(e.n, func(i int) float64 { return e.values[i][j].N })
	}
	return nil
}

// aggregate returns the average, minimum and maximum of n values.
func aggregate(n int, at func(int) float64) [3]float64 {
	sum, low, high := 0.0, math.Inf(1), math.Inf(-1)
	for i := range n {
		v := at(i)
		sum, low, high = sum+v, min(low, v), max(high, v)
	}
	return [3]float64{sum / float64(n), low, high}
}

// pick returns the value that a party aggregation selects.
func pick(of [3]float64, a ruleset.Aggregation) float64 {
	switch a {
	case ruleset.Minimum:
		return of[1]
	case ruleset.Maximum:
		return of[2]
	}
	return of[0]
}

func (p *Pool) readLatencies(e *entry) {
	players := e.ticket.Players
	of := func(name string) [3]float64 {
		return aggregate(len(players), func(i int) float64 { return float64(players[i].Latencies[name]) })
	}
	names := common(players)
	if len(names) > maxLocations {
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(of(a)[0], of(b)[0]) })
		names = names[:maxLocations]
	}
	for _, name := range names {
		l := p.locations[name]
		if l == nil {
			l = &location{name: name, id: len(p.locations) + len(p.freeIDs)}
			if n := len(p.freeIDs); n > 0 {
				l.id, p.freeIDs = p.freeIDs[n-1], p.freeIDs[:n-1]
			}
			p.locations[name] = l
		}
		l.tickets++
		e.places = append(e.places, l)
		e.reports = append(e.reports, report{l.id, of(name)})
	}
	slices.SortFunc(e.reports, func(a, b report) int { return cmp.Compare(a.id, b.id) })
}

func (p *Pool) readTeams(e *entry) {
	if !e.backfill {
		return
	}
	for _, player := range e.ticket.Players {
		i := p.set.Team(player.Team)
		if i < 0 && e.never == "" {
			e.never = fmt.Sprintf("the player %q is in the team %q, which the rule set does not have", player.ID, player.Team)
		}
		e.teams = append(e.teams, i)
	}
}

// checkNever determines whether a ticket cannot be in any match, whatever the other tickets are (flexmatch.md
// 11.1).
func (p *Pool) checkNever(e *entry) {
	if e.never != "" {
		return
	}
	if e.teams == nil && e.n > p.largest {
		e.never = fmt.Sprintf("the ticket has %d players; the largest team takes %d", e.n, p.largest)
		return
	}
	for _, r := range p.set.Rules {
		switch {
		case r.Type == ruleset.Latency && r.Enforced() && len(e.reports) == 0:
			e.never = fmt.Sprintf("the rule %q needs latencies, and there is no location that all players of the ticket report", r.Name)
		case r.Type == ruleset.BatchDistance && p.set.Attributes[r.Attribute].Type == ruleset.String:
			for i := range e.values {
				if e.values[i][r.Attribute].S != e.values[0][r.Attribute].S {
					e.never = fmt.Sprintf("the rule %q needs one value, and the players of the ticket have several", r.Name)
				}
			}
		}
	}
}

// group returns the key of the part of the pool to which a ticket belongs: its values for string
// batchDistance rules. A match only contains tickets of one part.
func (p *Pool) group(e *entry) string {
	var b strings.Builder
	for _, r := range p.set.Rules {
		if r.Type == ruleset.BatchDistance && p.set.Attributes[r.Attribute].Type == ruleset.String {
			b.WriteString(e.values[0][r.Attribute].S)
			b.WriteByte(0)
		}
	}
	return b.String()
}

// sharesPlayer reports whether two tickets name the same player.
func sharesPlayer(a, b *entry) bool {
	for _, who := range a.who {
		if who.tickets > 1 && slices.Contains(b.who, who) {
			return true
		}
	}
	return false
}
