package builds

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"troupe/actors/filetree"
)

// Limits are the limits of one build.
type Limits struct {
	UnpackedMax int64 // bytes of all files and folders, of which each counts as entryMin at least; 0: DefaultUnpackedMax
	FilesMax    int   // files and folders; 0: DefaultFilesMax
}

// The limits of builds.
const (
	DefaultUnpackedMax = 4 << 30
	DefaultFilesMax    = 100_000
	// ratioMax limits how many bytes each byte of an archive may become. Executables and maps become 2 to 10.
	ratioMax = 200
	// entryMin is about what a file or folder without bytes takes on a disk.
	entryMin = 4 << 10
)

// writer writes the files of a build into an empty folder. It enforces the limits on bytes, and keeps what the digest is
// made of.
type writer struct {
	tree   filetree.Tree
	limits Limits
	most   int64 // counted bytes
	over   error // the reason if there are more
	ratio  int64 // bytes of all files of an archive
	root   *os.Root
	owner  *Owner
	stop   <-chan struct{}
	total  int64 // bytes of all files
	taken  int64 // counted bytes
	sums   []fileSum
	made   []string // folders
	buffer []byte
}

type fileSum struct {
	path string
	size int64
	sum  [sha256.Size]byte
}

func newWriter(root *os.Root, o *Owner, l Limits, stop <-chan struct{}) *writer {
	l.UnpackedMax, l.FilesMax = cmp.Or(l.UnpackedMax, DefaultUnpackedMax), cmp.Or(l.FilesMax, DefaultFilesMax)
	w := &writer{limits: l, most: l.UnpackedMax, ratio: math.MaxInt64, root: root, owner: o, stop: stop, buffer: make([]byte, 256<<10)}
	w.over = fmt.Errorf("the files have more than %d bytes together; each file and folder counts as %d at least", l.UnpackedMax, entryMin)
	w.tree = filetree.Tree{FilesMax: l.FilesMax, File: w.file, Folder: w.folder}
	return w
}

// archive writes the files of a zip archive.
func (w *writer) archive(from io.ReaderAt, size int64) error {
	if size > w.limits.UnpackedMax {
		return fmt.Errorf("the archive has %d bytes; at most %d are allowed", size, w.limits.UnpackedMax)
	}
	w.ratio = size * ratioMax
	return w.filled(w.tree.FromZip(from, size))
}

// filled returns an error if there are no files, or that of the tree.
func (w *writer) filled(failed error) error {
	if failed == nil && len(w.sums) == 0 {
		return errors.New("there are no files in it")
	}
	return failed
}

var errClosed = errors.New("the host is shutting down")

// take counts bytes.
func (w *writer) take(n int64) error {
	if w.taken += n; w.taken > w.most {
		return w.over
	}
	return nil
}

func (w *writer) folder(name string) error {
	if err := w.take(entryMin); err != nil {
		return err
	}
	if err := w.root.Mkdir(filepath.FromSlash(name), 0o755); err != nil {
		return err
	}
	w.made = append(w.made, name)
	return w.own(name)
}

// syncFolder makes the names in a folder durable, and closes it. Windows cannot sync folders.
func syncFolder(dir *os.File, err error) error {
	if err != nil {
		return err
	}
	if runtime.GOOS != "windows" {
		err = dir.Sync()
	}
	return errors.Join(err, dir.Close())
}

// file writes a file. It can be executed, because archives of some systems do not say what can be.
func (w *writer) file(name string, from io.Reader) error {
	if err := w.take(entryMin); err != nil {
		return err
	}
	to, err := w.root.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	s := fileSum{path: name}
	sum := sha256.New()
	if s.size, err = w.copy(to, sum, from); err == nil {
		err = w.own(name)
	}
	if err == nil {
		err = syncFile(to)
	}
	if closed := to.Close(); err == nil {
		err = closed
	}
	sum.Sum(s.sum[:0])
	w.sums = append(w.sums, s)
	return err
}

// copy copies bytes until the end of from, and no more than the limit. It does not rely on declared sizes.
func (w *writer) copy(to io.Writer, sum hash.Hash, from io.Reader) (n int64, err error) {
	for {
		select {
		case <-w.stop:
			return n, errClosed
		default:
		}
		read, failed := from.Read(w.buffer)
		n += int64(read)
		if w.total += int64(read); w.total > w.ratio {
			return n, fmt.Errorf("the files have more than %d times as many bytes as the archive", ratioMax)
		}
		if err := w.take(max(0, min(int64(read), n-entryMin))); err != nil {
			return n, err
		}
		sum.Write(w.buffer[:read])
		if _, err := to.Write(w.buffer[:read]); err != nil {
			return n, err
		}
		switch {
		case failed == io.EOF:
			return n, nil
		case failed != nil:
			return n, failed
		}
	}
}

// own hands a file or folder over to the user that runs the processes.
func (w *writer) own(name string) error {
	if w.owner == nil {
		return nil
	}
	if err := w.root.Chmod(filepath.FromSlash(name), 0o755); err != nil { // whatever the umask is
		return err
	}
	return w.root.Lchown(filepath.FromSlash(name), int(w.owner.UID), int(w.owner.GID))
}

// digest returns a text that is the same for the same files, in whatever order they came.
func (w *writer) digest() string {
	slices.SortFunc(w.sums, func(a, b fileSum) int { return strings.Compare(a.path, b.path) })
	all := sha256.New()
	for _, s := range w.sums {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(s.size))
		fmt.Fprintf(all, "%d:%s", len(s.path), s.path)
		all.Write(n[:])
		all.Write(s.sum[:])
	}
	return hex.EncodeToString(all.Sum(nil))
}
