package search

import "troupe/messages"

// kind is the type of an operand and of a value.
type kind string

const (
	text    kind = "a string in quotes"
	number  kind = "a number"
	boolean kind = "true or false"
)

// operand is a field of a game session or a game property.
type operand struct {
	name string // name used in expressions
	kind kind
	text func(g *messages.GameSession) (value string, there bool) // value of a text operand
	// number is the value of a numeric operand. For a boolean operand it is 0 or 1.
	number func(g *messages.GameSession, players int) int64
}

// fields are the operands that are not game properties.
var fields = map[string]operand{}

func init() {
	for _, o := range []operand{
		{"gameSessionId", text, func(g *messages.GameSession) (string, bool) { return string(g.ID), true }, nil},
		{"gameSessionName", text, func(g *messages.GameSession) (string, bool) { return g.Name, g.Name != "" }, nil},
		{"maximumSessions", number, nil, func(g *messages.GameSession, _ int) int64 { return int64(g.MaxPlayers) }},
		{"creationTimeMillis", number, nil, func(g *messages.GameSession, _ int) int64 { return messages.Shown(g.Created).UnixMilli() }},
		{"playerSessionCount", number, nil, func(_ *messages.GameSession, players int) int64 { return int64(players) }},
		{"hasAvailablePlayerSessions", boolean, nil, func(g *messages.GameSession, players int) int64 {
			if players < g.MaxPlayers {
				return 1
			}
			return 0
		}},
	} {
		fields[o.name] = o
	}
}

// created is the creation time in us. Lists without a sort expression are sorted by it. Expressions cannot refer to it.
var created = operand{kind: number, number: func(g *messages.GameSession, _ int) int64 { return g.Created.UnixMicro() }}

// properties is the prefix of the name of a game property in an expression.
const properties = "gameSessionProperties"

func property(key string) operand {
	return operand{name: properties + "." + key, kind: text, text: func(g *messages.GameSession) (string, bool) {
		for i := range g.Properties {
			if p := &g.Properties[i]; p.Key == key {
				return p.Value, true
			}
		}
		return "", false
	}}
}
