package pages

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"troupe/transport/host"
)

// comments maps the names of types and fields (Config, Config.Region) to their comments.
type comments map[string]string

// readComments reads the comments of the structs in a package's folder.
func readComments(dir string) (comments, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no Go files in %s: %w", dir, err)
	}
	all := comments{}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.TYPE {
				continue
			}
			for _, spec := range decl.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					all.add(t, decl.Doc)
				}
			}
		}
	}
	return all, nil
}

func (c comments) add(t *ast.TypeSpec, doc *ast.CommentGroup) {
	s, ok := t.Type.(*ast.StructType)
	if !ok {
		return
	}
	c[t.Name.Name] = flat(doc.Text())
	for _, f := range s.Fields.List {
		for _, name := range f.Names {
			c[t.Name.Name+"."+name.Name] = flat(strings.TrimSpace(f.Doc.Text() + " " + f.Comment.Text()))
		}
	}
}

func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// node is a section, a list or a setting.
type node struct {
	key      string // for example reconnect.window; inside a list of sections: fleets[].id
	name     string // last part of the key
	text     string // description
	kind     string // type of a setting or of a list's elements: text, true or false, whole number, number, duration; empty for sections
	list     bool
	common   bool     // most operators set it; other settings are for experts
	values   []string // all accepted values; nil: not limited to a list
	fallback any      // default value; nil inside lists
	children []*node
}

// build returns the tree of all keys. It returns an error if a field lacks a comment.
func build(texts comments, defaults host.Config) (*node, error) {
	root := &node{}
	var missing []string
	root.children = fields(texts, reflect.ValueOf(defaults), "", true, &missing)
	if missing != nil {
		return nil, fmt.Errorf("fields without a comment that says what they mean: %s", strings.Join(missing, ", "))
	}
	return root, nil
}

func fields(texts comments, v reflect.Value, path string, known bool, missing *[]string) (all []*node) {
	t := v.Type()
	for i := range t.NumField() {
		f := t.Field(i)
		n := &node{name: f.Tag.Get("config"), text: withoutName(texts[t.Name()+"."+f.Name], f.Name)}
		n.key, n.common = path+n.name, f.Tag.Get("level") == "common"
		if list, ok := f.Tag.Lookup("values"); ok {
			n.values = strings.Split(list, ",")
		}
		if known {
			n.fallback = v.Field(i).Interface()
		}
		inner := f.Type
		if n.list = inner.Kind() == reflect.Slice; n.list {
			inner = inner.Elem()
		}
		switch {
		case inner.Kind() == reflect.Struct && n.list:
			n.children = fields(texts, reflect.Zero(inner), n.key+"[].", false, missing)
		case inner.Kind() == reflect.Struct:
			n.children = fields(texts, v.Field(i), n.key+".", known, missing)
		default:
			n.kind = kindOf(inner)
		}
		if n.children != nil && texts[inner.Name()] != "" { // the meaning of a section is described at its type
			n.text = strings.TrimSpace(sentence(withoutName(texts[inner.Name()], inner.Name())) + " " + sentence(n.text))
		}
		if n.text == "" {
			*missing = append(*missing, t.Name()+"."+f.Name)
		}
		all = append(all, n)
	}
	return all
}

// withoutName removes the name of the field or type from the beginning of its comment.
func withoutName(text, name string) string {
	rest, ok := strings.CutPrefix(text, name+" ")
	if !ok {
		return text
	}
	for _, verb := range []string{"is ", "are ", "configures ", "configure "} {
		rest = strings.TrimPrefix(rest, verb)
	}
	return rest
}

// sentence capitalises the first letter of a text and adds a full stop if there is none.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

const (
	text     = "text"
	boolean  = "true or false"
	whole    = "whole number"
	number   = "number"
	duration = "duration"
)

func kindOf(t reflect.Type) string {
	if t == reflect.TypeFor[time.Duration]() {
		return duration
	}
	return map[reflect.Kind]string{reflect.String: text, reflect.Bool: boolean, reflect.Int: whole, reflect.Float64: number}[t.Kind()]
}

// durationText formats a duration in its shortest form: 5m, not 5m0s.
func durationText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
