package serviceapi

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// rule is what the service model says about one member of an input. The rules
// of an operation stand in the order of the model.
type rule struct {
	member   string
	required bool
	check    check
}

// check refuses a value, which is never nil, by an InvalidRequest error that
// starts with path, the member's name as the caller knows it.
type check func(path string, v reflect.Value) error

func required(member string, c check) rule { return rule{member, true, c} }
func optionally(member string, c check) rule {
	return rule{member, false, c}
}

// boundRule is a rule with its place in a struct.
type boundRule struct {
	rule
	index int
}

// bind finds the members of rules in a struct type. A rule without a member is
// a programming error.
func bind(t reflect.Type, rules []rule) []boundRule {
	bound := make([]boundRule, len(rules))
	for i, r := range rules {
		f, ok := t.FieldByName(r.member)
		if !ok {
			panic(fmt.Sprintf("serviceapi: %s has no member %s", t, r.member))
		}
		bound[i] = boundRule{r, f.Index[0]}
	}
	return bound
}

// apply checks a struct: first that required members are there, then each
// member in order. path is empty or ends with a dot.
func apply(rules []boundRule, path string, v reflect.Value) error {
	for _, r := range rules {
		if r.required && isAbsent(v.Field(r.index)) {
			return invalid("%s%s is required", path, r.member)
		}
	}
	for _, r := range rules {
		member := v.Field(r.index)
		if isAbsent(member) {
			continue
		}
		if isEnum(member.Type()) && member.String() == emptyEnum {
			member.SetZero() // what was said, for the check
		}
		if err := r.check(path+r.member, reflect.Indirect(member)); err != nil {
			return err
		}
	}
	return nil
}

// emptyEnum is what decoders make of the text "" for an enum, which is a wrong value: the
// types of the SDK have no pointers to enums, and "" would be one that was left out.
const emptyEnum = "\x00"

// isEnum reports whether a type of the SDK is an enumeration.
func isEnum(t reflect.Type) bool {
	return t.Kind() == reflect.String && t != reflect.TypeFor[string]()
}

// isAbsent reports whether a member was left out: nil, or an enum without text.
func isAbsent(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return v.IsNil()
	}
	return v.IsZero()
}

// unbounded stands for a limit that the model does not set.
const unbounded = int64(1)<<62 - 1

// text checks length in characters and, unless it is empty, a pattern that the
// whole value must match, whether or not the published one has anchors.
func text(least, most int64, pattern string) check {
	var form *regexp.Regexp
	if pattern != "" {
		form = regexp.MustCompile(`\A(?:` + pattern + `)\z`)
	}
	return func(path string, v reflect.Value) error {
		s := v.String()
		if n := int64(utf8.RuneCountInString(s)); n < least || n > most {
			return invalid("%s must have %s characters, it has %d", path, span(least, most), n)
		}
		if form != nil && !form.MatchString(s) {
			return invalid("%s must match %s", path, pattern)
		}
		return nil
	}
}

// blob checks the size of bytes.
func blob(least, most int64) check {
	return func(path string, v reflect.Value) error {
		if n := int64(v.Len()); n < least || n > most {
			return invalid("%s must have %s bytes, it has %d", path, span(least, most), n)
		}
		return nil
	}
}

// either checks nothing: every value of the type is right.
func either(string, reflect.Value) error { return nil }

// oneOf checks a text against the values of an enumeration.
func oneOf(values ...string) check {
	return func(path string, v reflect.Value) error {
		if !slices.Contains(values, v.String()) {
			return invalid("%s must be one of %s", path, strings.Join(values, ", "))
		}
		return nil
	}
}

// number checks the range of an integer.
func number(least, most int64) check {
	return func(path string, v reflect.Value) error {
		if n := v.Int(); n < least || n > most {
			return invalid("%s must be %s, it is %d", path, span(least, most), n)
		}
		return nil
	}
}

// listOf checks the size of a list and each item.
func listOf(least, most int64, item check) check {
	return func(path string, v reflect.Value) error {
		if n := int64(v.Len()); n < least || n > most {
			return invalid("%s must have %s items, it has %d", path, span(least, most), n)
		}
		for i := range v.Len() {
			if err := item(path+"["+strconv.Itoa(i)+"]", v.Index(i)); err != nil {
				return err
			}
		}
		return nil
	}
}

// mapOf checks each key and value of a map.
func mapOf(key, value check) check {
	return func(path string, v reflect.Value) error {
		for entries := v.MapRange(); entries.Next(); {
			if err := key(path+" key", entries.Key()); err != nil {
				return err
			}
			if err := value(path+"["+clip(entries.Key().String())+"]", entries.Value()); err != nil {
				return err
			}
		}
		return nil
	}
}

// structure checks the members of a nested struct.
func structure[T any](rules ...rule) check {
	bound := bind(reflect.TypeFor[T](), rules)
	return func(path string, v reflect.Value) error { return apply(bound, path+".", v) }
}

func span(least, most int64) string {
	if most >= unbounded {
		return "at least " + strconv.FormatInt(least, 10)
	}
	return strconv.FormatInt(least, 10) + " to " + strconv.FormatInt(most, 10)
}
