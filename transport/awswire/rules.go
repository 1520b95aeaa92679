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

// Rule is a rule of the service model for one member of an input. An operation's rules are in the order of
// the model.
type Rule struct {
	Member   string
	Required bool
	Check    Check // only called if the member is present
}

// Check validates a value, which is never nil. It returns an Invalid fault whose text starts with path, the
// member's name as the caller sees it.
type Check func(path string, v reflect.Value) error

type boundRule struct {
	Rule
	index int
}

// bind finds the fields of rules in a struct type. It panics if a rule names a missing field, which is a
// programming error.
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

// apply checks that all required members are present, then checks each member in order. path is empty or ends
// with a dot.
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
			member.SetZero() // the check must see the empty text that the caller sent
		}
		if err := r.Check(path+r.Member, reflect.Indirect(member)); err != nil {
			return err
		}
	}
	return nil
}

// emptyEnum replaces the value "" of an enum when it is decoded. The SDK has no pointers to enums, so ""
// means an absent member; but an explicit "" is an invalid value.
const emptyEnum = "\x00"

// isEnum reports whether an SDK type is an enumeration.
func isEnum(t reflect.Type) bool {
	return t.Kind() == reflect.String && t != reflect.TypeFor[string]()
}

// isAbsent reports whether a member is absent: nil, or an enum with the value "".
func isAbsent(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return v.IsNil()
	}
	return v.IsZero()
}

// Unbounded is used where the model sets no upper limit.
const Unbounded = int64(1)<<62 - 1

// Text checks the length in characters. If pattern is not empty, the whole value must match it, whether the
// pattern is anchored or not.
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

// Blob checks the size in bytes.
func Blob(least, most int64) Check {
	return func(path string, v reflect.Value) error {
		if n := int64(v.Len()); n < least || n > most {
			return Invalid("%s must have %s bytes, it has %d", path, span(least, most), n)
		}
		return nil
	}
}

// Either accepts every value of the type.
func Either(string, reflect.Value) error { return nil }

// OneOf accepts the listed values of an enumeration.
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

// Structure checks the members of a nested struct of type t.
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
