package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"
)

// Limits are the configurable limits of a bundle.
type Limits struct {
	UnpackedMax int64 // maximum total size of all files in bytes (service-api.md 2.5); 0 means DefaultUnpackedMax
}

// The limits of all bundles.
const (
	ZipMax             = 5_000_000 // maximum size of an archive in bytes (realtime.md 15.1)
	DefaultUnpackedMax = 50 << 20
	// FilesMax is the maximum number of files, including directory entries of an archive. The AWS SDK for JavaScript has
	// 3,000.
	FilesMax = 10_000
)

const (
	// pathMax is the maximum length of a path in bytes, and depthMax the maximum number of directories in it.
	pathMax  = 512
	depthMax = 32
)

// collector gathers files and enforces the limits. It does not rely on declared sizes.
type collector struct {
	unpackedMax int64
	total       int64
	count       int
	files       map[string][]byte
	kinds       map[string]kind // by lower-case path
}

type kind struct {
	path   string
	folder bool
}

func newCollector(l Limits) *collector {
	return &collector{unpackedMax: cmp.Or(l.UnpackedMax, DefaultUnpackedMax), files: make(map[string][]byte), kinds: make(map[string]kind)}
}

// check returns the cleaned path of a file, or an error if the path is not allowed in a bundle.
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
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", errors.New("its path leaves the script's folder (..)")
		}
	}
	if strings.Count(name, "/") > depthMax {
		return "", fmt.Errorf("its path is more than %d folders deep", depthMax)
	}
	return path.Clean(name), nil
}

// claim reserves a path for a file or directory, and the paths of all its parent directories. Paths that
// differ only in case are refused, because they would be the same file on some machines.
func (c *collector) claim(name string, folder bool) error {
	if c.count++; c.count > FilesMax {
		return fmt.Errorf("there are more than %d files", FilesMax)
	}
	for ; name != "."; name, folder = path.Dir(name), true {
		key := strings.ToLower(name)
		old, taken := c.kinds[key]
		switch {
		case !taken:
			c.kinds[key] = kind{name, folder}
		case old.folder != folder:
			return fmt.Errorf("%s is a file and a folder", name)
		case old.path != name:
			return fmt.Errorf("%s and %s differ in case only", old.path, name)
		case !folder:
			return fmt.Errorf("%s is there twice", name)
		default:
			return nil // the parents are already reserved, too
		}
	}
	return nil
}

func (c *collector) read(name string, from io.Reader) error {
	content, err := io.ReadAll(io.LimitReader(from, c.unpackedMax-c.total+1))
	if err != nil {
		return err
	}
	if c.total += int64(len(content)); c.total > c.unpackedMax {
		return fmt.Errorf("the files are larger than %d bytes together: leave out what the script does not load, such as packages for development", c.unpackedMax)
	}
	c.files[name] = content
	return nil
}

func (c *collector) bundle() (*Bundle, error) {
	for name := range c.files {
		if isScript(name) {
			return &Bundle{Files: c.files}, nil
		}
	}
	return nil, errors.New("there is no script in it: no file that ends with .js")
}
