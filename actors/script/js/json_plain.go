package js

import (
	"math"
	"strconv"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ftoa"
	"github.com/dop251/goja/unistring"

	"troupe/actors/script/js/engine"
)

// plainDepth is the depth up to which plainText follows a value. Deeper values, and those that contain themselves, are
// left to the engine.
const plainDepth = 64

const toJSON = unistring.String("toJSON")

// plainText writes a value that consists of plain data: literals, instances of classes, arrays, texts and numbers. It
// returns what JSON.stringify of the engine returns for the value, with a tenth of the allocations: the engine makes a
// property list for each object and a call of replaced for each value. No code of the script runs meanwhile. Its sizes
// and yield points are those of replaced.
type plainText struct {
	h               *Handler
	out             []byte
	wide            bool         // the text has characters other than ASCII
	depth           int          // number of objects around the value
	size, looked    int64        // as in written
	most            int64        // the maximum of size
	objects, arrays *goja.Object // the prototypes of literals and of arrays
	silent          *goja.Object // a prototype that has no toJSON, as its own prototypes do not
}

// plainBuffers keeps the buffers of plainText.
var plainBuffers = sync.Pool{New: func() any { return new([]byte) }}

const plainBufferMax = 64 << 10

// plainJSON implements JSON.stringify for plain data. It returns nil for other values, and if the script passes a
// replacer or a gap.
func (h *Handler) plainJSON(c goja.FunctionCall) goja.Value {
	o, ok := c.Argument(0).(*goja.Object)
	if _, replaces := c.Argument(1).(*goja.Object); !ok || replaces || c.Argument(2).ToBoolean() {
		return nil
	}
	if h.objects == nil {
		h.objects, h.arrays = h.vm.NewObject().Prototype(), h.vm.NewArray().Prototype()
	}
	buffer := plainBuffers.Get().(*[]byte)
	p := plainText{h: h, most: h.textMax(), out: (*buffer)[:0], objects: h.objects, arrays: h.arrays}
	p.count(0)
	done := p.object(o)
	var text goja.Value
	if done {
		text = p.text()
	}
	if cap(p.out) <= plainBufferMax {
		*buffer = p.out
		plainBuffers.Put(buffer)
	}
	return text
}

func (p *plainText) text() goja.Value {
	if p.wide {
		return p.h.vm.ToValue(string(p.out))
	}
	return engine.Text(p.out)
}

// count counts a value, and polls the yield point after every 64 Ki characters.
func (p *plainText) count(characters int) {
	if p.size-p.looked > 1<<16 {
		p.looked = p.size
		p.h.look()
	}
	if p.size += 1 + int64(characters); p.size > p.most {
		panic(p.h.textTooLong())
	}
}

// object writes an object. Like the functions below, it returns false if the object is more than plain data.
func (p *plainText) object(o *goja.Object) bool {
	if p.depth++; p.depth > plainDepth {
		return false
	}
	ok := false
	if r := engine.RecordOf(o); r != nil {
		ok = p.quiet(r) && p.record(r)
	} else if list, rest := engine.ListOf(o); rest != nil {
		ok = p.quiet(rest) && p.list(list)
	}
	p.depth--
	return ok
}

// quiet reports whether an object has no toJSON.
func (p *plainText) quiet(r *engine.Record) bool {
	if r.Own(toJSON) != nil {
		return false
	}
	first := r.Prototype()
	for at := first; at != nil && at != p.silent; {
		var rest *engine.Record
		next := p.objects // of Array.prototype, unless the script has replaced it
		switch at {
		case p.objects:
			if rest = engine.PrototypeOf(at); rest != nil && rest.Prototype() != nil {
				return false
			}
			next = nil
		case p.arrays:
			if rest = engine.PrototypeOf(at); rest != nil && rest.Prototype() != nil {
				next = rest.Prototype()
			}
		default:
			if rest = engine.RecordOf(at); rest != nil {
				next = rest.Prototype()
			}
		}
		if rest == nil || rest.Own(toJSON) != nil {
			return false
		}
		at = next
	}
	p.silent = first
	return true
}

