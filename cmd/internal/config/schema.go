package config

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"troupe/transport/host"
)

// tagName is the struct tag that names a field's part of the key.
const tagName = "config"

// kind is the type of a setting's value.
type kind uint8

const (
	kindText kind = iota + 1
	kindBool
	kindInt
	kindFloat
	kindDuration
)

// field is a node of the tree of keys: a section, a list (of sections or settings), or a
// setting.
type field struct {
	path string
	kind kind // of a setting, or of the elements of a list of settings; otherwise 0
	list bool
	// of a section, or of the elements of a list, by name
	children map[string]*field
	// index is the place in host.Config, or in the element of a list
	index []int
}

func (f *field) isSection() bool { return f.children != nil && !f.list }

// schema is the set of all keys.
type schema struct {
	root   *field
	byPath map[string]*field // without the elements of lists
}

func newSchema() *schema {
	s := &schema{byPath: map[string]*field{}}
	s.root = section(reflect.TypeFor[host.Config](), "", nil)
	s.index(s.root)
	return s
}

func (s *schema) index(f *field) {
	for _, child := range f.children {
		s.byPath[child.path] = child
		if child.isSection() {
			s.index(child)
		}
	}
}

func section(t reflect.Type, path string, index []int) *field {
	f := &field{path: path, children: map[string]*field{}}
	for i := range t.NumField() {
		name := t.Field(i).Tag.Get(tagName)
		f.children[name] = node(t.Field(i).Type, join(path, name), append(slices.Clip(index), i))
	}
	return f
}

// node panics on a type that no setting can have: a mistake in host.Config, which any
// test finds.
func node(t reflect.Type, path string, index []int) *field {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return &field{path: path, kind: kindDuration, index: index}
	case t.Kind() == reflect.Struct:
		return section(t, path, index)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return &field{path: path, list: true, children: section(t.Elem(), "", nil).children, index: index}
	case t.Kind() == reflect.Slice:
		return &field{path: path, list: true, kind: node(t.Elem(), path, nil).kind, index: index}
	}
	k, ok := map[reflect.Kind]kind{reflect.String: kindText, reflect.Bool: kindBool, reflect.Int: kindInt, reflect.Float64: kindFloat}[t.Kind()]
	if !ok {
		panic("config: " + path + ": no setting can be a " + t.String())
	}
	return &field{path: path, kind: k, index: index}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// paths lists the keys in order; sections includes the keys of sections.
func (s *schema) paths(sections bool) []string {
	var all []string
	for path, f := range s.byPath {
		if sections || !f.isSection() {
			all = append(all, path)
		}
	}
	slices.Sort(all)
	return all
}

func envName(path string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// byEnv finds the setting of an environment variable, nil if there is none.
func (s *schema) byEnv(name string) *field {
	for path, f := range s.byPath {
		if !f.isSection() && strings.EqualFold(envName(path), name) {
			return f
		}
	}
	return nil
}

func (s *schema) envNames() []string {
	names := s.paths(false)
	for i, path := range names {
		names[i] = envName(path)
	}
	return names
}
