package config

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"troupe/transport/host"
)

// tagName is the struct tag that contains a field's part of the key.
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
	kind kind // kind of a setting, or of the elements of a list of settings; otherwise 0
	list bool
	// fields of a section, or of the elements of a list of sections, by name
	children map[string]*field
	// index is the field index in host.Config, or in the element of a list
	index []int
}

func (f *field) isSection() bool { return f.children != nil && !f.list }

// schema is the set of all keys.
type schema struct {
	root   *field
	byPath map[string]*field // excludes the keys inside lists
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

// node returns the field for a type. It panics on a type that no setting can have. Such a mistake in host.Config makes
// every test fail.
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

// paths returns the sorted keys of all settings, and of all sections if sections is true.
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

// byEnv returns the setting for an environment variable, or nil if there is none.
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
