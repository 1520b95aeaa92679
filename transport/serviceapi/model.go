package serviceapi

import (
	_ "embed"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"troupe/transport/awswire"
)

//go:embed model.txt
var modelText string

// model is the parsed model.txt: what each operation declares, and the limits of the members of its input.
type model struct {
	names      []string // names of the operations
	operations map[string]declared
	structures map[string][]member
	types      map[string]awswire.Check
}

// declared is an operation with the abbreviations of its errors.
type declared struct {
	errors  string
	members []member // members of the input; empty for an operation that the host does not offer
}

// member is a parsed Name:Type. A type is a name, [T]{least..most}, or map(K→V).
type member struct {
	name, kind string
	required   bool
}

// theModel is read once: many hosts may run in a test.
var theModel = sync.OnceValue(func() *model { return modelOf(modelText) })

func modelOf(text string) *model {
	m := &model{
		operations: make(map[string]declared), structures: make(map[string][]member),
		types: map[string]awswire.Check{"bool": awswire.Either, "ts": awswire.Either},
	}
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		name, rest, _ := strings.Cut(rest, " ")
		switch word {
		case "operation":
			letters, input, _ := strings.Cut(strings.TrimPrefix(rest, "| "), " | ")
			m.names = append(m.names, name)
			m.operations[name] = declared{letters, membersOf(input)}
		case "structure":
			m.structures[name] = membersOf(rest)
		case "enum":
			m.types[name] = awswire.OneOf(strings.Fields(rest)...)
		case "type":
			m.types[name] = checkOf(rest)
		}
	}
	return m
}

func membersOf(text string) (all []member) {
	for field := range strings.FieldsSeq(text) {
		name, kind, _ := strings.Cut(field, ":")
		name, required := strings.CutPrefix(name, "!")
		all = append(all, member{name, kind, required})
	}
	return all
}

// checkOf parses a scalar type: its base type, the limits of its length or value, and a pattern.
func checkOf(text string) awswire.Check {
	base, rest, _ := strings.Cut(text, " ")
	limits, pattern, _ := strings.Cut(rest, " ")
	least, most := limitsOf(limits)
	switch base {
	case "string":
		return awswire.Text(least, most, pattern)
	case "blob":
		return awswire.Blob(least, most)
	case "integer":
		return awswire.Number(least, most)
	}
	return awswire.Either
}

// limitsOf parses least..most. A missing number means no limit.
func limitsOf(text string) (least, most int64) {
	if text == "" {
		return 0, awswire.Unbounded
	}
	low, high, ok := strings.Cut(text, "..")
	if !ok {
		panic("serviceapi: the model has limits " + strconv.Quote(text))
	}
	return limitOf(low, 0), limitOf(high, awswire.Unbounded)
}

func limitOf(text string, absent int64) int64 {
	if text == "" {
		return absent
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic("serviceapi: the model has limit " + strconv.Quote(text))
	}
	return n
}

// rules returns the rules for the members of an SDK struct. It panics if the struct lacks a member, which is
// a mistake in model.txt.
func (m *model) rules(members []member, of reflect.Type) []awswire.Rule {
	rules := make([]awswire.Rule, len(members))
	for i, one := range members {
		f, ok := of.FieldByName(one.name)
		if !ok {
			panic("serviceapi: " + of.String() + " has no member " + one.name)
		}
		rules[i] = awswire.Rule{Member: one.name, Required: one.required, Check: m.check(one.kind, f.Type)}
	}
	return rules
}

// check returns the Check for a type of the model. of is the corresponding type of the SDK.
func (m *model) check(kind string, of reflect.Type) awswire.Check {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if list, ok := strings.CutPrefix(kind, "["); ok {
		item, limits, _ := strings.Cut(list, "]")
		least, most := limitsOf(strings.Trim(limits, "{}"))
		return awswire.ListOf(least, most, m.check(item, of.Elem()))
	}
	if entry, ok := strings.CutPrefix(kind, "map("); ok {
		key, value, _ := strings.Cut(strings.TrimSuffix(entry, ")"), "→")
		return awswire.MapOf(m.check(key, of.Key()), m.check(value, of.Elem()))
	}
	if members, ok := m.structures[kind]; ok {
		return awswire.Structure(of, m.rules(members, of)...)
	}
	check, ok := m.types[kind]
	if !ok {
		panic("serviceapi: the model has no type " + kind)
	}
	return check
}
