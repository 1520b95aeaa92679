package config

import (
	"fmt"
	"strings"
)

// fileReader checks the settings of a file against the schema.
type fileReader struct {
	l      *loader
	source string
}

// section returns the known and well-formed settings of one section. Path is the path of
// the section; inside a list it has the index.
func (r *fileReader) section(f *field, path string, raw any) map[string]any {
	settings := map[string]any{}
	said, ok := asMap(raw)
	if !ok {
		r.l.wrong(path, r.source, "must be a section, not %s", describe(raw))
		return settings
	}
	for name, value := range said {
		key := join(path, name)
		child := f.children[name]
		if child == nil {
			r.unknown(f, path, key, name)
			continue
		}
		if v, ok := r.value(child, key, value); ok {
			settings[name] = v
		}
	}
	return settings
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

// value reads one setting, section or list.
func (r *fileReader) value(f *field, key string, raw any) (any, bool) {
	switch {
	case f.isSection() && raw == nil:
		return nil, false // all its settings are commented out
	case f.isSection():
		return r.section(f, key, raw), true
	case f.list:
		return r.list(f, key, raw)
	}
	v, err := fromYAML(f.kind, raw)
	if err != nil {
		if isSecret(key) { // do not print the value
			err = fmt.Errorf("must be %s", f.kind)
		}
		r.l.wrong(key, r.source, "%w", err)
		return nil, false
	}
	if isSecret(key) {
		r.l.secrets = true
	}
	r.l.origin[key] = r.source
	return v, true
}

func (r *fileReader) list(f *field, key string, raw any) (any, bool) {
	elements, ok := raw.([]any)
	if !ok {
		r.l.wrong(key, r.source, "must be a list, not %s", describe(raw))
		return nil, false
	}
	list := make([]any, len(elements))
	for i, e := range elements {
		at := fmt.Sprintf("%s[%d]", key, i)
		if f.children != nil {
			list[i] = r.section(f, at, e)
			continue
		}
		v, err := fromYAML(f.kind, e)
		if err != nil {
			r.l.wrong(at, r.source, "%w", err)
			return nil, false
		}
		list[i] = v
	}
	r.l.origin[key] = r.source
	return list, true
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
