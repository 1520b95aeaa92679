package serviceapi

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"troupe/transport/awswire"
)

// published is model.txt, parsed a second time by independent code. The tests use it to try each limit from
// outside.
type published struct {
	operations, structures map[string][]modelMember
	scalars                map[string]scalar
}

// modelMember is a parsed Name:Type. A type is a name, [T]{least..most}, or map(K→V).
type modelMember struct {
	name, kind string
	required   bool
}

type scalar struct {
	base        string // string, integer, long, double, float, blob
	least, most int64
	pattern     *regexp.Regexp
	values      []string // values of an enumeration
}

func readModel(t testing.TB) *published {
	t.Helper()
	m := &published{map[string][]modelMember{}, map[string][]modelMember{}, map[string]scalar{
		"bool": {base: "bool"}, "ts": {base: "ts"},
	}}
	for line := range strings.Lines(modelText) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, rest, _ := strings.Cut(rest, " ")
		switch word {
		case "operation":
			_, input, _ := strings.Cut(strings.TrimPrefix(rest, "| "), " | ")
			m.operations[name] = membersIn(input)
		case "structure":
			m.structures[name] = membersIn(rest)
		case "enum":
			m.scalars[name] = scalar{base: "string", most: awswire.Unbounded, values: strings.Fields(rest)}
		case "type":
			base, rest, _ := strings.Cut(rest, " ")
			limits, pattern, _ := strings.Cut(rest, " ")
			s := scalar{base: base}
			s.least, s.most = limitsIn(limits)
			if pattern != "" {
				s.pattern = regexp.MustCompile(`\A(?:` + pattern + `)\z`)
			}
			m.scalars[name] = s
		}
	}
	if len(m.operations) != 120 || len(m.structures) < 22 || len(m.scalars) < 70 {
		t.Fatalf("read %d operations, %d structures, %d types", len(m.operations), len(m.structures), len(m.scalars))
	}
	return m
}

// A checkout with CRLF line ends has the same model.
func TestModelWithCRLFLineEnds(t *testing.T) {
	crlf := modelOf(strings.ReplaceAll(modelText, "\n", "\r\n"))
	for name, want := range theModel().operations {
		if got := crlf.operations[name]; got.errors != want.errors || !slices.Equal(got.members, want.members) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	for _, c := range []struct {
		kind, value string
		valid       bool
	}{
		{"FleetId", "fleet-1", true}, {"FleetId", "1", false}, {"PlayerId", strings.Repeat("x", 1024), true}, {"PlayerId", strings.Repeat("x", 1025), false},
	} {
		if err := crlf.types[c.kind]("Member", reflect.ValueOf(c.value)); (err == nil) != c.valid {
			t.Errorf("%s of %d characters: %v", c.kind, len(c.value), err)
		}
	}
}

func TestLimitsOfTheModel(t *testing.T) {
	for text, want := range map[string][2]int64{
		"": {0, awswire.Unbounded}, "..": {0, awswire.Unbounded}, "1..": {1, awswire.Unbounded}, "..16": {0, 16}, "1..128": {1, 128},
	} {
		if least, most := limitsOf(text); least != want[0] || most != want[1] {
			t.Errorf("%q: %d to %d, want %d", text, least, most, want)
		}
	}
	for _, typo := range []string{"1..1O", "l..10", "1...10", "1-10", "10", "1..9223372036854775808", "1..10\r"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q is read as limits", typo)
				}
			}()
			limitsOf(typo)
		}()
	}
}

func membersIn(text string) (all []modelMember) {
	for field := range strings.FieldsSeq(text) {
		name, kind, _ := strings.Cut(field, ":")
		bare, required := strings.CutPrefix(name, "!")
		all = append(all, modelMember{bare, kind, required})
	}
	return all
}

func limitsIn(text string) (least, most int64) {
	low, high, _ := strings.Cut(text, "..")
	least, _ = strconv.ParseInt(low, 10, 64) // 0 if absent
	most, err := strconv.ParseInt(high, 10, 64)
	if err != nil {
		most = awswire.Unbounded
	}
	return least, most
}

// listIn parses [T]{a..b}.
func listIn(kind string) (item string, least, most int64, ok bool) {
	if !strings.HasPrefix(kind, "[") {
		return "", 0, 0, false
	}
	item, limits, _ := strings.Cut(kind[1:], "]")
	least, most = limitsIn(strings.Trim(limits, "{}"))
	return item, least, most, true
}

// mapIn parses map(K→V).
func mapIn(kind string) (key, value string, ok bool) {
	inner, ok := strings.CutPrefix(kind, "map(")
	key, value, _ = strings.Cut(strings.TrimSuffix(inner, ")"), "→")
	return key, value, ok
}

// samples has at least one matching text for each pattern of the model.
var samples = []string{"x", "a1", "fleet-1", "alias-1", "script-1", "build-1", "psess-1", "custom-1", "custom-12", "10.x", "1.0.0", "1", "127.0.0.1",
	"arn:aws:gamelift:us-east-1::gamesession/fleet-1/x", "arn:aws:gamelift:us-east-1::gamesessionqueue/x"}

