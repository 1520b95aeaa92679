package modules

import (
	"bytes"
	"errors"
	"path"
	"strings"

	"troupe/actors/script/js/compile"
)

var extensions = []string{".js", ".json", ".cjs", ".mjs", ".ts", ".cts", ".mts"} // tried in this order for a path without an extension

// resolver finds files of a bundle by the rules of CommonJS. Its paths are relative to the bundle.
type resolver struct {
	files map[string][]byte
	memo  func(key string, f func() any) any // see compile.Unit.Memo
}

// notExported is the error for a file that a package does not export.
type notExported string

func (e notExported) Error() string { return string(e) }

var errNotFound = errors.New("cannot find the module")

// inside converts an absolute path, as scripts see it, to a path in the bundle.
func inside(abs string) (name string, ok bool) {
	abs = path.Clean(abs)
	if abs == compile.Root {
		return ".", true
	}
	return strings.CutPrefix(abs, compile.Root+"/")
}

// outside converts a path in the bundle to an absolute path, as scripts see it.
func outside(name string) string { return path.Join(compile.Root, name) }

// resolve returns the file to which request resolves in the file from.
func (r resolver) resolve(request, from string) (name string, err error) {
	dir := path.Dir(from)
	switch {
	case strings.HasPrefix(request, "/"):
		return r.at(request, strings.HasSuffix(request, "/"))
	case request == "." || request == ".." || strings.HasPrefix(request, "./") || strings.HasPrefix(request, "../"):
		return r.at(path.Join(compile.Root, dir, request), strings.HasSuffix(request, "/") || strings.HasSuffix(request, "."))
	}
	for ; ; dir = path.Dir(dir) {
		if path.Base(dir) != "node_modules" {
			modules := path.Join(dir, "node_modules")
			if name, sub, ok := split(request); ok {
				at := path.Join(modules, name)
				if m := r.manifest(at); m != nil && m.Exports != nil {
					return r.exported(at, m.Exports, sub, from)
				}
			}
			if name, ok := r.path(path.Join(modules, request), strings.HasSuffix(request, "/")); ok {
				return name, nil
			}
		}
		if dir == "." {
			return "", errNotFound
		}
	}
}

// at resolves an absolute path.
func (r resolver) at(abs string, folder bool) (string, error) {
	if name, ok := inside(abs); ok {
		if name, ok = r.path(name, folder); ok {
			return name, nil
		}
	}
	return "", errNotFound
}

// path finds a file, a file with an extension added, or the main file of a directory. If folder is true, name
// can only be a directory.
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
	return r.exact(name)
}

func (r resolver) exact(name string) (string, bool) {
	if _, ok := r.files[name]; ok {
		return name, true
	}
	// A TypeScript source imports the .js file that its compiler would write.
	if stem, ok := strings.CutSuffix(name, ".js"); ok {
		if _, ok = r.files[stem+".ts"]; ok {
			return stem + ".ts", true
		}
	}
	return "", false
}

func (r resolver) folder(dir string) (string, bool) {
	if m := r.manifest(dir); m != nil {
		if main, ok := m.Main.(string); ok && main != "" {
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

// imports reports whether a file may have import statements. esbuild converts imports to calls of require.
func (r resolver) imports(name string) bool { return bytes.Contains(r.files[name], []byte("import")) }
