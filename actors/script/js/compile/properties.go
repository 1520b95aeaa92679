package compile

import (
	"strings"
	"sync"
	"unicode"
)

// The engine does not know \p{...}: it is written out as the ranges that Go's tables
// have for it.

// expandedMax bounds what a regular expression becomes, in bytes: a short name stands for
// up to 8 KiB.
const expandedMax = 1 << 20

// expandProperties writes the \p{...} and \P{...} of a regular expression with the flag u
// out; false: there is one that Go has no table for, or it becomes too long. Only the
// property source of the regular expression tells the difference.
func expandProperties(pattern string) (string, bool) {
	var b strings.Builder
	class := false // in brackets
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\' && i+2 < len(pattern) && (pattern[i+1] == 'p' || pattern[i+1] == 'P') && pattern[i+2] == '{':
			name, _, ok := strings.Cut(pattern[i+3:], "}")
			if !ok {
				return "", false
			}
			ranges := rangesOf(name, pattern[i+1] == 'P')
			if ranges == "" || b.Len()+len(ranges) > expandedMax {
				return "", false
			}
			if !class {
				ranges = "[" + ranges + "]"
			}
			b.WriteString(ranges)
			i += len(`\p{`) + len(name)
		case c == '\\' && i+1 < len(pattern):
			b.WriteString(pattern[i : i+2])
			i++
		default:
			class = class && c != ']' || c == '['
			b.WriteByte(c)
		}
	}
	return b.String(), true
}

// scripts are short names that scripts use.
var scripts = map[string]string{
	"Latn": "Latin", "Grek": "Greek", "Cyrl": "Cyrillic", "Hani": "Han", "Hira": "Hiragana", "Kana": "Katakana", "Hang": "Hangul", "Arab": "Arabic",
	"Hebr": "Hebrew", "Thai": "Thai", "Deva": "Devanagari", "Armn": "Armenian", "Geor": "Georgian", "Zyyy": "Common",
}

// property returns the characters that have a property; nil: there is none of that name.
func property(name string) []*unicode.RangeTable {
	key, value, pair := strings.Cut(name, "=")
	p := unicode.Properties
	switch {
	case pair && (key == "Script" || key == "sc"):
		if long := scripts[value]; long != "" {
			value = long
		}
		if table := unicode.Scripts[value]; table != nil {
			return []*unicode.RangeTable{table}
		}
		return nil
	case pair && (key == "General_Category" || key == "gc"):
		name = value
	case pair:
		return nil
	}
	if short := unicode.CategoryAliases[name]; short != "" {
		name = short
	}
	if table := unicode.Categories[name]; table != nil {
		return []*unicode.RangeTable{table}
	}
	if pair {
		return nil
	}
	all := func(last uint32) *unicode.RangeTable {
		return &unicode.RangeTable{R32: []unicode.Range32{{Lo: 0, Hi: last, Stride: 1}}}
	}
	in := func(tables ...*unicode.RangeTable) []*unicode.RangeTable { return tables }
	switch name {
	case "Any":
		return in(all(unicode.MaxRune))
	case "ASCII":
		return in(all(unicode.MaxASCII))
	case "Alphabetic", "Alpha":
		return in(unicode.L, unicode.Nl, p["Other_Alphabetic"])
	case "Uppercase", "Upper":
		return in(unicode.Lu, p["Other_Uppercase"])
	case "Lowercase", "Lower":
		return in(unicode.Ll, p["Other_Lowercase"])
	case "White_Space", "space":
		return in(unicode.White_Space)
	case "ID_Start", "IDS":
		return in(unicode.L, unicode.Nl, p["Other_ID_Start"])
	case "ID_Continue", "IDC":
		return in(unicode.L, unicode.Nl, p["Other_ID_Start"], unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, p["Other_ID_Continue"])
	}
	return nil
}

// ranges are those that were asked for, for all scripts.
var ranges sync.Map // name, with ^ before it for what has it not -> string

// rangesOf returns the characters that have a property, or those that have not, for
// inside brackets; empty: there is no such property. Halves of surrogate pairs are left
// out.
func rangesOf(name string, not bool) string {
	tables := property(name)
	if tables == nil {
		return ""
	}
	key := name
	if not {
		key = "^" + name
	}
	if known, ok := ranges.Load(key); ok {
		return known.(string)
	}
	has := make([]bool, unicode.MaxRune+2)
	for _, t := range tables {
		for _, r := range t.R16 {
			for c := int(r.Lo); c <= int(r.Hi); c += int(r.Stride) {
				has[c] = true
			}
		}
		for _, r := range t.R32 {
			for c := int(r.Lo); c <= int(r.Hi); c += int(r.Stride) {
				has[c] = true
			}
		}
	}
	var b strings.Builder
	write := func(c rune) {
		if strings.ContainsRune(`\]^-[/`, c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	is := func(c rune) bool { return c <= unicode.MaxRune && (c < 0xd800 || c > 0xdfff) && has[c] != not }
	for c := rune(0); c <= unicode.MaxRune; c++ {
		if !is(c) {
			continue
		}
		first := c
		for is(c + 1) {
			c++
		}
		if write(first); c > first {
			b.WriteByte('-')
			write(c)
		}
	}
	ranges.Store(key, b.String())
	return b.String()
}
