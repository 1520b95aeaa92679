package js

import (
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/dop251/goja"

	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/actors/script/realtime"
)

// gameRoot is where the original unpacks scripts (realtime.md 15.1).
const gameRoot = "/local/game/"

// Program is one version of a script.
type Program struct {
	bundle *bundle.Bundle
	entry  string
	limits script.Limits

	mu    sync.Mutex
	files map[string]*goja.Program
}

var _ script.Program = (*Program)(nil)

// New returns the program whose entry is the file that a launch path names:
// /local/game/Name.js or Name.js. It fails if that file is not there or a file
// cannot be compiled.
func New(b *bundle.Bundle, entry string, limits script.Limits) (*Program, error) {
	p := &Program{bundle: b, entry: strings.TrimPrefix(path.Clean(entry), gameRoot), limits: limits, files: map[string]*goja.Program{}}
	if _, err := p.compiled(p.entry); err != nil {
		return nil, err
	}
	return p, nil
}

// Version implements script.Program.
func (p *Program) Version() string { return p.bundle.Version }

// Close implements script.Program.
func (p *Program) Close() {}

// NewHandler implements script.Program.
func (p *Program) NewHandler(process script.Process) (script.Handler, error) {
	return &Handler{program: p, process: process}, nil
}

func wrapped(name, source string) (*goja.Program, error) {
	return goja.Compile(name, "(function (exports, require, module, __filename, __dirname) {"+source+"\n})", false)
}

func (p *Program) compiled(file string) (*goja.Program, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.files[file]; c != nil {
		return c, nil
	}
	source, ok := p.bundle.Files[file]
	if !ok {
		return nil, fmt.Errorf("no file %s in the script", file)
	}
	c, err := wrapped(gameRoot+file, strings.TrimPrefix(string(source), "\ufeff"))
	if err == nil {
		p.files[file] = c
	}
	return c, err
}

var glueProgram = sync.OnceValue(func() *goja.Program {
	c, err := wrapped(realtime.Name, realtime.Source)
	if err != nil {
		panic(err) // a test runs it
	}
	return c
})
