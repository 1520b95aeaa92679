package filetree

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Tree passes on the files of one archive or folder. The paths are relative and clean, and use slashes. An error of File or
// Folder ends it.
type Tree struct {
	FilesMax int  // files and folders
	Lenient  bool // skip what a folder may have, but the tree may not: hidden files, pipes, links that lead out of it or into a loop
	// File gets each file, after the folders that it is in. Folder gets each folder, after those that it is in; it may be nil.
	File   func(name string, content io.Reader) error
	Folder func(name string) error

	kinds map[string]kind // by lower-case path
}

type kind struct {
	path   string
	folder bool
}

const (
	pathMax  = 512 // bytes of a path
	depthMax = 32  // folders of a path
)

// check returns the clean form of a path, or an error if it is not allowed.
func check(name string) (string, error) {
	switch {
	case name == "":
		return "", errors.New("it has no name")
	case len(name) > pathMax:
		return "", fmt.Errorf("its path is longer than %d bytes", pathMax)
	case !utf8.ValidString(name):
		return "", errors.New("its name is not UTF-8")
	case strings.ContainsRune(name, 0):
		return "", errors.New("its name holds a zero byte")
	case strings.Contains(name, `\`):
		return "", errors.New("its path has a backslash; folders are parted by /")
	case name[0] == '/':
		return "", errors.New("its path is absolute")
	case len(name) > 1 && name[1] == ':':
		return "", errors.New("its path has a drive letter")
	case strings.Count(name, "/") > depthMax:
		return "", fmt.Errorf("its path is more than %d folders deep", depthMax)
	case slices.Contains(strings.Split(name, "/"), ".."):
		return "", errors.New("its path leaves its folder (..)")
	}
	if name = path.Clean(name); !filepath.IsLocal(filepath.FromSlash(name)) { // a reserved name of Windows
		return "", errors.New("its name is not one of a file")
	}
	return name, nil
}

// claim reserves a path. fresh is false for a folder that is there already. Paths that differ only in case are refused,
// because they would be the same file on some machines.
func (t *Tree) claim(name string, folder bool) (fresh bool, err error) {
	key := strings.ToLower(name)
	old, taken := t.kinds[key]
	switch {
	case !taken && len(t.kinds) >= t.FilesMax:
		return false, fmt.Errorf("there are more than %d files and folders", t.FilesMax)
	case !taken:
		if t.kinds == nil {
			t.kinds = make(map[string]kind)
		}
		t.kinds[key] = kind{name, folder}
		return true, nil
	case old.folder != folder:
		return false, fmt.Errorf("%s is a file and a folder", name)
	case old.path != name:
		return false, fmt.Errorf("%s and %s differ in case only", old.path, name)
	case !folder:
		return false, fmt.Errorf("%s is there twice", name)
	}
	return false, nil
}

// folder passes on a folder with its parents, unless it was passed on before.
func (t *Tree) folder(name string) error {
	if name == "." {
		return nil
	}
	fresh, err := t.claim(name, true)
	if err != nil || !fresh {
		return err
	}
	if err := t.folder(path.Dir(name)); err != nil || t.Folder == nil {
		return err
	}
	return t.Folder(name)
}

// file passes on a file. It closes what open returns.
func (t *Tree) file(name string, open func() (io.ReadCloser, error)) error {
	if _, err := t.claim(name, false); err != nil {
		return err
	}
	if err := t.folder(path.Dir(name)); err != nil {
		return err
	}
	content, err := open()
	if err != nil {
		return err
	}
	defer content.Close()
	return t.File(name, content)
}

// FromFolder passes on the files of a folder. root prevents reads outside of it, even if links change meanwhile. Links
// become what they lead to.
func (t *Tree) FromFolder(root *os.Root) error { return t.walk(root, ".", nil) }

// walk passes on one folder. above has its ancestors, so that a link to one of them does not cause an endless recursion.
func (t *Tree) walk(root *os.Root, name string, above []fs.FileInfo) error {
	dir, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	self, err := dir.Stat()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(above, func(f fs.FileInfo) bool { return os.SameFile(f, self) }) {
		if t.Lenient {
			return nil
		}
		return fmt.Errorf("%q: it is a link to a folder that it is in", Clip(name))
	}
	above = append(above[:len(above):len(above)], self)
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if t.Lenient && e.Name()[0] == '.' {
			continue
		}
		name := path.Join(name, e.Name())
		folder, err := t.found(root, name, e.Type()&fs.ModeSymlink != 0)
		if err != nil {
			return fmt.Errorf("%q: %w", Clip(name), err)
		}
		if folder {
			if err := t.walk(root, name, above); err != nil {
				return err
			}
		}
	}
	return nil
}

// found passes on what a folder has, without what is in it.
func (t *Tree) found(root *os.Root, name string, link bool) (folder bool, err error) {
	info, err := root.Stat(filepath.FromSlash(name))
	switch {
	case err != nil && link && t.Lenient: // it leads out of the tree, or to nothing
		return false, nil
	case err != nil:
		return false, err
	case info.IsDir() || info.Mode().IsRegular(): // checked before it is opened: a pipe would block
	case t.Lenient:
		return false, nil
	default:
		return false, errNoFile
	}
	if _, err := check(name); err != nil {
		return false, err
	}
	if info.IsDir() {
		return true, t.folder(name)
	}
	return false, t.file(name, func() (io.ReadCloser, error) { return root.Open(filepath.FromSlash(name)) })
}

var errNoFile = errors.New("it is neither a file nor a folder")

// Clip returns a name as an error shows it: at most 128 bytes of it.
func Clip(name string) string {
	if len(name) > 128 {
		return strings.ToValidUTF8(name[:128], "") + "..."
	}
	return name
}
