package newgame

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"troupe/messages/lazy"
)

//go:embed template
var templates embed.FS

// types is a copy of docs/scripts/troupe.d.ts. A test compares the two.
//
//go:embed troupe.d.ts
var types []byte

// names matches names that are valid for folders on every system and, in lower case, for npm packages.
var names = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Write writes a new game into a folder, which must be empty or not exist yet. The last part of the path is the game's
// name. If typescript is true, the script is in TypeScript. If Write fails, it removes everything that it has created.
func Write(dir string, typescript bool) (err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	name := filepath.Base(abs)
	if !names().MatchString(name) || strings.HasSuffix(name, ".") {
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

// empty returns an error unless dir is empty or does not exist.
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

// render returns the content of the files by their slash-separated path.
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

// write writes files into a folder. If it fails, it removes what it has written.
func write(dir string, files map[string][]byte) (err error) {
	var made []string // files and folders, in the order of their creation
	defer func() {
		if err == nil {
			return
		}
		for i := range made {
			_ = os.Remove(made[len(made)-1-i]) // ignore the error: the first error is reported
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
