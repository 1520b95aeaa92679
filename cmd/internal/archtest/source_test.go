package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// module is the module's path. The import paths of its packages begin with it.
const module = "troupe"

// source is one Go file of the module.
type source struct {
	file      string // path from the module's root, with slashes
	pkg       string // its folder, which is the import path without the module's path; "" for the root
	test      bool   // a _test.go file
	generated bool
	lines     int
	ast       *ast.File
	set       *token.FileSet
	imports   []imported
}

// imported is one import of a file. If own is true, path omits the module's path.
type imported struct {
	path string
	own  bool
	dot  bool
	line int
}

// main reports whether the file belongs to a command.
func (s *source) main() bool { return s.ast.Name.Name == "main" }

func (s *source) at(pos token.Pos) int { return s.set.Position(pos).Line }

// parse parses one file. It ignores build constraints, because files for other platforms must obey the same rules.
func parse(file string, text []byte) (*source, error) {
	s := &source{file: file, set: token.NewFileSet(), test: strings.HasSuffix(file, "_test.go"), lines: bytes.Count(text, []byte("\n"))}
	if s.pkg = path.Dir(file); s.pkg == "." {
		s.pkg = ""
	}
	var err error
	if s.ast, err = parser.ParseFile(s.set, file, text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
		return nil, err
	}
	s.generated = ast.IsGenerated(s.ast)
	for _, i := range s.ast.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		in := imported{path: p, line: s.at(i.Pos()), dot: i.Name != nil && i.Name.Name == "."}
		if p == module || strings.HasPrefix(p, module+"/") {
			in.path, in.own = strings.TrimPrefix(strings.TrimPrefix(p, module), "/"), true
		}
		s.imports = append(s.imports, in)
	}
	return s, nil
}

// load reads all Go files of this module.
func load(t *testing.T) []*source {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	gomod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil || !bytes.HasPrefix(gomod, []byte("module "+module+"\n")) {
		t.Fatalf("%s is not the root of module %s: %v", root, module, err)
	}
	var all []*source
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			base := d.Name()
			if name != root && (base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && name != root {
				return filepath.SkipDir // a separate module
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		s, err := parse(filepath.ToSlash(rel), text)
		if err != nil {
			return err
		}
		all = append(all, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
