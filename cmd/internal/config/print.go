package config

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"troupe/messages/lazy"
)

// Schema is the JSON Schema (draft 2020-12) of a configuration file. cmd/internal/configdoc generates it.
//
//go:embed schema.json
var Schema []byte

// Print writes all values in the form of a configuration file, with the origin of each value in a comment. It does not
// write secrets.
func (r *Resolved) Print(out io.Writer) error {
	p := printer{r: r}
	p.section(reflect.ValueOf(r.Config), "", "")
	_, err := out.Write(p.b.Bytes())
	return err
}

type printer struct {
	r *Resolved
	b bytes.Buffer
}

// section writes the fields of a struct. path is empty or ends in a dot.
func (p *printer) section(v reflect.Value, path, indent string) {
	for i := range v.NumField() {
		name, f := v.Type().Field(i).Tag.Get(tagName), v.Field(i)
		key := path + name
		switch {
		case f.Kind() == reflect.Struct:
			p.b.WriteString(indent + name + ":\n")
			p.section(f, key+".", indent+"  ")
		case f.Kind() == reflect.Slice && f.Len() > 0 && f.Type().Elem().Kind() == reflect.Struct:
			p.line(indent+name+":", p.r.Origin(key))
			for i := range f.Len() {
				p.element(f.Index(i), indent+"  ")
			}
		case isSecret(key) && f.Len() > 0:
			p.line(indent+"# "+name+": set, and not shown", p.r.Origin(key))
		default:
			p.line(indent+name+": "+valueText(f), p.r.Origin(key))
		}
	}
}

// element writes an element of a list of sections. It writes only the fields that are set, because in such an element
// a zero value means the same as no value.
func (p *printer) element(v reflect.Value, indent string) {
	first := true
	for i := range v.NumField() {
		name, f := v.Type().Field(i).Tag.Get(tagName), v.Field(i)
		if f.IsZero() || f.Kind() == reflect.Slice && f.Len() == 0 {
			continue
		}
		lead := indent + "  "
		if first {
			lead = indent + "- "
		}
		switch {
		case isSecret("." + name):
			p.b.WriteString(indent + "  # " + name + ": set, and not shown\n")
			continue
		case f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct:
			p.b.WriteString(lead + name + ":\n")
			for j := range f.Len() {
				p.element(f.Index(j), indent+"    ")
			}
		default:
			p.b.WriteString(lead + name + ": " + valueText(f) + "\n")
		}
		first = false
	}
	if first {
		p.b.WriteString(indent + "- {}\n")
	}
}

// originColumn is the column in which the origins begin.
const originColumn = 44

func (p *printer) line(text, origin string) {
	origin = strings.Map(func(r rune) rune { // a file name may contain a line break, which would end the comment
		if r < ' ' {
			return '?'
		}
		return r
	}, origin)
	fmt.Fprintf(&p.b, "%-*s # %s\n", originColumn, text, origin)
}

var (
	plainText = lazy.Regexp(`\A[a-zA-Z][a-zA-Z0-9/_-]*\z`)
	// words that some version of YAML does not read as text
	notText = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
)

func valueText(v reflect.Value) string {
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		return time.Duration(v.Int()).String()
	case v.Kind() == reflect.Slice && v.Len() == 0:
		return "[]"
	case v.Kind() == reflect.String && plainText().MatchString(v.String()) && !slices.Contains(notText, strings.ToLower(v.String())):
		return v.String()
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v.Interface()); err != nil {
		return "" // cannot happen: every setting can be encoded
	}
	return strings.TrimSpace(b.String())
}
