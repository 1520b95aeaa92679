package bundle

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

const (
	encryptedFlag = 1 // bit 0 of an entry's flags (APPNOTE 4.4.4)
	// finderFolder is a directory that macOS adds to archives. Its files have the same names as the real ones
	// but are not scripts.
	finderFolder = "__MACOSX/"
)

// FromZip unpacks an archive in memory. It refuses the whole archive if an entry is not a regular file or
// directory, if a path is not allowed, or if two paths would be the same file on some machine.
func FromZip(data []byte, l Limits) (*Bundle, error) {
	if len(data) > ZipMax {
		return nil, fmt.Errorf("the archive has %d bytes; at most %d are allowed", len(data), ZipMax)
	}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("the archive cannot be read: %w", err)
	}
	c := newCollector(l)
	for _, f := range archive.File {
		if strings.HasPrefix(f.Name, finderFolder) {
			continue
		}
		if err := c.unpack(f); err != nil {
			return nil, fmt.Errorf("archive entry %q: %w", clip(f.Name), err)
		}
	}
	return c.bundle()
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

func (c *collector) unpack(f *zip.File) error {
	path := slashed(f)
	name, err := check(path)
	if err != nil {
		return err
	}
	mode := f.Mode()
	switch {
	case f.Flags&encryptedFlag != 0:
		return errors.New("it is encrypted")
	case mode&fs.ModeSymlink != 0:
		return errors.New("it is a link; pack the file itself")
	case !mode.IsRegular() && !mode.IsDir():
		return errors.New("it is neither a file nor a folder")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return fmt.Errorf("it is compressed by method %d; only stored and deflated files can be read", f.Method)
	}
	folder := mode.IsDir() || strings.HasSuffix(path, "/")
	if name == "." {
		if folder {
			return nil
		}
		return errors.New("it has no name")
	}
	if err := c.claim(name, folder); err != nil || folder {
		return err
	}
	content, err := f.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	return c.read(name, content)
}

// slashed returns the path of an entry with slashes. Compress-Archive of Windows PowerShell 5 separates
// directories with backslashes. Like other unpackers, slashed converts them if the archive claims to have
// been made on MS-DOS or a compatible system (APPNOTE 4.4.2).
func slashed(f *zip.File) string {
	if f.CreatorVersion>>8 == 0 && !strings.Contains(f.Name, "/") {
		return strings.ReplaceAll(f.Name, `\`, "/")
	}
	return f.Name
}

func clip(name string) string {
	if len(name) > 128 {
		return name[:128] + "..."
	}
	return name
}
