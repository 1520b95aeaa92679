package modules

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// bytesBinding has the conversions between bytes and strings that Buffer,
// TextDecoder and StringDecoder share.
func bytesBinding(l *Loader) map[string]any {
	r := l.runtime
	return map[string]any{
		"encode": native(func(c goja.FunctionCall) goja.Value {
			b := view(c.Argument(0))
			from, to := int(c.Argument(2).ToInteger()), int(c.Argument(3).ToInteger())
			to = min(to, len(b))
			return encode(r, b[min(max(from, 0), to):to], c.Argument(1).String())
		}),
		"decode": native(func(c goja.FunctionCall) goja.Value {
			return r.ToValue(r.NewArrayBuffer(decode(c.Argument(0), c.Argument(1).String())))
		}),
		"length": native(func(c goja.FunctionCall) goja.Value {
			return r.ToValue(len(decode(c.Argument(0), c.Argument(1).String())))
		}),
		"compare": native(func(c goja.FunctionCall) goja.Value {
			return r.ToValue(bytes.Compare(view(c.Argument(0)), view(c.Argument(1))))
		}),
		"search": native(func(c goja.FunctionCall) goja.Value {
			b, what, from := view(c.Argument(0)), view(c.Argument(1)), int(c.Argument(2).ToInteger())
			from = min(max(from, 0), len(b))
			if c.Argument(3).ToBoolean() {
				return r.ToValue(bytes.LastIndex(b[:min(from+len(what), len(b))], what))
			}
			i := bytes.Index(b[from:], what)
			if i >= 0 {
				i += from
			}
			return r.ToValue(i)
		}),
		"valid": native(func(c goja.FunctionCall) goja.Value { return r.ToValue(utf8.Valid(view(c.Argument(0)))) }),
	}
}

// view returns the bytes of a Uint8Array or an ArrayBuffer, not copied; none for
// anything else.
func view(v goja.Value) []byte {
	switch b := v.Export().(type) {
	case []byte:
		return b
	case goja.ArrayBuffer:
		return b.Bytes()
	}
	return nil
}

// encode returns bytes as a string.
func encode(r *goja.Runtime, b []byte, encoding string) goja.Value {
	switch encoding {
	case "hex":
		return r.ToValue(hex.EncodeToString(b))
	case "base64":
		return r.ToValue(base64.StdEncoding.EncodeToString(b))
	case "base64url":
		return r.ToValue(base64.RawURLEncoding.EncodeToString(b))
	case "latin1", "ascii":
		mask := byte(0xff)
		if encoding == "ascii" {
			mask = 0x7f
		}
		s := make([]rune, len(b))
		for i, c := range b {
			s[i] = rune(c & mask)
		}
		return r.ToValue(string(s))
	case "utf16le":
		units := make([]uint16, len(b)/2)
		for i := range units {
			units[i] = uint16(b[2*i]) | uint16(b[2*i+1])<<8
		}
		return goja.StringFromUTF16(units)
	}
	return r.ToValue(Text(b))
}

// Text decodes UTF-8 as the Encoding Standard does; see repaired.
func Text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string(repaired(b))
}

// repaired replaces what is not UTF-8, as browsers do: one U+FFFD for a character
// that breaks off, not one for each of its bytes.
func repaired(b []byte) []byte {
	out := make([]byte, 0, len(b)+16)
	for len(b) > 0 {
		c, n := utf8.DecodeRune(b)
		if c == utf8.RuneError && n == 1 {
			n = max(started(b), 1)
		}
		out = utf8.AppendRune(out, c)
		b = b[n:]
	}
	return out
}

// started returns how many bytes at the start of b begin a character that is not
// complete, 0 if none can follow.
func started(b []byte) int {
	var need int
	low, high := byte(0x80), byte(0xbf)
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		need = 2
	case c >= 0xe0 && c <= 0xef:
		need = 3
		if c == 0xe0 {
			low = 0xa0
		}
		if c == 0xed {
			high = 0x9f
		}
	case c >= 0xf0 && c <= 0xf4:
		need = 4
		if c == 0xf0 {
			low = 0x90
		}
		if c == 0xf4 {
			high = 0x8f
		}
	default:
		return 0
	}
	n := 1
	for n < need && n < len(b) && b[n] >= low && b[n] <= high {
		low, high = 0x80, 0xbf
		n++
	}
	if n == need {
		return 0
	}
	return n
}

// decode returns a string as bytes; what is wrong with it ends or skips, but never
// fails, as in Node.js.
func decode(v goja.Value, encoding string) []byte {
	switch encoding {
	case "hex":
		s := v.String()
		out := make([]byte, len(s)/2)
		n, _ := hex.Decode(out, []byte(s[:len(s)&^1]))
		return out[:n]
	case "base64", "base64url":
		return lenient64(v.String())
	case "latin1", "ascii", "utf16le":
		s, ok := v.(goja.String)
		if !ok {
			return nil
		}
		if encoding == "utf16le" {
			out := make([]byte, 0, 2*s.Length())
			for i := range s.Length() {
				c := s.CharAt(i)
				out = append(out, byte(c), byte(c>>8))
			}
			return out
		}
		out := make([]byte, s.Length())
		for i := range out {
			out[i] = byte(s.CharAt(i))
		}
		return out
	}
	return []byte(v.String())
}

// lenient64 takes both alphabets, skips what belongs to neither and stops at the
// padding.
func lenient64(s string) []byte {
	out := make([]byte, 0, len(s)*3/4+3)
	var bits uint32
	n := 0
	for i := range len(s) {
		var d byte
		switch c := s[i]; {
		case c >= 'A' && c <= 'Z':
			d = c - 'A'
		case c >= 'a' && c <= 'z':
			d = c - 'a' + 26
		case c >= '0' && c <= '9':
			d = c - '0' + 52
		case c == '+' || c == '-':
			d = 62
		case c == '/' || c == '_':
			d = 63
		case c == '=':
			return out
		default:
			continue
		}
		bits = bits<<6 | uint32(d)
		if n += 6; n >= 8 {
			n -= 8
			out = append(out, byte(bits>>n))
		}
	}
	return out
}
