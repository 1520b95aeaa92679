package search

import (
	"troupe/messages"
)

// kind is the type of an operand and of a value.
type kind uint8

const (
	text kind = iota + 1
	number
	boolean
)

func (k kind) String() string {
	return [...]string{"", "a string in quotes", "a number", "true or false"}[k]
}

// field is the member of a game session that an operand reads.
type field uint8

const (
	fieldID field = iota + 1
	fieldName
	fieldProperty
	fieldMax
	fieldCreated
	fieldPlayers
	fieldAvailable
	// fieldExact is the creation time in us, the order of lists without a sort expression.
	// Expressions cannot name it.
	fieldExact
)

// properties is the prefix of the key of a game property.
const properties = "gameSessionProperties"

var fields = map[string]field{
	"gameSessionId":              fieldID,
	"gameSessionName":            fieldName,
	"maximumSessions":            fieldMax,
	"creationTimeMillis":         fieldCreated,
	"playerSessionCount":         fieldPlayers,
	"hasAvailablePlayerSessions": fieldAvailable,
}

// operand is a field, with a key if the field is a game property.
type operand struct {
	field field
	key   string
}

func (o operand) kind() kind {
	switch o.field {
	case fieldID, fieldName, fieldProperty:
		return text
	case fieldAvailable:
		return boolean
	}
	return number
}

// String returns the operand in the syntax of expressions.
func (o operand) String() string {
	if o.field == fieldProperty {
		return properties + "." + o.key
	}
	for name, f := range fields {
		if f == o.field {
			return name
		}
	}
	return ""
}

// text returns the value of a text operand; false if it is absent.
func (o operand) text(g *messages.GameSession) (string, bool) {
	switch o.field {
	case fieldID:
		return string(g.ID), true
	case fieldName:
		return g.Name, g.Name != ""
	}
	for i := range g.Properties {
		if p := &g.Properties[i]; p.Key == o.key {
			return p.Value, true
		}
	}
	return "", false
}

// number returns the value of a numeric operand, or of a boolean one as 0 or 1.
func (o operand) number(g *messages.GameSession, players int) int64 {
	switch o.field {
	case fieldMax:
		return int64(g.MaxPlayers)
	case fieldCreated:
		return messages.Shown(g.Created).UnixMilli()
	case fieldExact:
		return g.Created.UnixMicro()
	case fieldPlayers:
		return int64(players)
	}
	if players < g.MaxPlayers {
		return 1
	}
	return 0
}
