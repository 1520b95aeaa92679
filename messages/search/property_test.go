package search

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"troupe/messages"
)

// naive is an expression together with its meaning. Both are generated at the same time, without using the parser.
type naive struct {
	text  string
	holds func(g *messages.GameSession) bool
}

var (
	keys   = rapid.SampledFrom([]string{"a", "b", "ü-1"})
	texts  = rapid.SampledFrom([]string{"", "x", "it's", `back\slash`, `"q"`, "AND"})
	spaces = rapid.SampledFrom([]string{"", " ", "\t "})
)

func write(rt *rapid.T, s string) string {
	quote := rapid.SampledFrom([]string{"'", `"`}).Draw(rt, "quote")
	s = strings.ReplaceAll(s, `\`, `\\`)
	return quote + strings.ReplaceAll(s, quote, `\`+quote) + quote
}

func letters(rt *rapid.T, keyword string) string {
	if rapid.Bool().Draw(rt, "lower") {
		return strings.ToLower(keyword)
	}
	return keyword
}

func drawComparison(rt *rapid.T) naive {
	space := func() string { return spaces.Draw(rt, "space") }
	build := func(field, comparator, value string) string {
		return space() + field + space() + comparator + space() + value + space()
	}
	numeric := func(field string, of func(g *messages.GameSession) int64) naive {
		n := rapid.Int64Range(-1, 6).Draw(rt, "n")
		half := rapid.Bool().Draw(rt, "half") && n >= 0
		v, written := float64(n), strconv.FormatInt(n, 10)
		if half {
			v, written = v+0.5, written+".5"
		}
		c := rapid.SampledFrom([]string{"=", "<>", "<", "<=", ">", ">="}).Draw(rt, "comparator")
		return naive{build(field, c, written), func(g *messages.GameSession) bool {
			order := cmp.Compare(float64(of(g)), v)
			return map[string]bool{"=": order == 0, "<>": order != 0, "<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[c]
		}}
	}
	textual := func(field string, of func(g *messages.GameSession) (string, bool)) naive {
		want := texts.Draw(rt, "text")
		same := rapid.Bool().Draw(rt, "same")
		c := "<>"
		if same {
			c = "="
		}
		return naive{build(field, c, write(rt, want)), func(g *messages.GameSession) bool {
			have, there := of(g)
			if same {
				return there && have == want
			}
			return !there || have != want
		}}
	}
	switch rapid.IntRange(0, 6).Draw(rt, "field") {
	case 0:
		return numeric("maximumSessions", func(g *messages.GameSession) int64 { return int64(g.MaxPlayers) })
	case 1:
		return numeric("playerSessionCount", func(g *messages.GameSession) int64 { return int64(g.CurrentPlayers) })
	case 2:
		return numeric("creationTimeMillis", func(g *messages.GameSession) int64 { return messages.Shown(g.Created).UnixMilli() })
	case 3:
		return textual("gameSessionName", func(g *messages.GameSession) (string, bool) { return g.Name, g.Name != "" })
	case 4:
		return textual("gameSessionId", func(g *messages.GameSession) (string, bool) { return string(g.ID), true })
	case 5:
		want := rapid.Bool().Draw(rt, "available")
		return naive{build("hasAvailablePlayerSessions", "=", strconv.FormatBool(want)), func(g *messages.GameSession) bool {
			return (g.CurrentPlayers < g.MaxPlayers) == want
		}}
	default:
		key := keys.Draw(rt, "key")
		return textual("gameSessionProperties."+key, func(g *messages.GameSession) (string, bool) {
			i := slices.IndexFunc(g.Properties, func(p messages.Property) bool { return p.Key == key })
			if i < 0 {
				return "", false
			}
			return g.Properties[i].Value, true
		})
	}
}

// drawFilter puts parentheses around every operand, because precedence is covered by other tests.
func drawFilter(rt *rapid.T, depth int) naive {
	if depth == 0 || rapid.IntRange(0, 2).Draw(rt, "leaf") == 0 {
		return drawComparison(rt)
	}
	l := drawFilter(rt, depth-1)
	if rapid.IntRange(0, 3).Draw(rt, "not") == 0 {
		return naive{letters(rt, "NOT") + "(" + l.text + ")", func(g *messages.GameSession) bool { return !l.holds(g) }}
	}
	r := drawFilter(rt, depth-1)
	if rapid.Bool().Draw(rt, "and") {
		return naive{"(" + l.text + ")" + letters(rt, "AND") + "(" + r.text + ")", func(g *messages.GameSession) bool { return l.holds(g) && r.holds(g) }}
	}
	return naive{"(" + l.text + ")" + letters(rt, "OR") + "(" + r.text + ")", func(g *messages.GameSession) bool { return l.holds(g) || r.holds(g) }}
}

var gameSessions = rapid.Custom(func(rt *rapid.T) *messages.GameSession {
	g := &messages.GameSession{
		ID: messages.GameSessionID(texts.Draw(rt, "id")), Name: texts.Draw(rt, "name"), MaxPlayers: rapid.IntRange(0, 5).Draw(rt, "max"),
		CurrentPlayers: rapid.IntRange(0, 5).Draw(rt, "current"), Created: time.UnixMicro(rapid.Int64Range(0, 5500).Draw(rt, "created")),
	}
	for _, key := range rapid.SliceOfDistinct(keys, rapid.ID).Draw(rt, "keys") {
		g.Properties = append(g.Properties, messages.Property{Key: key, Value: texts.Draw(rt, "value")})
	}
	return g
})

func TestFiltersMeanWhatANaiveReadingSays(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := drawFilter(rt, 3)
		f, err := ParseFilter(want.text)
		if len(want.text) > LengthMax {
			return
		}
		if err != nil {
			rt.Fatalf("%s: %v", want.text, err)
		}
		for _, g := range rapid.SliceOfN(gameSessions, 1, 10).Draw(rt, "games") {
			if got := f.Matches(g, g.CurrentPlayers); got != want.holds(g) {
				rt.Fatalf("%s\nof %+v: %v", want.text, g, got)
			}
		}
	})
}

// Pages of any size, concatenated, must equal the whole sorted list.
func TestPagesAreASortedListInPieces(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		all := rapid.SliceOfN(gameSessions, 0, 40).Draw(rt, "games")
		for i, g := range all {
			g.ID = messages.GameSessionID(strconv.Itoa(i))
		}
		sort := Oldest()
		if rapid.Bool().Draw(rt, "sorted") {
			fields := []string{"maximumSessions", "gameSessionName", "gameSessionProperties.a", "hasAvailablePlayerSessions", "gameSessionId", "creationTimeMillis"}
			var err error
			if sort, err = ParseSort(rapid.SampledFrom(fields).Draw(rt, "field") + rapid.SampledFrom([]string{"", " ASC", " DESC"}).Draw(rt, "direction")); err != nil {
				rt.Fatal(err)
			}
		}
		f, err := ParseFilter("maximumSessions>1")
		if err != nil {
			rt.Fatal(err)
		}
		want := slices.DeleteFunc(slices.Clone(all), func(g *messages.GameSession) bool { return g.MaxPlayers <= 1 })
		slices.SortFunc(want, func(a, b *messages.GameSession) int {
			return sort.Compare(sort.Position(a, a.CurrentPlayers), sort.Position(b, b.CurrentPlayers))
		})
		var got []*messages.GameSession
		var behind *Position
		for size := rapid.IntRange(1, 7).Draw(rt, "size"); ; {
			page := sort.First(size, each(all), f, behind)
			if len(page) == 0 {
				break
			}
			for _, found := range page {
				got = append(got, found.GameSession)
			}
			last := sort.Position(page[len(page)-1].GameSession, page[len(page)-1].Players)
			behind = &last
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("%+v: got %v, want %v", sort, got, want)
		}
	})
}
