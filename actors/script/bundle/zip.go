package bundle

import (
	"archive/zip"
	"bytes"
	"fmt"
	"maps"
	"slices"
)

// FromZip unpacks an archive in memory. It refuses the whole archive if an entry is not a regular file or
// directory, if a path is not allowed, or if two paths would be the same file on some machine.
func FromZip(data []byte, l Limits) (*Bundle, error) {
	if len(data) > ZipMax {
		return nil, fmt.Errorf("the archive has %d bytes; at most %d are allowed", len(data), ZipMax)
	}
	c := newCollector(l)
	return c.bundle(c.tree.FromZip(bytes.NewReader(data), int64(len(data))))
}

// Zip returns an archive of the files. Equal files give equal archives.
func (b *Bundle) Zip() ([]byte, error) {
	var data bytes.Buffer
	w := zip.NewWriter(&data)
	for _, name := range slices.Sorted(maps.Keys(b.Files)) {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err == nil {
			_, err = f.Write(b.Files[name])
		}
		if err != nil {
			return nil, err
		}
	}
	err := w.Close() // writes the directory
	return data.Bytes(), err
}
