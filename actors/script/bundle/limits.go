package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"troupe/actors/filetree"
)

// Limits are the configurable limits of a bundle.
type Limits struct {
	UnpackedMax int64 // maximum total size of all files in bytes (service-api.md 2.5); 0 means DefaultUnpackedMax
	FilesMax    int   // maximum number of files and directories; 0 means FilesMax
}

// The limits of all bundles.
const (
	ZipMax             = 5_000_000 // maximum size of an archive in bytes (realtime.md 15.1)
	DefaultUnpackedMax = 50 << 20
	// FilesMax is the default of Limits.FilesMax. The AWS SDK for JavaScript has 3,000.
	FilesMax = 10_000
)

// collector gathers files and enforces the limits. It does not rely on declared sizes.
type collector struct {
	tree        filetree.Tree
	unpackedMax int64
	total       int64
	files       map[string][]byte
}

func newCollector(l Limits) *collector {
	c := &collector{unpackedMax: cmp.Or(l.UnpackedMax, DefaultUnpackedMax), files: make(map[string][]byte)}
	c.tree = filetree.Tree{FilesMax: cmp.Or(l.FilesMax, FilesMax), File: c.read}
	return c
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

// bundle returns the files that the tree has passed on, unless that failed.
func (c *collector) bundle(failed error) (*Bundle, error) {
	if failed != nil {
		return nil, failed
	}
	for name := range c.files {
		if isScript(name) {
			return &Bundle{Files: c.files}, nil
		}
	}
	return nil, errors.New("there is no script in it: no file that ends with .js")
}
