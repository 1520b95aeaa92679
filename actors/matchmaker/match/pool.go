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
	Latencies  map[string]int // milliseconds by location
	Team       string         // the player's team, in a backfill ticket
}

// Ticket is a request for a match, or for more players of a running game session. It must not be changed while it is in a pool.
type Ticket struct {
	ID       string
	Start    time.Time
	Players  []Player
	Backfill string // the game session of a backfill ticket; empty for others
	Room     int    // of a backfill ticket: maximum of players that a match adds; 0: as many as the teams take
}

// Match is a match that a pass formed. Its tickets have left the pool.
type Match struct {
	Tickets []*Ticket // the anchor first
	Teams   []Team    // all teams, including empty ones, in the order of declaration
	Age     time.Duration
	Rules   []RuleCount
	MaxSize int // maximum of players of all teams, by the expansions in force
}

// Team is one team of a match.
type Team struct {
	Name    string
	Players []Player
}

// RuleCount counts the evaluations of a rule in the search for a match.
type RuleCount struct {
	Name           string
	Passed, Failed int
}

// Options of a pool.
type Options struct {
	AdditionalPlayers int // seats that matches leave free
	Budget            int // evaluations of a pass, at least 1,000; 0: PassBudget
	// Pause, if set, is called by Begin and Step after about each 20 µs of work. It may sleep, and must not use the pool.
	Pause func()

	noRepair bool // for tests
}

// Pool has the tickets that wait for matches of one rule set.
type Pool struct {
	set       *ruleset.RuleSet
	options   Options
	plans     []plan // by stage
	ranges    int    // number of keys of an entry
	latency   int    // index of the latency rule that restricts locations, or -1
	largest   int    // maximum of players of a team at any stage
	weights   []int  // cost of an evaluation, by rule
	dependent []bool // by rule: whether its result depends on the assignment to teams
	entries   []*entry
	gone      int // number of entries that have left
	byID      map[string]*entry
	players   map[string]*player
	locations map[string]*location
	freeIDs   []int
	arrivals  uint64
	removals  uint64
	cut       *Pass // the last pass, if its budget was spent before it was complete
}

// location is a location that a ticket reports. When no ticket reports it any more, its id is reused.
type location struct {
	name        string
	id, tickets int
}

// player is a player that tickets name. A match has at most one ticket of a player.
type player struct{ tickets int }

// entry is a ticket in the pool with its precomputed values.
type entry struct {
	ticket   *Ticket
	start    time.Time
	arrival  uint64
	n        int // players
	backfill bool
	values   [][]ruleset.Value
	numbers  [][3]float64 // by attribute: avg, min, max over the players
	teams    []int        // of a backfill ticket: team index by player
	reports  []report     // locations that all players report, by id
	places   []*location  // the same locations
	who      []*player    // by player of the ticket
	keys     []float64    // by range rule: the ticket's value
	never    string       // why it can never be matched; empty: it can

	inPass
}

// inPass is what a pass computes for an entry.
type inPass struct {
	stage int
	mask  uint64 // usable locations, by id modulo 64
	pos   int    // in its batch, in the order of the anchor's candidates
	gone  bool   // matched or removed
	tried bool   // it was an anchor
	cut   bool   // its last search spent its budget: there may be a match
	spent bool   // its own search was complete and found nothing: no match of this pass can contain it
}

// maxLocations bounds the locations of a ticket. Those with the lowest latencies are used.
const maxLocations = 64

// room returns the maximum of players of a match with the ticket.
func (e *entry) room() int {
	if e.backfill && e.ticket.Room > 0 {
		return e.n + e.ticket.Room
	}
	return math.MaxInt
}

// report is the latency of a ticket to a location: avg, min, max over its players.
type report struct {
	id int
	ms [3]float64
}

// New makes an empty pool.
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

// Len returns the number of waiting tickets.
func (p *Pool) Len() int { return len(p.byID) }

// Tickets returns the waiting tickets in the order of arrival.
func (p *Pool) Tickets() []*Ticket {
	all := make([]*Ticket, 0, len(p.byID))
	for _, e := range p.entries {
		if !e.gone {
			all = append(all, e.ticket)
		}
	}
	return all
}

// Add adds a ticket. A ticket that can never be matched is accepted; Explain says why it waits. The error says that the ticket has no
// player, an attribute of another type than the rule set's, or the id of another ticket.
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

// Remove removes a ticket, also between the steps of a pass. It reports whether the ticket was in the pool.
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

// common returns the locations that all players report, by name.
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

// aggregate computes avg, min and max of n values.
func aggregate(n int, at func(int) float64) [3]float64 {
	sum, low, high := 0.0, math.Inf(1), math.Inf(-1)
	for i := range n {
		v := at(i)
		sum, low, high = sum+v, min(low, v), max(high, v)
	}
	return [3]float64{sum / float64(n), low, high}
}

// pick returns the number that a party aggregation selects.
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

// checkNever finds why a ticket cannot be in any match, whatever the other tickets are (flexmatch.md 11.1).
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

// group returns the key of a ticket's part of the pool: its values for string batchDistance rules. Matches have tickets of one part.
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
