package modules

import (
	"encoding/json"
	"path"
	"strings"

	"troupe/actors/script/js/compile"
)

// extensions are tried in this order for a path without one.
var extensions = []string{".js", ".json", ".cjs", ".mjs", ".ts", ".cts", ".mts"}

// resolver finds files of a bundle as CommonJS does. Paths are those of the bundle,
// without a slash at the start.
type resolver struct {
	files map[string][]byte
}

// inside turns a script's absolute path into one of the bundle.
func inside(abs string) (name string, ok bool) {
	abs = path.Clean(abs)
	if abs == compile.Root {
		return ".", true
	}
	return strings.CutPrefix(abs, compile.Root+"/")
}

// resolve returns the file that request means in a file of folder dir.
func (r resolver) resolve(request, dir string) (name string, ok bool) {
	switch {
	case strings.HasPrefix(request, "/"):
		name, ok = inside(request)
		if !ok {
			return "", false
		}
		return r.path(name, strings.HasSuffix(request, "/"))
	case request == "." || request == ".." || strings.HasPrefix(request, "./") || strings.HasPrefix(request, "../"):
		name, ok = inside(path.Join(compile.Root, dir, request))
		if !ok {
			return "", false
		}
		return r.path(name, strings.HasSuffix(request, "/") || strings.HasSuffix(request, "."))
	}
	for ; ; dir = path.Dir(dir) {
		if path.Base(dir) != "node_modules" {
			if name, ok = r.path(path.Join(dir, "node_modules", request), false); ok {
				return name, true
			}
			if name, ok = r.exported(path.Join(dir, "node_modules"), request); ok {
				return name, true
			}
		}
		if dir == "." {
			return "", false
		}
	}
}

// path finds a file, a file with an extension added, or the main file of a folder.
func (r resolver) path(name string, folder bool) (string, bool) {
	if !folder {
		if found, ok := r.file(name); ok {
			return found, true
		}
	}
	return r.folder(name)
}

func (r resolver) file(name string) (string, bool) {
	if _, ok := r.files[name]; ok {
		return name, true
	}
	for _, ext := range extensions {
		if _, ok := r.files[name+ext]; ok {
			return name + ext, true
		}
	}
	// TypeScript names the file that would be emitted.
	if stem, ok := strings.CutSuffix(name, ".js"); ok {
		if _, ok = r.files[stem+".ts"]; ok {
			return stem + ".ts", true
		}
	}
	return "", false
}

func (r resolver) folder(dir string) (string, bool) {
	var p manifest
	if r.manifest(dir, &p) {
		if target, ok := p.target("."); ok {
			if found, ok := r.file(path.Join(dir, target)); ok {
				return found, true
			}
		}
		if main, ok := p.Main.(string); ok && main != "" {
			at := path.Join(dir, main)
			if found, ok := r.file(at); ok {
				return found, true
			}
			if found, ok := r.file(path.Join(at, "index")); ok {
				return found, true
			}
		}
	}
	return r.file(path.Join(dir, "index"))
}

// exported finds a path inside a package that its package.json gives another place.
func (r resolver) exported(modules, request string) (string, bool) {
	parts := strings.SplitN(request, "/", 3)
	n := 1
	if strings.HasPrefix(request, "@") {
		n = 2
	}
	if len(parts) <= n {
		return "", false
	}
	dir := path.Join(modules, path.Join(parts[:n]...))
	var p manifest
	if !r.manifest(dir, &p) {
		return "", false
	}
	target, ok := p.target("./" + strings.Join(parts[n:], "/"))
	if !ok {
		return "", false
	}
	return r.file(path.Join(dir, target))
}

// manifest is what of a package.json matters here.
type manifest struct {
	Main    any `json:"main"`
	Exports any `json:"exports"`
}

func (r resolver) manifest(dir string, p *manifest) bool {
	data, ok := r.files[path.Join(dir, "package.json")]
	return ok && json.Unmarshal([]byte(strings.TrimPrefix(string(data), "\ufeff")), p) == nil
}

// target returns what exports says of a sub-path.
func (p *manifest) target(sub string) (string, bool) {
	exports := p.Exports
	if m, ok := exports.(map[string]any); ok {
		for key := range m {
			if strings.HasPrefix(key, ".") {
				exports, ok = m[sub]
				if !ok {
					return "", false
				}
				return condition(exports, 0)
			}
		}
	}
	if sub != "." {
		return "", false
	}
	return condition(exports, 0)
}

// condition picks from conditional exports.
func condition(v any, depth int) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case map[string]any:
		// The order of keys is lost, so the most fitting goes first.
		for _, key := range []string{"node", "require", "default", "import"} {
			if next, ok := v[key]; ok && depth < 10 {
				if found, ok := condition(next, depth+1); ok {
					return found, true
				}
			}
		}
	case []any:
		for _, next := range v {
			if found, ok := condition(next, depth+1); ok && depth < 10 {
				return found, true
			}
		}
	}
	return "", false
}
