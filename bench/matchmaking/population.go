package matchmaking

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"troupe/actors/matchmaker/match"
	"troupe/actors/matchmaker/ruleset"
)

// epoch is the virtual time at which simulations start.
var epoch = time.Unix(0, 0).UTC()

// Population describes generated players.
type Population struct {
	Tickets   int
	PerSecond float64 // average arrival rate of tickets
	Parties   float64 // share of tickets with two or three players, 0 to 1
	Locations int     // number of locations; each player is close to one of them
	// values by attribute: "1500,300" is a mean and a standard deviation, "a|b|c" are equally frequent values
	Attributes map[string]string
	Seed       uint64
}

// Values of attributes that are not in Population.Attributes and have no default.
const (
	madeUpNumber = "100,25"
	madeUpWords  = "a|b|c"
)

// MadeUp returns the attributes of a rule set that are neither named nor have a default, together with the generated
// values, such as "mode=a|b|c". A rule that compares such an attribute with a literal of the game cannot hold.
func (p Population) MadeUp(set *ruleset.RuleSet) (all []string) {
	for _, a := range set.Attributes {
		if _, named := p.Attributes[a.Name]; !named && a.Default == nil {
			values := madeUpWords
			if a.Type == ruleset.Number {
				values = madeUpNumber
			}
			all = append(all, a.Name+"="+values)
		}
	}
	return all
}

// Generate makes tickets for a rule set. Attributes that Population does not name get their default or, without a
// default, the values that MadeUp lists.
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
		deviation := 25.0
		a, b, _ := strings.Cut(cmp.Or(text, madeUpNumber), ",")
		mean, err := strconv.ParseFloat(a, 64)
		if err == nil && b != "" {
			deviation, err = strconv.ParseFloat(b, 64)
		}
		if err != nil {
			return v, fmt.Errorf("%q is not a mean and a standard deviation, such as 1500,300", text)
		}
		v.N = mean + deviation*rng.NormFloat64()
		return v, nil
	}
	words := strings.Split(cmp.Or(text, madeUpWords), "|")
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

// Read parses recorded tickets: a JSON array of {"id", "start" in seconds, "players": [{"id", "attributes",
// "latencies"}]}. Unknown keys are errors, because a misspelled key would silently drop its values.
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
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(&recorded)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field == "":
		return nil, fmt.Errorf("the file must be a JSON array of tickets; it is a JSON %s", wrong.Value)
	case errors.As(err, &wrong):
		return nil, fmt.Errorf("%s is a %s, at byte %d", wrong.Field, wrong.Value, wrong.Offset)
	case err != nil:
		return nil, fmt.Errorf("at byte %d: %w", d.InputOffset(), err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("something follows the JSON array, at byte %d", d.InputOffset())
	}
	var tickets []match.Ticket
	for i, r := range recorded {
		if r.ID == "" || len(r.Players) == 0 {
			return nil, fmt.Errorf("ticket %d needs an id and players", i+1)
		}
		t := match.Ticket{ID: r.ID, Start: epoch.Add(time.Duration(r.Start * float64(time.Second)))}
		for _, p := range r.Players {
			if p.ID == "" {
				return nil, fmt.Errorf("ticket %s has a player without an id", r.ID)
			}
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
