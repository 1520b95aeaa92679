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

// manifest contains the fields of a package.json that require uses.
type manifest struct {
	Main    any `json:"main"`
	Exports any `json:"exports"`
}

// manifest returns the manifest of a directory, or nil if there is none.
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

// split splits a request into the package name and the path inside the package. The path begins with a dot.
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

// Conditions that match in exports, by priority. The order of the keys in package.json does not matter.
var (
	requires = []string{"node", "require", "default"}
	imports  = []string{"node", "import", "default"}
)

// exported returns the file to which exports maps a sub-path. from is the file that requires it.
func (r resolver) exported(dir string, exports any, sub, from string) (string, error) {
	table, ok := exports.(map[string]any)
	if !ok || !slices.ContainsFunc(slices.Collect(maps.Keys(table)), func(key string) bool { return strings.HasPrefix(key, ".") }) {
		table = map[string]any{".": exports}
	}
	value, star := exportOf(table, sub)
	target := targetOf(value, requires)
	if target == "" && r.imports(from) {
		// Node.js does not use the import condition for a require call, but esbuild may have created this one
		// from an import.
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

// exportOf looks up a sub-path: first itself, then the pattern with the longest prefix before its star. star
// is the text that the star matches.
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

// targetOf returns the path to which a value resolves under the given conditions, or "" if there is none. It
// recurses; the JSON decoder limits the depth to 10,000 levels.
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

func climbs(p string) bool {
	for _, part := range strings.FieldsFunc(p, func(c rune) bool { return c == '/' || c == '\\' }) {
		part = strings.NewReplacer("%2e", ".").Replace(strings.ToLower(part))
		if part == "." || part == ".." || part == "node_modules" {
			return true
		}
	}
	return false
}
