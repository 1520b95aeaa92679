package compile

import (
	"bytes"
	"encoding/json"
	"strings"
)

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
	m["sources"], _ = json.Marshal([]string{file})
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
