package config

import (
	"fmt"
	"reflect"
	"strings"
)

// fileReader checks the settings of a file against the schema.
type fileReader struct {
	l      *loader
	source string
}

// section sets the known and well-formed settings of one section in dst, which is the configuration or an element of a
// list. path is the path of the section. For an element of a list, it includes the index.
func (r *fileReader) section(f *field, path string, raw any, dst reflect.Value) {
	said, ok := asMap(raw)
	if !ok {
		r.l.wrong(path, r.source, "must be a section, not %s", describe(raw))
		return
	}
	for name, value := range said {
		key := join(path, name)
		child := f.children[name]
		switch {
		case child == nil:
			r.unknown(f, path, key, name)
		case child.isSection() && value == nil: // a section whose settings are all commented out
		case child.isSection():
			r.section(child, key, value, dst)
		case child.list:
			r.list(child, key, value, dst.FieldByIndex(child.index))
		default:
			r.value(child, key, value, dst.FieldByIndex(child.index))
		}
	}
}

func (r *fileReader) unknown(f *field, path, key, name string) {
	if dotted := r.l.schema.byPath[key]; dotted != nil {
		r.l.wrong(key, r.source, "must be written as sections, one inside the other")
		return
	}
	candidates := r.l.schema.paths(true)
	if strings.Contains(path, "[") { // inside a list: suggest only keys of its elements
		candidates = nil
		for sibling := range f.children {
			candidates = append(candidates, join(path, sibling))
		}
	}
	r.l.wrong(key, r.source, "unknown key; did you mean %s?", nearest(key, candidates))
}

// value sets one setting.
func (r *fileReader) value(f *field, key string, raw any, dst reflect.Value) {
	v, err := fromYAML(f.kind, raw)
	if err != nil {
		if isSecret(key) { // do not print the value
			err = fmt.Errorf("must be %s", f.kind)
		}
		r.l.wrong(key, r.source, "%w", err)
		return
	}
	if isSecret(key) {
		r.l.secrets = true
	}
	r.l.origin[key] = r.source
	dst.Set(reflect.ValueOf(v))
}

// list sets a list setting. The list replaces the default one.
func (r *fileReader) list(f *field, key string, raw any, dst reflect.Value) {
	elements, ok := raw.([]any)
	if !ok {
		r.l.wrong(key, r.source, "must be a list, not %s", describe(raw))
		return
	}
	list := reflect.MakeSlice(dst.Type(), len(elements), len(elements))
	for i, e := range elements {
		at := fmt.Sprintf("%s[%d]", key, i)
		if f.children != nil {
			r.section(f, at, e, list.Index(i))
			continue
		}
		v, err := fromYAML(f.kind, e)
		if err != nil {
			r.l.wrong(at, r.source, "%w", err)
			return
		}
		list.Index(i).Set(reflect.ValueOf(v))
	}
	r.l.origin[key] = r.source
	dst.Set(list)
}

// asMap converts both kinds of map that YAML decodes to.
func asMap(raw any) (map[string]any, bool) {
	switch m := raw.(type) {
	case map[string]any:
		return m, true
	case map[any]any:
		named := make(map[string]any, len(m))
		for name, v := range m {
			named[fmt.Sprint(name)] = v
		}
		return named, true
	}
	return nil, false
}

// describe names a value of the wrong kind in an error text.
func describe(raw any) string {
	switch v := raw.(type) {
	case nil:
		return "empty"
	case string:
		return fmt.Sprintf("the text %q", shorten(v))
	case map[string]any, map[any]any:
		return "a section"
	case []any:
		return "a list"
	}
	return shorten(fmt.Sprint(raw))
}

func shorten(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}
