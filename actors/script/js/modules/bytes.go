package modules

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// bytesBinding has the conversions between bytes and strings for Buffer and TextDecoder.
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

var bytesType, bufferType = reflect.TypeFor[[]byte](), reflect.TypeFor[goja.ArrayBuffer]()

// View returns the bytes of a Uint8Array without copying them.
func View(v goja.Value) ([]byte, bool) {
	if v.ExportType() != bytesType {
		return nil, false
	}
	b, ok := v.Export().([]byte)
	return b, ok
}

// view returns the bytes of a Uint8Array or an ArrayBuffer without copying them. It returns nil for any other
// value.
func view(v goja.Value) []byte {
	switch v.ExportType() { // for other types, Export would copy
	case bytesType:
		b, _ := v.Export().([]byte)
		return b
	case bufferType:
		b, _ := v.Export().(goja.ArrayBuffer)
		return b.Bytes()
	}
	return nil
}

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

// Text decodes UTF-8 as the Encoding Standard requires: each maximal incomplete sequence becomes one U+FFFD.
// Go would replace every byte of it.
func Text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var s strings.Builder
	for len(b) > 0 {
		c, n := utf8.DecodeRune(b)
		for c == utf8.RuneError && n < len(b) && !utf8.FullRune(b[:n+1]) {
			n++
		}
		s.WriteRune(c)
		b = b[n:]
	}
	return s.String()
}

// decode converts a string to bytes. As in Node.js, it never fails: it stops at invalid characters, or skips
// them.
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

// lenient64 decodes base64 in both alphabets. It skips invalid characters and stops at the padding.
func lenient64(s string) []byte {
	s, _, _ = strings.Cut(s, "=")
	s = strings.Map(func(c rune) rune {
		switch {
		case c == '-':
			return '+'
		case c == '_':
			return '/'
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '+', c == '/':
			return c
		}
		return -1
	}, s)
	if len(s)%4 == 1 { // a single trailing character encodes less than a byte
		s = s[:len(s)-1]
	}
	b, _ := base64.RawStdEncoding.DecodeString(s)
	return b
}
