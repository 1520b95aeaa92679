package builds

import (
	"archive/zip"
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
	"sync/atomic"
)

const (
	encryptedFlag = 1           // bit 0 of an entry's flags (APPNOTE 4.4.4)
	finderFolder  = "__MACOSX/" // macOS adds this folder to archives; nothing in it belongs to the build
)

// archive writes the files of a zip archive.
func (t *tree) archive(from io.ReaderAt, size int64) error {
	if size > t.limits.UnpackedMax {
		return fmt.Errorf("the archive has %d bytes; at most %d are allowed", size, t.limits.UnpackedMax)
	}
	bounded := &directory{ReaderAt: from}
	bounded.left.Store(directoryMax)
	z, err := zip.NewReader(bounded, size)
	if err != nil {
		return fmt.Errorf("the archive cannot be read: %w", err)
	}
	bounded.read.Store(true)
	if most := size * ratioMax; size < t.limits.UnpackedMax/ratioMax {
		t.most = most
	}
	for _, f := range z.File {
		if strings.HasPrefix(f.Name, finderFolder) {
			continue
		}
		if err := t.entry(f); err != nil {
			return fmt.Errorf("archive entry %q: %w", clip(f.Name), err)
		}
	}
	return t.filled()
}

func (t *tree) entry(f *zip.File) error {
	name := slashed(f)
	clean, err := check(name)
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
	case mode.IsDir() || strings.HasSuffix(name, "/"):
		return t.folder(clean)
	case clean == ".":
		return errors.New("it has no name")
	}
	content, err := f.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	return t.file(clean, content)
}

// filled returns an error if there are no files.
func (t *tree) filled() error {
	if len(t.sums) == 0 {
		return errors.New("there are no files in it")
	}
	return nil
}

// directory limits what zip.NewReader reads, which becomes many small objects in memory.
type directory struct {
	io.ReaderAt
	left atomic.Int64
	read atomic.Bool // the directory has been read
}

// ReadAt implements io.ReaderAt.
func (d *directory) ReadAt(p []byte, off int64) (int, error) {
	if !d.read.Load() && d.left.Add(-int64(len(p))) < 0 {
		return 0, fmt.Errorf("its directory has more than %d bytes", directoryMax)
	}
	return d.ReaderAt.ReadAt(p, off)
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

func clip(name string) string { return clipTo(name, 128) }

func clipTo(text string, most int) string {
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}

// copyFolder writes the files of a folder. from prevents reads outside of it, even if links change meanwhile. Links that
// lead out of it are refused; others become what they lead to.
func (t *tree) copyFolder(from *os.Root) error {
	if err := t.copyFrom(from, ".", nil); err != nil {
		return err
	}
	return t.filled()
}

// copyFrom writes one folder. above has its ancestors, so that a link to one of them does not cause an endless recursion.
func (t *tree) copyFrom(from *os.Root, name string, above []fs.FileInfo) error {
	dir, err := from.Open(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	self, err := dir.Stat()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(above, func(f fs.FileInfo) bool { return os.SameFile(f, self) }) {
		return fmt.Errorf("%s: it is a link to a folder that it is in", clip(name))
	}
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if err := t.copyEntry(from, path.Join(name, e.Name()), append(above[:len(above):len(above)], self)); err != nil {
			return err
		}
	}
	return nil
}

func (t *tree) copyEntry(from *os.Root, name string, above []fs.FileInfo) error {
	if _, err := check(name); err != nil {
		return fmt.Errorf("%q: %w", clip(name), err)
	}
	info, err := from.Stat(filepath.FromSlash(name))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", clip(name), err)
	case info.IsDir():
		if err := t.folder(name); err != nil {
			return fmt.Errorf("%s: %w", clip(name), err)
		}
		return t.copyFrom(from, name, above)
	case !info.Mode().IsRegular(): // checked before it is opened: a pipe would block
		return fmt.Errorf("%s: it is neither a file nor a folder", clip(name))
	}
	file, err := from.Open(filepath.FromSlash(name))
	if err != nil {
		return fmt.Errorf("%s: %w", clip(name), err)
	}
	defer file.Close()
	if err := t.file(name, file); err != nil {
		return fmt.Errorf("%s: %w", clip(name), err)
	}
	return nil
}
