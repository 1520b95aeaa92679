package search

import "troupe/messages"

// kind is the type of an operand and of a value.
type kind string

const (
	text    kind = "a string in quotes"
	number  kind = "a number"
	boolean kind = "true or false"
)

// operand is a member of a game session, or a game property.
type operand struct {
	name string // in expressions
	kind kind
	text func(g *messages.GameSession) (value string, there bool) // of a text
	// number is the value of a number, or of a boolean as 0 or 1.
	number func(g *messages.GameSession, players int) int64
}

// fields are the operands that are no game properties.
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

// created is the creation time in us, the order of lists without a sort expression. Expressions cannot name it.
var created = operand{kind: number, number: func(g *messages.GameSession, _ int) int64 { return g.Created.UnixMicro() }}

// properties is the prefix of the key of a game property.
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
