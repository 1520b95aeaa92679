package filetree

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

const (
	encryptedFlag = 1           // bit 0 of an entry's flags (APPNOTE 4.4.4)
	finderFolder  = "__MACOSX/" // macOS adds this folder to archives; nothing in it belongs to the script or build
	// directoryMax limits the bytes of an archive's directory, which is read into memory: 160 for each file of a large build.
	directoryMax = 16 << 20
)

// FromZip passes on the files of an archive. An error of File or Folder is returned with the name of the entry.
func (t *Tree) FromZip(from io.ReaderAt, size int64) error {
	d := &directory{ReaderAt: from, filesMax: t.FilesMax, left: directoryMax}
	z, err := zip.NewReader(d, size)
	if err != nil {
		return fmt.Errorf("the archive cannot be read: %w", err)
	}
	d.opened = true
	for _, f := range z.File {
		if strings.HasPrefix(f.Name, finderFolder) {
			continue
		}
		if err := t.entry(f); err != nil {
			return fmt.Errorf("archive entry %q: %w", Clip(f.Name), err)
		}
	}
	return nil
}

func (t *Tree) entry(f *zip.File) error {
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
		return errNoFile
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return fmt.Errorf("it is compressed by method %d; only stored and deflated files can be read", f.Method)
	case mode.IsDir() || strings.HasSuffix(path, "/"):
		return t.folder(name)
	case name == ".":
		return errors.New("it has no name")
	}
	return t.file(name, f.Open)
}

// slashed returns the path of an entry with slashes. Compress-Archive of Windows PowerShell 5 separates folders by
// backslashes. Like other unpackers, slashed converts them if the archive claims to have been made on MS-DOS or a
// compatible system (APPNOTE 4.4.2).
func slashed(f *zip.File) string {
	if f.CreatorVersion>>8 == 0 && !strings.Contains(f.Name, "/") {
		return strings.ReplaceAll(f.Name, `\`, "/")
	}
	return f.Name
}

// directory limits the memory that zip.NewReader takes until it has opened an archive: what it reads becomes many small
// objects, and it reserves 8 bytes for each file that the archive claims to have, as long as 30 bytes of the archive's size
// are there for each.
type directory struct {
	io.ReaderAt
	filesMax int
	left     int // bytes
	opened   bool
}

// ReadAt implements io.ReaderAt.
func (d *directory) ReadAt(p []byte, off int64) (int, error) {
	n, err := d.ReaderAt.ReadAt(p, off)
	if d.opened {
		return n, err
	}
	if d.left -= len(p); d.left < 0 {
		return 0, fmt.Errorf("its directory has more than %d bytes", directoryMax)
	}
	// The number of files in a zip64 end of central directory record (APPNOTE 4.3.14). The record without zip64 has 16 bits.
	if n >= 40 && string(p[:4]) == "PK\x06\x06" {
		if claimed := binary.LittleEndian.Uint64(p[32:]); claimed > uint64(d.filesMax) {
			return 0, fmt.Errorf("it claims to have %d files; at most %d are allowed", claimed, d.filesMax)
		}
	}
	return n, err
}
