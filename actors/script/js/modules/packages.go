package modules

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
)

// manifest is what of a package.json matters here.
type manifest struct {
	Name    any     `json:"name"`
	Main    any     `json:"main"`
	Exports ordered `json:"exports"`
	Imports ordered `json:"imports"`
}

// manifest returns that of a folder; nil: it has none.
func (r resolver) manifest(dir string) *manifest {
	data, ok := r.files[path.Join(dir, "package.json")]
	if !ok {
		return nil
	}
	read := func() any {
		m := new(manifest)
		if json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), m) != nil {
			return (*manifest)(nil)
		}
		return m
	}
	if r.memo == nil {
		return read().(*manifest)
	}
	return r.memo("manifest "+dir, read).(*manifest)
}

// scope returns the folder of the package that dir is in, and its manifest; nil: it is
// in none.
func (r resolver) scope(dir string) (string, *manifest) {
	for path.Base(dir) != "node_modules" {
		if _, ok := r.files[path.Join(dir, "package.json")]; ok {
			return dir, r.manifest(dir)
		}
		if dir == "." {
			break
		}
		dir = path.Dir(dir)
	}
	return "", nil
}

// self returns the sub-path of a request that names the package itself. Only one with
// exports can be named so.
func (m *manifest) self(request string) (sub string, ok bool) {
	if m == nil || m.Exports.value == nil {
		return "", false
	}
	name, _ := m.Name.(string)
	rest, ok := strings.CutPrefix(request, name)
	return "." + rest, ok && name != "" && (rest == "" || rest[0] == '/')
}

// split parts a request into a package and the path in it, which begins with a point.
func split(request string) (name, sub string, ok bool) {
	end := strings.IndexByte(request, '/')
	if strings.HasPrefix(request, "@") {
		if end < 0 {
			return "", "", false
		}
		if next := strings.IndexByte(request[end+1:], '/'); next >= 0 {
			end += 1 + next
		} else {
			end = -1
		}
	}
	name = request
	if end >= 0 {
		name, sub = request[:end], request[end:]
	}
	return name, "." + sub, name != "" && name[0] != '.' && !strings.ContainsAny(name, `\%`)
}

// ordered is a JSON value whose objects keep the order of their keys: the first
// condition that holds counts.
type ordered struct{ value any }

type (
	object []member
	member struct {
		key   string
		value any
	}
)

func (o object) get(key string) (any, bool) {
	for _, m := range o {
		if m.key == key {
			return m.value, true
		}
	}
	return nil, false
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *ordered) UnmarshalJSON(data []byte) (err error) {
	o.value, err = next(json.NewDecoder(bytes.NewReader(data)))
	return err
}

// next reads a value. It is as deep as encoding/json lets it be.
func next(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := next(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	case json.Delim('{'):
		o := object{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := next(d)
			if err != nil {
				return nil, err
			}
			o = append(o, member{key.(string), v})
		}
		_, err = d.Token()
		return o, err
	}
	return t, nil
}

// mapping is one use of exports or imports.
type mapping struct {
	resolver
	dir   string // of the package
	field string // "exports" or "imports"
	key   string // that matched
	star  string // what * stands for
	from  string // the file that asks
	esm   bool   // the conditions are those of import, not of require
}

var (
	errUndefined = errors.New("nothing is said of it")
	errHidden    = errors.New("it is null")
)

// conditionsMax bounds how deep conditions and lists are.
const conditionsMax = 100

// exported returns the file that exports has for a sub-path, for the file that asks.
func (r resolver) exported(dir string, exports any, sub, from string) (string, error) {
	table, ok := exports.(object)
	points := 0
	for _, m := range table {
		if strings.HasPrefix(m.key, ".") {
			points++
		}
	}
	_, text := exports.(string)
	_, list := exports.([]any)
	switch {
	case points > 0 && points < len(table):
		return "", wrong("ERR_INVALID_PACKAGE_CONFIG", dir, "exports", sub)
	case text, list, ok && points == 0:
		table = object{{".", exports}}
	}
	name, err := r.mapped(mapping{resolver: r, dir: dir, field: "exports", from: from}, table, sub, from)
	if err == errUndefined || err == errHidden {
		return "", wrong("ERR_PACKAGE_PATH_NOT_EXPORTED", dir, "exports", sub)
	}
	return name, err
}

// imported is exported for imports, which the package's own files use.
func (r resolver) imported(dir string, imports any, request, from string) (string, error) {
	if request == "#" || strings.HasPrefix(request, "#/") || strings.HasSuffix(request, "/") {
		return "", wrong("ERR_INVALID_MODULE_SPECIFIER", dir, "imports", request)
	}
	table, _ := imports.(object)
	name, err := r.mapped(mapping{resolver: r, dir: dir, field: "imports", from: from}, table, request, from)
	if err == errUndefined || err == errHidden {
		return "", wrong("ERR_PACKAGE_IMPORT_NOT_DEFINED", dir, "imports", request)
	}
	return name, err
}

// wrong is the error of a request that a package's exports or imports do not answer.
func wrong(code, dir, field, request string) error {
	class := "Error"
	if field == "imports" && code != "ERR_INVALID_PACKAGE_TARGET" || code == "ERR_INVALID_MODULE_SPECIFIER" {
		class = "TypeError"
	}
	return &unresolved{class, code, fmt.Sprintf("Cannot find '%s' by %q in %s", request, field, outside(path.Join(dir, "package.json")))}
}

