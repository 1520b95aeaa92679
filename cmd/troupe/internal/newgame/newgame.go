package newgame

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

//go:embed template
var templates embed.FS

// types are those of docs/scripts/troupe.d.ts; a test compares them.
//
//go:embed troupe.d.ts
var types []byte

// names that folders may have on each system, and packages of npm but for capital letters.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Write writes a new game into a folder, which must not exist or be empty, and whose last part is the game's name. With
// typescript, the script is in TypeScript. If it returns an error, it leaves nothing behind that was not there before.
func Write(dir string, typescript bool) (err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	name := filepath.Base(abs)
	if !names.MatchString(name) || strings.HasSuffix(name, ".") {
		return fmt.Errorf("%q is no name for a game: it must have 1 to 64 letters, digits, dots, dashes and underscores, begin with a letter or digit, and not end with a dot", name)
	}
	if err := empty(dir); err != nil {
		return err
	}
	files, err := render(name, typescript)
	if err != nil {
		return err
	}
	return write(dir, files)
}

// empty returns an error if something is in the way.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%s is in the way: %w", dir, err)
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty: name a new folder", dir)
	}
	return nil
}

// render returns the files by name, with slashes.
func render(name string, typescript bool) (map[string][]byte, error) {
	kind, main := "js", "main.js"
	if typescript {
		kind, main = "ts", "main.ts"
	}
	fill := strings.NewReplacer("{{name}}", name, "{{package}}", strings.ToLower(name), "{{main}}", main)
	files := map[string][]byte{"server/troupe.d.ts": types}
	for _, part := range []string{"common", kind} {
		below, err := fs.Sub(templates, path.Join("template", part))
		if err != nil {
			return nil, err
		}
		err = fs.WalkDir(below, ".", func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := fs.ReadFile(below, file)
			files[file] = []byte(fill.Replace(string(text)))
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// write writes files into a folder, all or none.
func write(dir string, files map[string][]byte) (err error) {
	var made []string // files and folders, in the order in which they were made
	defer func() {
		if err == nil {
			return
		}
		for i := range made {
			_ = os.Remove(made[len(made)-1-i]) // what cannot be removed stays: the first error says why
		}
	}()
	folder := func(name string) error {
		for missing := []string{name}; len(missing) > 0; {
			last := missing[len(missing)-1]
			switch err := os.Mkdir(last, 0o755); {
			case err == nil:
				made, missing = append(made, last), missing[:len(missing)-1]
			case errors.Is(err, fs.ErrExist):
				missing = missing[:len(missing)-1]
			case errors.Is(err, fs.ErrNotExist) && filepath.Dir(last) != last:
				missing = append(missing, filepath.Dir(last))
			default:
				return err
			}
		}
		return nil
	}
	if err := folder(dir); err != nil {
		return err
	}
	for name, text := range files {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := folder(filepath.Dir(to)); err != nil {
			return err
		}
		f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		made = append(made, to)
		_, err = f.Write(text)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}
