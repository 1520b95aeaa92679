package modules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// manifest is what of a package.json matters here.
type manifest struct {
	Main    any `json:"main"`
	Exports any `json:"exports"`
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
	return r.memo("manifest "+dir, read).(*manifest)
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

// Conditions of exports that hold, the first one first, whatever their order in package.json.
var (
	requires = []string{"node", "require", "default"}
	imports  = []string{"node", "import", "default"}
)

// exported returns the file that exports has for a sub-path, for the file that asks.
func (r resolver) exported(dir string, exports any, sub, from string) (string, error) {
	table, ok := exports.(map[string]any)
	if !ok || !slices.ContainsFunc(slices.Collect(maps.Keys(table)), func(key string) bool { return strings.HasPrefix(key, ".") }) {
		table = map[string]any{".": exports}
	}
	value, star := exportOf(table, sub)
	target := targetOf(value, requires)
	if target == "" && r.imports(from) {
		// A require of Node does not look there; an import that was made one has to.
		target = targetOf(value, imports)
	}
	inner, ok := strings.CutPrefix(target, "./")
	if ok && !climbs(inner) && !climbs(star) {
		if found, ok := r.exact(path.Join(dir, strings.ReplaceAll(inner, "*", star))); ok {
			return found, nil
		}
	}
	return "", notExported(fmt.Sprintf("Cannot find '%s' by \"exports\" in %s", sub, outside(path.Join(dir, "package.json"))))
}

// exportOf looks a sub-path up: itself, or the pattern that has most of it before its star.
func exportOf(table map[string]any, sub string) (value any, star string) {
	if v, ok := table[sub]; ok && !strings.Contains(sub, "*") {
		return v, ""
	}
	best := -1
	for _, key := range slices.Sorted(maps.Keys(table)) {
		before, after, ok := strings.Cut(key, "*")
		if ok && len(before) > best && len(sub) >= len(key) && strings.HasPrefix(sub, before) && strings.HasSuffix(sub, after) {
			best, value, star = len(before), table[key], sub[len(before):len(sub)-len(after)]
		}
	}
	return value, star
}

// targetOf returns the path that a value means under conditions; empty: none. JSON is not nested deeper than 10,000.
func targetOf(v any, conditions []string) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		for _, x := range v {
			if target := targetOf(x, conditions); target != "" {
				return target
			}
		}
	case map[string]any:
		for _, c := range conditions {
			if x, ok := v[c]; ok {
				if target := targetOf(x, conditions); target != "" {
					return target
				}
			}
		}
	}
	return ""
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