// mapped looks a key up: itself, or the pattern that has most of it before its star.
func (r resolver) mapped(m mapping, table object, key, from string) (name string, err error) {
	v, ok := table.get(key)
	if m.key = key; !ok || strings.Contains(key, "*") || strings.HasSuffix(key, "/") {
		m.key = ""
		for _, x := range table {
			before, after, ok := strings.Cut(x.key, "*")
			if !ok || strings.Contains(after, "*") || len(key) < len(x.key) || !strings.HasPrefix(key, before) || !strings.HasSuffix(key, after) {
				continue
			}
			if best := strings.IndexByte(m.key, '*'); m.key == "" || cmp.Or(cmp.Compare(len(before), best), cmp.Compare(len(x.key), len(m.key))) > 0 {
				v, m.key, m.star = x.value, x.key, key[len(before):len(key)-len(after)]
			}
		}
		if m.key == "" {
			return "", errUndefined
		}
	}
	name, err = m.target(v, 0)
	if (err == errUndefined || err == errHidden) && r.imports(from) {
		// A require of Node does not look there; an import that was made one has to.
		m.esm = true
		name, err = m.target(v, 0)
	}
	return name, err
}

// holds reports whether a condition is ours.
func (m *mapping) holds(condition string) bool {
	switch condition {
	case "node", "node-addons", "module-sync", "default":
		return true
	}
	return condition == "require" && !m.esm || condition == "import" && m.esm
}

// target returns the file that a value means.
func (m *mapping) target(v any, depth int) (name string, err error) {
	if depth > conditionsMax {
		return "", errUndefined
	}
	switch v := v.(type) {
	case nil:
		return "", errHidden
	case string:
		return m.file(v)
	case object:
		for _, x := range v {
			if m.holds(x.key) {
				if name, err = m.target(x.value, depth+1); err != errUndefined {
					return name, err
				}
			}
		}
		return "", errUndefined
	case []any:
		if err = errUndefined; len(v) == 0 {
			err = errHidden
		}
		for _, x := range v {
			found, failed := m.target(x, depth+1)
			var wrong *unresolved
			switch {
			case failed == errUndefined:
			case failed == errHidden || errors.As(failed, &wrong) && wrong.code == "ERR_INVALID_PACKAGE_TARGET":
				err = failed
			default:
				return found, failed
			}
		}
		return "", err
	}
	return "", m.invalid()
}

// file returns the file that a target names; one of imports may also name a package.
func (m *mapping) file(target string) (string, error) {
	whole := target
	if strings.Contains(m.key, "*") {
		whole = strings.ReplaceAll(target, "*", m.star)
	}
	inner, ok := strings.CutPrefix(target, "./")
	if !ok {
		if m.field == "imports" && !strings.HasPrefix(target, "../") && !strings.HasPrefix(target, "/") && !strings.Contains(target, ":") {
			return m.bare(whole)
		}
		return "", m.invalid()
	}
	if climbs(inner) {
		return "", m.invalid()
	}
	if climbs(m.star) {
		return "", wrong("ERR_INVALID_MODULE_SPECIFIER", m.dir, m.field, m.key)
	}
	name := path.Join(m.dir, whole)
	if found, ok := m.exact(name); ok {
		return found, nil
	}
	return "", gone(name)
}

// gone is the error of a file that a package names and does not have.
func gone(name string) error {
	return &unresolved{"Error", "MODULE_NOT_FOUND", fmt.Sprintf("Cannot find module '%s'", outside(name))}
}

// has reports whether a folder is there.
func (r resolver) has(dir string) bool {
	for name := range r.files {
		if strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// climbs reports whether a path has segments that lead out of a package.
func climbs(p string) bool {
	for _, part := range strings.FieldsFunc(p, func(c rune) bool { return c == '/' || c == '\\' }) {
		part = strings.NewReplacer("%2e", ".").Replace(strings.ToLower(part))
		if part == "." || part == ".." || part == "node_modules" {
			return true
		}
	}
	return false
}

// bare returns the main file of another package, or what lies at a path in it.
func (m *mapping) bare(request string) (string, error) {
	if _, ok := builtins[request]; ok || absent[request] {
		return "node:" + request, nil
	}
	name, sub, ok := split(request)
	if !ok {
		return "", errNotFound
	}
	for dir := m.dir; ; dir = path.Dir(dir) {
		if at := path.Join(dir, "node_modules", name); path.Base(dir) != "node_modules" {
			if p := m.manifest(at); p != nil && p.Exports.value != nil {
				return m.exported(at, p.Exports.value, sub, m.from)
			}
			found, ok := m.exact(path.Join(at, sub))
			if sub == "." {
				found, ok = m.folder(at)
			}
			if ok {
				return found, nil
			}
			if m.has(at) {
				return "", gone(path.Join(at, sub))
			}
		}
		if dir == "." {
			return "", errNotFound
		}
	}
}

// invalid is the error of a target that no package may have.
func (m *mapping) invalid() error { return wrong("ERR_INVALID_PACKAGE_TARGET", m.dir, m.field, m.key) }
