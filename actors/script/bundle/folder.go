package bundle

import (
	"fmt"
	"os"
	"path/filepath"
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
	c := newCollector(l)
	c.tree.Lenient = true
	b, err := c.bundle(c.tree.FromFolder(root))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}
