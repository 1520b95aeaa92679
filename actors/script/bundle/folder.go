package bundle

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// FromPath reads a script from disk. The path is that of a .zip archive, a directory, or a file. For a file,
// FromPath reads its whole directory, because the file may require others in it. It skips hidden files and
// directories, and symbolic links that lead out of the directory.
func FromPath(name string, l Limits) (*Bundle, error) {
	b, err := fromPath(name, l)
	if err == nil {
		b.Local = true
	}
	return b, err
}

func fromPath(name string, l Limits) (*Bundle, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	switch {
	case info.IsDir():
		return fromFolder(name, l)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is neither a file nor a folder", name)
	case strings.EqualFold(filepath.Ext(name), ".zip"):
		if info.Size() > ZipMax {
			return nil, fmt.Errorf("%s has %d bytes; at most %d are allowed", name, info.Size(), ZipMax)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		b, err := FromZip(data, l)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return b, nil
	case !isScript(name):
		return nil, fmt.Errorf("%s is no script: it must end with %s or .zip, or be a folder", name, strings.Join(extensions, ", "))
	}
	b, err := fromFolder(filepath.Dir(name), l)
	if err != nil {
		return nil, fmt.Errorf("%w; give the script a folder of its own", err)
	}
	return b, nil
}

func fromFolder(name string, l Limits) (*Bundle, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	w := walk{collector: newCollector(l), root: root}
	var b *Bundle
	if err = w.folder(".", nil); err == nil {
		b, err = w.bundle()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

// walk reads a directory tree. root prevents reads outside the tree, even if symbolic links change meanwhile.
type walk struct {
	*collector
	root *os.Root
}

// folder adds the contents of a directory. above contains its ancestors, so that a link to one of them does
// not cause endless recursion.
func (w *walk) folder(name string, above []fs.FileInfo) error {
	dir, err := w.root.Open(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	self, err := dir.Stat()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(above, func(f fs.FileInfo) bool { return os.SameFile(f, self) }) {
		return nil
	}
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if err := w.entry(path.Join(name, e.Name()), e.Type(), append(above[:len(above):len(above)], self)); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) entry(name string, mode fs.FileMode, above []fs.FileInfo) error {
	if mode&fs.ModeSymlink != 0 {
		info, err := w.root.Stat(name)
		if err != nil {
			return nil // the link leads out of the tree, or its target does not exist
		}
		mode = info.Mode().Type()
	}
	if !mode.IsDir() && !mode.IsRegular() {
		return nil
	}
	if _, err := check(name); err != nil {
		return fmt.Errorf("%q: %w", clip(name), err)
	}
	if err := w.claim(name, mode.IsDir()); err != nil {
		return err
	}
	if mode.IsDir() {
		return w.folder(name, above)
	}
	file, err := w.root.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := w.read(name, file); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
