package js

import (
	"sync"

	"github.com/dop251/goja"

	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/actors/script/js/compile"
	"troupe/actors/script/js/engine"
)

// Program is one version of a script, compiled once for all game sessions. It is safe for concurrent use.
type Program struct {
	unit    *compile.Unit
	entry   string
	version string
	limits  script.Limits

	noted  sync.Once
	places map[string]place // where callbacks begin, by name
}

type place struct {
	file string
	row  int
}

// New returns a program whose entry is the file of a launch path (Bundle.Entry). It compiles only the entry.
// Other files are compiled when they are required.
func New(b *bundle.Bundle, entry string, limits script.Limits) (*Program, error) {
	name, err := b.Entry(entry)
	if err != nil {
		return nil, err
	}
	unit, err := compile.Bundle(b)
	if err != nil {
		return nil, err
	}
	if _, err := unit.Program(name); err != nil {
		return nil, err
	}
	return &Program{unit: unit, entry: name, version: b.Version, limits: limits}, nil
}

func (p *Program) Version() string { return p.version }
func (p *Program) Close()          {}

func (p *Program) NewHandler(process script.Process) (script.Handler, error) {
	return newHandler(p, process), nil
}

// notePlaces records where callbacks begin, for the log message about a call that cannot be interrupted: no
// other goroutine may read its runtime.
func (p *Program) notePlaces(callbacks *goja.Object) {
	p.noted.Do(func() {
		p.places = make(map[string]place)
		for o := callbacks; o != nil && !isProxy(o); o = o.Prototype() {
			members := engine.Members(o)
			if members == nil {
				return
			}
			for name, v := range members {
				for _, f := range engine.Objects(v, engine.Value) {
					if _, known := p.places[name.String()]; known {
						continue
					}
					if file, row, ok := engine.Place(f); ok {
						p.places[name.String()] = place{file, row}
					}
				}
			}
		}
	})
}

// rejectionsFatal reports whether an unhandled rejection ends the process, as it does since Node.js 15
// (realtime.md 18.3).
func (p *Program) rejectionsFatal() bool { return p.unit.NodeVersion() != "10.x" }
