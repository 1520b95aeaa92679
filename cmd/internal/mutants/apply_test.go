package mutants

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mutant is one deliberate bug.
type mutant struct {
	name    string // what the code does wrong
	promise string // id of the promise that the bug breaks, in docs/spec/reliability.md or docs/spec/cluster.md
	file    string // path in the module
	changes []change
	pkg     string // package of the test that must fail
	run     string // -run pattern of the test
	tags    string // build tags of the test
}

// change replaces a text that must occur exactly once in the file.
type change struct{ old, new string }

var errStale = errors.New("the text to replace must occur once in the file")

// apply returns the content of the file with the bug.
func (m *mutant) apply(root string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return nil, err
	}
	text := string(b)
	for _, c := range m.changes {
		if n := strings.Count(text, c.old); n != 1 {
			return nil, fmt.Errorf("%s: %w, and occurs %d times: %q", m.file, errStale, n, c.old)
		}
		text = strings.Replace(text, c.old, c.new, 1)
	}
	return []byte(text), nil
}