// valid returns a valid value of a type, encoded for a protocol.
func (m *published) valid(t testing.TB, protocol, kind string) any {
	t.Helper()
	if item, least, _, ok := listIn(kind); ok {
		list := []any{}
		for range max(least, 1) {
			list = append(list, m.valid(t, protocol, item))
		}
		return list
	}
	if key, value, ok := mapIn(kind); ok {
		return members{m.valid(t, protocol, key).(string): m.valid(t, protocol, value)}
	}
	if parts, ok := m.structures[kind]; ok {
		return m.required(t, protocol, parts)
	}
	s, ok := m.scalars[kind]
	if !ok {
		t.Fatalf("the model has no type %q", kind)
	}
	switch s.base {
	case "bool":
		return true
	case "ts":
		return timeMember(protocol, 1700000000)
	case "blob":
		return zipMember(protocol, []byte("PK"))
	case "integer", "long":
		return int(max(s.least, 1))
	case "double", "float":
		return 1.5
	}
	if s.values != nil {
		return s.values[0]
	}
	for _, text := range samples {
		if n := int64(len(text)); n >= s.least && n <= s.most && (s.pattern == nil || s.pattern.MatchString(text)) {
			return text
		}
	}
	t.Fatalf("no sample of type %q", kind)
	return nil
}

// required returns the input for an operation or structure with only its required members.
func (m *published) required(t testing.TB, protocol string, parts []modelMember) members {
	t.Helper()
	in := members{}
	for _, p := range parts {
		if p.required {
			in[p.name] = m.valid(t, protocol, p.kind)
		}
	}
	return in
}

// bad is a value that must be refused.
type bad struct {
	what  string
	value any
	path  string // path of the invalid part, relative to the member
	code  string
}

func refusedValue(what string, value any, path string) bad {
	return bad{what, value, path, invalidRequest}
}

// wrong returns values of a type that are each invalid for one reason.
func (m *published) wrong(t testing.TB, protocol, kind string) (all []bad) {
	t.Helper()
	if item, least, most, ok := listIn(kind); ok {
		return m.wrongLists(t, protocol, item, least, most)
	}
	if key, value, ok := mapIn(kind); ok {
		for _, b := range m.wrong(t, protocol, key) {
			if text, isText := b.value.(string); isText && b.code == invalidRequest {
				all = append(all, refusedValue("key "+b.what, members{text: m.valid(t, protocol, value)}, ""))
			}
		}
		name := m.valid(t, protocol, key).(string)
		for _, b := range m.wrong(t, protocol, value) {
			all = append(all, bad{"value " + b.what, members{name: b.value}, "", b.code})
		}
		return append(all, bad{"wrong type", "text", "", serialization})
	}
	if parts, ok := m.structures[kind]; ok {
		for _, p := range parts {
			whole := m.required(t, protocol, parts)
			if p.required {
				less := maps.Clone(whole)
				delete(less, p.name)
				all = append(all, refusedValue("without "+p.name, less, "."+p.name))
			}
			for _, b := range m.wrong(t, protocol, p.kind) {
				all = append(all, bad{p.name + " " + b.what, with(whole, p.name, b.value), "." + p.name + b.path, b.code})
			}
		}
		return append(all, bad{"wrong type", "text", "", serialization}, bad{"list", []any{}, "", serialization})
	}
	return m.wrongScalars(t, protocol, kind)
}

func (m *published) wrongLists(t testing.TB, protocol, item string, least, most int64) (all []bad) {
	t.Helper()
	one := m.valid(t, protocol, item)
	if most < awswire.Unbounded {
		list := make([]any, most+1)
		for i := range list {
			list[i] = one
		}
		all = append(all, refusedValue("too many", list, ""))
	}
	if least > 0 {
		all = append(all, refusedValue("too few", []any{}, ""))
	}
	for _, b := range m.wrong(t, protocol, item) {
		all = append(all, bad{"item " + b.what, append(repeated(one, least-1), b.value), "[" + strconv.Itoa(int(max(least-1, 0))) + "]" + b.path, b.code})
	}
	return append(all, bad{"wrong type", "text", "", serialization}, bad{"map", members{"a": one}, "", serialization})
}

func repeated(v any, n int64) (list []any) {
	for range max(n, 0) {
		list = append(list, v)
	}
	return list
}

func (m *published) wrongScalars(t testing.TB, protocol, kind string) (all []bad) {
	t.Helper()
	s, ok := m.scalars[kind]
	if !ok {
		t.Fatalf("the model has no type %q", kind)
	}
	types := func(values ...any) (all []bad) {
		for _, v := range append(values, []any{}, members{}) {
			all = append(all, bad{"wrong type", v, "", serialization})
		}
		return all
	}
	switch s.base {
	case "bool":
		return types("true", 1)
	case "ts":
		return types("2026-01-01T00:00:00Z", true)
	case "double", "float":
		return types("1.5", true)
	case "blob":
		return append(types(7), refusedValue("too long", zipMember(protocol, make([]byte, s.most+1)), ""))
	case "integer", "long":
		if s.least > 0 || s.most < awswire.Unbounded || kind == "WholeNumber" {
			all = append(all, refusedValue("too small", int(s.least-1), ""))
		}
		if s.most < 1<<31-1 {
			all = append(all, refusedValue("too large", int(s.most+1), ""))
		}
		return append(all, types("1", 1.5, true)...)
	}
	switch {
	case s.values != nil:
		all = append(all, refusedValue("no value of the enumeration", "NO_SUCH_VALUE", ""), refusedValue("no text", "", ""), refusedValue("another case", strings.ToLower(s.values[0])+"x", ""))
	case s.pattern != nil:
		good := m.valid(t, protocol, kind).(string)
		for _, text := range []string{" ", good + "\n", "\n" + good, "$" + good + " $", good + "\u2603 "} {
			if n := int64(utf8.RuneCountInString(text)); !s.pattern.MatchString(text) && n >= s.least && n <= s.most {
				all = append(all, refusedValue("pattern "+strconv.Quote(text), text, ""))
			}
		}
	}
	if s.least > 0 {
		all = append(all, refusedValue("too short", strings.Repeat("x", int(s.least-1)), ""))
	}
	if s.most < awswire.Unbounded {
		all = append(all, refusedValue("too long", strings.Repeat("x", int(s.most+1)), ""))
	}
	return append(all, types(7, true)...)
}
