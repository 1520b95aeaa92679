package matchmaking

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"troupe/actors/matchmaker/match"
	"troupe/actors/matchmaker/ruleset"
)

// epoch is the moment at which simulations begin.
var epoch = time.Unix(0, 0).UTC()

// Population says how players are made up.
type Population struct {
	Tickets    int
	PerSecond  float64           // tickets that arrive, on average
	Parties    float64           // share of the tickets that have two or three players, 0 to 1
	Locations  int               // each player is close to one of them
	Attributes map[string]string // by attribute: "1500,300" is mean and standard deviation, "a|b|c" are values that are equally frequent
	Seed       uint64
}

// Generate makes tickets for a rule set. Attributes that Population does not name have their default, or 100,25 for numbers and a|b|c.
func (p Population) Generate(set *ruleset.RuleSet) ([]match.Ticket, error) {
	for name := range p.Attributes {
		if set.Attribute(name) < 0 {
			return nil, fmt.Errorf("the rule set declares no player attribute %q", name)
		}
	}
	rng := rand.New(rand.NewPCG(p.Seed, 1))
	tickets := make([]match.Ticket, p.Tickets)
	seconds := 0.0
	for i := range tickets {
		seconds += rng.ExpFloat64() / p.PerSecond
		n := 1
		if rng.Float64() < p.Parties {
			n = 2 + rng.IntN(2)
		}
		t := match.Ticket{ID: fmt.Sprint("ticket-", i+1), Start: epoch.Add(time.Duration(seconds * float64(time.Second)))}
		home := rng.IntN(max(p.Locations, 1))
		for j := range n {
			player := match.Player{ID: fmt.Sprintf("player-%d-%d", i+1, j+1), Attributes: map[string]ruleset.Value{}, Latencies: map[string]int{}}
			for l := range p.Locations {
				player.Latencies[fmt.Sprint("location-", l+1)] = 20 + rng.IntN(30) + 60*max(home-l, l-home)
			}
			for _, a := range set.Attributes {
				text, named := p.Attributes[a.Name]
				if !named && a.Default != nil {
					continue
				}
				v, err := draw(rng, a.Type, text)
				if err != nil {
					return nil, fmt.Errorf("the attribute %s: %w", a.Name, err)
				}
				player.Attributes[a.Name] = v
			}
			t.Players = append(t.Players, player)
		}
		tickets[i] = t
	}
	return tickets, nil
}

func draw(rng *rand.Rand, t ruleset.AttributeType, text string) (v ruleset.Value, err error) {
	v.Type = t
	if t == ruleset.Number {
		mean, deviation := 100.0, 25.0
		if text != "" {
			a, b, _ := strings.Cut(text, ",")
			if mean, err = strconv.ParseFloat(a, 64); err == nil && b != "" {
				deviation, err = strconv.ParseFloat(b, 64)
			}
			if err != nil {
				return v, fmt.Errorf("%q is not a mean and a standard deviation, such as 1500,300", text)
			}
		}
		v.N = mean + deviation*rng.NormFloat64()
		return v, nil
	}
	words := strings.Split(text, "|")
	if text == "" {
		words = []string{"a", "b", "c"}
	}
	word := words[rng.IntN(len(words))]
	switch t {
	case ruleset.String:
		v.S = word
	case ruleset.StringList:
		v.SL = []string{word}
	default:
		v.SDM = map[string]float64{word: 100 + 25*rng.NormFloat64()}
	}
	return v, nil
}

// Read reads recorded tickets: a JSON array of {"id", "start" in seconds, "players": [{"id", "attributes", "latencies"}]}.
func Read(data []byte, set *ruleset.RuleSet) ([]match.Ticket, error) {
	var recorded []struct {
		ID      string
		Start   float64
		Players []struct {
			ID         string
			Attributes map[string]json.RawMessage
			Latencies  map[string]int
		}
	}
	if err := json.Unmarshal(data, &recorded); err != nil {
		return nil, err
	}
	var tickets []match.Ticket
	for _, r := range recorded {
		t := match.Ticket{ID: r.ID, Start: epoch.Add(time.Duration(r.Start * float64(time.Second)))}
		for _, p := range r.Players {
			player := match.Player{ID: p.ID, Latencies: p.Latencies, Attributes: map[string]ruleset.Value{}}
			for name, raw := range p.Attributes {
				i := set.Attribute(name)
				if i < 0 {
					continue
				}
				v := ruleset.Value{Type: set.Attributes[i].Type}
				into := map[ruleset.AttributeType]any{ruleset.String: &v.S, ruleset.Number: &v.N, ruleset.StringList: &v.SL, ruleset.StringNumberMap: &v.SDM}[v.Type]
				if err := json.Unmarshal(raw, into); err != nil {
					return nil, fmt.Errorf("ticket %s, player %s: the attribute %s must be a %s", r.ID, p.ID, name, v.Type)
				}
				player.Attributes[name] = v
			}
			t.Players = append(t.Players, player)
		}
		tickets = append(tickets, t)
	}
	slices.SortStableFunc(tickets, func(a, b match.Ticket) int { return a.Start.Compare(b.Start) })
	return tickets, nil
}
