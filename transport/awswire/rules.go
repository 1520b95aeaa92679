package awswire

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Rule is what the service model says about one member of an input. An operation's rules are in the order of the model.
type Rule struct {
	Member   string
	Required bool
	Check    Check // of a value that is there
}

// Check refuses a value, which is never nil, by an Invalid fault that starts with path, the member's name for the caller.
type Check func(path string, v reflect.Value) error

type boundRule struct {
	Rule
	index int
}

// bind finds the members of rules in a struct type. A rule without a member is a programming error.
func bind(t reflect.Type, rules []Rule) []boundRule {
	bound := make([]boundRule, len(rules))
	for i, r := range rules {
		f, ok := t.FieldByName(r.Member)
		if !ok {
			panic(fmt.Sprintf("awswire: %s has no member %s", t, r.Member))
		}
		bound[i] = boundRule{r, f.Index[0]}
	}
	return bound
}

// apply checks that required members are there, then each member in order. Path is empty or ends with a dot.
func apply(rules []boundRule, path string, v reflect.Value) error {
	for _, r := range rules {
		if r.Required && isAbsent(v.Field(r.index)) {
			return Invalid("%s%s is required", path, r.Member)
		}
	}
	for _, r := range rules {
		member := v.Field(r.index)
		if isAbsent(member) {
			continue
		}
		if isEnum(member.Type()) && member.String() == emptyEnum {
			member.SetZero() // the check sees the empty text that the caller sent
		}
		if err := r.Check(path+r.Member, reflect.Indirect(member)); err != nil {
			return err
		}
	}
	return nil
}

// emptyEnum is what decoders make of "" for an enum, a wrong value: the SDK has no pointers to enums, and "" means left out.
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

// Unbounded stands for a limit that the model does not set.
const Unbounded = int64(1)<<62 - 1

// Text checks length in characters and, unless it is empty, a pattern that the whole value must match, anchored or not.
func Text(least, most int64, pattern string) Check {
	var form *regexp.Regexp
	if pattern != "" {
		form = regexp.MustCompile(`\A(?:` + pattern + `)\z`)
	}
	return func(path string, v reflect.Value) error {
		s := v.String()
		if n := int64(utf8.RuneCountInString(s)); n < least || n > most {
			return Invalid("%s must have %s characters, it has %d", path, span(least, most), n)
		}
		if form != nil && !form.MatchString(s) {
			return Invalid("%s must match %s", path, pattern)
		}
		return nil
	}
}

// Blob checks the size of bytes.
func Blob(least, most int64) Check {
	return func(path string, v reflect.Value) error {
		if n := int64(v.Len()); n < least || n > most {
			return Invalid("%s must have %s bytes, it has %d", path, span(least, most), n)
		}
		return nil
	}
}

// Either checks nothing: every value of the type is right.
func Either(string, reflect.Value) error { return nil }

// OneOf checks a text against the values of an enumeration.
func OneOf(values ...string) Check {
	return func(path string, v reflect.Value) error {
		if !slices.Contains(values, v.String()) {
			return Invalid("%s must be one of %s", path, strings.Join(values, ", "))
		}
		return nil
	}
}

// Number checks the range of an integer.
func Number(least, most int64) Check {
	return func(path string, v reflect.Value) error {
		if n := v.Int(); n < least || n > most {
			return Invalid("%s must be %s, it is %d", path, span(least, most), n)
		}
		return nil
	}
}

// ListOf checks the size of a list and each item.
func ListOf(least, most int64, item Check) Check {
	return func(path string, v reflect.Value) error {
		if n := int64(v.Len()); n < least || n > most {
			return Invalid("%s must have %s items, it has %d", path, span(least, most), n)
		}
		for i := range v.Len() {
			if err := item(path+"["+strconv.Itoa(i)+"]", v.Index(i)); err != nil {
				return err
			}
		}
		return nil
	}
}

// MapOf checks each key and value of a map.
func MapOf(key, value Check) Check {
	return func(path string, v reflect.Value) error {
		for entries := v.MapRange(); entries.Next(); {
			if err := key(path+" key", entries.Key()); err != nil {
				return err
			}
			if err := value(path+"["+Clip(entries.Key().String())+"]", entries.Value()); err != nil {
				return err
			}
		}
		return nil
	}
}

// Structure checks the members of a nested struct.
func Structure(t reflect.Type, rules ...Rule) Check {
	bound := bind(t, rules)
	return func(path string, v reflect.Value) error { return apply(bound, path+".", v) }
}

func span(least, most int64) string {
	if most >= Unbounded {
		return "at least " + strconv.FormatInt(least, 10)
	}
	return strconv.FormatInt(least, 10) + " to " + strconv.FormatInt(most, 10)
}