func (p *plainText) record(r *engine.Record) bool {
	p.out = append(p.out, '{')
	first := len(p.out)
	for _, name := range r.Names() {
		v := r.Own(name)
		start := len(p.out)
		if start > first {
			p.out = append(p.out, ',')
		}
		characters := p.name(name)
		p.out = append(p.out, ':')
		if engine.KindOf(v) == engine.Undefined {
			p.count(characters)
			p.out = p.out[:start]
			continue
		}
		if !p.value(v, characters) {
			return false
		}
	}
	p.out = append(p.out, '}')
	return true
}

func (p *plainText) list(list []goja.Value) bool {
	p.out = append(p.out, '[')
	for i, v := range list {
		if i > 0 {
			p.out = append(p.out, ',')
		}
		if v == nil || !p.value(v, digits(i)) {
			return false
		}
	}
	p.out = append(p.out, ']')
	return true
}

// digits returns the length of a number as text.
func digits(n int) int {
	many := 1
	for ; n >= 10; n /= 10 {
		many++
	}
	return many
}

// value writes a value. characters is the length of its key.
func (p *plainText) value(v goja.Value, characters int) bool {
	kind := engine.KindOf(v)
	if kind == engine.ASCIIText || kind == engine.WideText {
		characters += v.(goja.String).Length()
	}
	p.count(characters)
	switch kind {
	case engine.Integer:
		p.out = strconv.AppendInt(p.out, v.ToInteger(), 10)
	case engine.Float:
		f := v.ToFloat()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			p.out = append(p.out, "null"...)
		} else {
			p.out = ftoa.FToStr(f, ftoa.ModeStandard, 0, p.out)
		}
	case engine.ASCIIText:
		p.out = append(p.out, '"')
		p.ascii(v.String())
		p.out = append(p.out, '"')
	case engine.WideText:
		p.wideText(v.(goja.String))
	case engine.Boolean:
		p.out = strconv.AppendBool(p.out, v.ToBoolean())
	case engine.Null, engine.Undefined: // undefined in a list
		p.out = append(p.out, "null"...)
	case engine.Reference:
		return p.object(v.(*goja.Object))
	default:
		return false
	}
	return true
}

// name writes a key and returns its length.
func (p *plainText) name(name unistring.String) (characters int) {
	p.out = append(p.out, '"')
	if units := name.AsUtf16(); units != nil {
		characters = len(units) - 1 // the first one marks them
		p.units(func(i int) uint16 { return units[i+1] }, characters)
	} else {
		characters = len(name)
		p.ascii(string(name))
	}
	p.out = append(p.out, '"')
	return characters
}

func (p *plainText) wideText(s goja.String) {
	p.out = append(p.out, '"')
	p.units(s.CharAt, s.Length())
	p.out = append(p.out, '"')
}

// units writes the n units of a text in UTF-16. Half of a surrogate pair is escaped.
func (p *plainText) units(at func(i int) uint16, n int) {
	for i := 0; i < n; i++ {
		p.h.lookAt(int64(i))
		r := rune(at(i))
		switch {
		case r < utf8.RuneSelf:
			p.escaped(byte(r))
		case !utf16.IsSurrogate(r):
			p.wide, p.out = true, utf8.AppendRune(p.out, r)
		default:
			if i+1 < n {
				if both := utf16.DecodeRune(r, rune(at(i+1))); both != utf8.RuneError {
					p.wide, p.out = true, utf8.AppendRune(p.out, both)
					i++
					continue
				}
			}
			p.out = append(p.out, '\\', 'u', hex[r>>12], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		}
	}
}

const hex = "0123456789abcdef"

func (p *plainText) ascii(s string) {
	from := 0
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			p.out = append(p.out, s[from:i]...)
			p.escaped(c)
			from = i + 1
		}
	}
	p.out = append(p.out, s[from:]...)
}

// escaped writes an ASCII character.
func (p *plainText) escaped(c byte) {
	switch {
	case c == '"' || c == '\\':
		p.out = append(p.out, '\\', c)
	case c >= ' ':
		p.out = append(p.out, c)
	case c == '\b':
		p.out = append(p.out, '\\', 'b')
	case c == '\t':
		p.out = append(p.out, '\\', 't')
	case c == '\n':
		p.out = append(p.out, '\\', 'n')
	case c == '\f':
		p.out = append(p.out, '\\', 'f')
	case c == '\r':
		p.out = append(p.out, '\\', 'r')
	default:
		p.out = append(p.out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
	}
}
