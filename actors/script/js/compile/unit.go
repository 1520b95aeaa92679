package compile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/dop251/goja"

	"troupe/actors/script/bundle"
)

// Root is the directory of the bundle as scripts see it (realtime.md 15.1).
const Root = "/local/game"

// SourceMax is the maximum size of a source file in bytes.
const SourceMax = 5 << 20

// Unit is a bundle and its compiled files. Its methods are safe for concurrent use.
type Unit struct {
	bundle *bundle.Bundle
	files  map[string]*compiled
	memo   sync.Map
}

type compiled struct {
	once    sync.Once
	program *goja.Program
	err     error
}

// Bundle returns a Unit for the source files of b: .js, .cjs, .mjs, .ts, .cts, .mts, .json, and files without
// an extension. It compiles none of them yet.
func Bundle(b *bundle.Bundle) (*Unit, error) {
	if b == nil || len(b.Files) == 0 {
		return nil, errors.New("the script has no files")
	}
	u := &Unit{bundle: b, files: make(map[string]*compiled)}
	for name := range b.Files {
		switch path.Ext(name) {
		case "", ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".json":
			u.files[name] = new(compiled)
		}
	}
	return u, nil
}

// Files returns the files of the bundle by path. The caller must not modify them.
func (u *Unit) Files() map[string][]byte { return u.bundle.Files }

// NodeVersion returns the version of Node.js that the bundle requests, such as 24.x.
func (u *Unit) NodeVersion() string { return u.bundle.NodeVersion }

// Program compiles a file, given by its path in the bundle. The value of the program is a function that takes
// the pause object (PauseName) and returns the CommonJS function (exports, require, module, __filename,
// __dirname). For a .json file, that function sets module.exports. The error is fs.ErrNotExist if there is no
// such file, and *Error if the file cannot be compiled.
func (u *Unit) Program(name string) (*goja.Program, error) {
	f, ok := u.files[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	f.once.Do(func() { f.program, f.err = source(name, u.bundle.Files[name], u.module(name)) })
	return f.program, f.err
}

// Check compiles all files except those in node_modules, .json files, declarations (.d.ts), and files without
// an extension. It joins their errors.
func (u *Unit) Check() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(u.files)) {
		if ext := path.Ext(name); ext == "" || ext == ".json" || strings.HasSuffix(name, ".d.ts") || strings.Contains("/"+name, "/node_modules/") {
			continue
		}
		if _, err := u.Program(name); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// module reports whether a file is an ES module, by its extension or by the type in the nearest package.json.
func (u *Unit) module(name string) bool {
	switch path.Ext(name) {
	case ".mjs", ".mts":
		return true
	case ".cjs", ".cts", ".json":
		return false
	}
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if data, ok := u.bundle.Files[path.Join(dir, "package.json")]; ok {
			var p struct {
				Type string `json:"type"`
			}
			return json.Unmarshal(trimmed(data), &p) == nil && p.Type == "module"
		}
		if dir == "." || dir == "/" {
			return false
		}
	}
}

func trimmed(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) }

// Memo caches f() under key. Concurrent first calls may call f more than once; all of them return the same
// value.
func (u *Unit) Memo(key string, f func() any) any {
	if v, ok := u.memo.Load(key); ok {
		return v
	}
	v, _ := u.memo.LoadOrStore(key, f())
	return v
}
