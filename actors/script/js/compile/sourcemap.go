package compile

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// inlineMap is the source map that a bundler leaves in a file.
var inlineMap = regexp.MustCompile(`(?m)^([ \t]*//)[#@] sourceMappingURL=data:.*$`)

// withoutMap leaves out the source maps in a file. By one esbuild would count in the lines of files
// that are not here; the lines of the file itself are those that engine node has.
func withoutMap(text string) string {
	if !strings.Contains(text, "sourceMappingURL=data:") {
		return text
	}
	return inlineMap.ReplaceAllString(text, "$1")
}

// shifted names the file of a source map, and moves all columns by one: source maps count from 0, but
// the engine takes both columns to be counted from 1. Each line of the mappings
// starts with an absolute generated column, and the first segment of all with an
// absolute original one; the others are differences.
func shifted(data []byte, file string) []byte {
	var m map[string]json.RawMessage
	var mappings string
	if json.Unmarshal(data, &m) != nil || json.Unmarshal(m["mappings"], &mappings) != nil {
		return data
	}
	lines := strings.Split(mappings, ";")
	first := true
	for i, line := range lines {
		if line == "" {
			continue
		}
		segment, rest, more := strings.Cut(line, ",")
		fields := decodeVLQ(segment)
		fields[0]++
		if first && len(fields) >= 4 {
			fields[3]++
			first = false
		}
		line = encodeVLQ(fields)
		if more {
			line += "," + rest
		}
		lines[i] = line
	}
	var sources []string
	_ = json.Unmarshal(m["sources"], &sources)
	for i := range sources { // one, unless withoutMap missed something
		sources[i] = file
	}
	m["sources"], _ = json.Marshal(sources)
	m["mappings"], _ = json.Marshal(strings.Join(lines, ";"))
	out, err := json.Marshal(m)
	if err != nil {
		return data
	}
	return out
}

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// decodeVLQ returns the numbers of a segment, at least one.
func decodeVLQ(segment string) []int {
	var out []int
	value, shift := 0, 0
	for i := range len(segment) {
		d := strings.IndexByte(digits, segment[i])
		value |= d & 31 << shift
		if shift += 5; d&32 != 0 {
			continue
		}
		if value&1 != 0 {
			out = append(out, -(value >> 1))
		} else {
			out = append(out, value>>1)
		}
		value, shift = 0, 0
	}
	if out == nil {
		return []int{0}
	}
	return out
}

func encodeVLQ(fields []int) string {
	var b bytes.Buffer
	for _, n := range fields {
		v := n << 1
		if n < 0 {
			v = -n<<1 | 1
		}
		for v > 31 {
			b.WriteByte(digits[v&31|32])
			v >>= 5
		}
		b.WriteByte(digits[v])
	}
	return b.String()
}
