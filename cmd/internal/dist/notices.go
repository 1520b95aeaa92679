package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// noticesFile contains the licences of Go and of all modules that a binary contains on any platform.
const noticesFile = "cmd/troupe/THIRD_PARTY_NOTICES"

// notices writes noticesFile. If check is true, it returns an error instead if the file is not current.
func notices(check bool, platforms []string) error {
	modules, err := linked("./cmd/troupe", platforms)
	if err != nil {
		return err
	}
	b := bytes.NewBufferString(head)
	if err := errors.Join(goLicence(b), write(b, modules), embeddedLicences(b, ".")); err != nil {
		return err
	}
	text := b.Bytes()
	if !check {
		return os.WriteFile(noticesFile, text, 0o644)
	}
	have, err := os.ReadFile(noticesFile)
	if err != nil {
		return err
	}
	if !bytes.Equal(have, text) {
		return fmt.Errorf("%s is not current: make notices", noticesFile)
	}
	return nil
}

// module is a module that has packages in the binary.
type module struct {
	path, version, dir string
	packages           map[string]bool // their directories
}

// linked returns the modules that a package depends on, on any of the platforms. The result excludes this module and is
// sorted by path.
func linked(pkg string, platforms []string) ([]*module, error) {
	found := map[string]*module{}
	for _, platform := range platforms {
		goos, goarch, ok := strings.Cut(platform, "/")
		if !ok {
			return nil, fmt.Errorf("platform %q is not like linux/amd64", platform)
		}
		if err := list(pkg, goos, goarch, found); err != nil {
			return nil, err
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *module) int { return strings.Compare(a.path, b.path) }), nil
}

func list(pkg, goos, goarch string, found map[string]*module) error {
	cmd := exec.Command("go", "list", "-deps", "-json=Dir,Module", pkg)
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list for %s/%s: %w", goos, goarch, err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir    string
			Module *struct {
				Path, Version, Dir string
				Main               bool
			}
		}
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case p.Module == nil || p.Module.Main: // the standard library, or this project
			continue
		}
		m := found[p.Module.Path]
		if m == nil {
			m = &module{path: p.Module.Path, version: p.Module.Version, dir: p.Module.Dir, packages: map[string]bool{}}
			found[m.path] = m
		}
		m.packages[p.Dir] = true
	}
}

// repeatedMax is the maximum length in bytes of a licence that is repeated for every module. Longer texts, like the
// Apache License, are the same in many modules and are printed once.
const repeatedMax = 4 << 10

const head = `Troupe is licensed under the Apache License 2.0. Its binaries are linked from the Go
standard library and from the modules below, each under the terms that follow it.
Made by "make notices"; do not edit.
`

// write writes the licences of modules. It returns an error if a module has none.
func write(b *bytes.Buffer, modules []*module) error {
	first := map[string]string{} // where each long text was printed, by text
	for _, m := range modules {
		files, err := m.licences()
		if err != nil {
			return err
		}
		if len(files) == 0 {
			return fmt.Errorf("%s %s has no licence file", m.path, m.version)
		}
		section(b, m.path+" "+m.version)
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(m.dir, name)
			if err != nil {
				return err
			}
			body, here := clean(text), filepath.ToSlash(rel)+" of "+m.path
			if before := first[body]; before != "" {
				body = "The same text as " + before + ", above.\n"
			} else if len(body) > repeatedMax {
				first[body] = here
			}
			fmt.Fprintf(b, "--- %s\n\n%s\n", filepath.ToSlash(rel), body)
		}
	}
	return nil
}

// embedded lists third-party works that are not Go modules: files of this repository that the binary embeds.
var embedded = []struct{ title, file string }{
	{"uPlot 1.6.32, in the report of troupe bench", "bench/page/uplot/LICENSE"},
}

// embeddedLicences writes the licences of embedded. root is the folder of the repository.
func embeddedLicences(b *bytes.Buffer, root string) error {
	for _, e := range embedded {
		text, err := os.ReadFile(filepath.Join(root, e.file))
		if err != nil {
			return err
		}
		section(b, e.title)
		fmt.Fprintf(b, "--- LICENSE\n\n%s\n", clean(text))
	}
	return nil
}

// goLicence writes the licence of Go's standard library, which is the same in all versions.
func goLicence(b *bytes.Buffer) error {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "LICENSE"))
	if err != nil {
		return err
	}
	section(b, "Go, its standard library and runtime")
	fmt.Fprintf(b, "--- LICENSE\n\n%s\n", clean(text))
	return nil
}

func section(b *bytes.Buffer, title string) {
	fmt.Fprintf(b, "\n%s\n%s\n\n", strings.Repeat("=", 80), title)
}

// clean converts all line ends to \n and makes the text end with exactly one.
func clean(text []byte) string {
	return strings.TrimRight(strings.ReplaceAll(string(text), "\r\n", "\n"), " \n\t\f") + "\n"
}

// licences returns the licence files of a module: those in its root, and those in the folders between the root and the
// linked packages.
func (m *module) licences() ([]string, error) {
	dirs := map[string]bool{m.dir: true}
	for dir := range m.packages {
		for dir != m.dir && strings.HasPrefix(dir, m.dir) {
			dirs[dir] = true
			dir = filepath.Dir(dir)
		}
	}
	var files []string
	for dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.Type().IsRegular() && isLicence(e.Name()) {
				files = append(files, filepath.Join(dir, e.Name()))
			}
		}
	}
	slices.Sort(files)
	return files, nil
}

func isLicence(name string) bool {
	name = strings.ToUpper(name)
	if ext := filepath.Ext(name); ext == ".GO" || ext == ".PNG" || ext == ".SVG" {
		return false
	}
	return slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS", "COPYRIGHT"}, func(word string) bool {
		return strings.HasPrefix(name, word)
	})
}
