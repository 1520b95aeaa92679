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
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits are the limits of one build.
type Limits struct {
	UnpackedMax int64 // bytes of all files; 0: DefaultUnpackedMax
	FilesMax    int   // files and folders; 0: DefaultFilesMax
}

// The limits of builds.
const (
	DefaultUnpackedMax = 4 << 30
	DefaultFilesMax    = 100_000
	// ratioMax limits how many bytes each byte of an archive may become. Executables and maps become 2 to 10.
	ratioMax = 200
	// directoryMax limits the bytes of an archive's directory, which is read into memory: 160 for each file.
	directoryMax = 16 << 20
	pathMax      = 512 // bytes of a path in a build
	depthMax     = 32  // folders of a path in a build
)

// tree writes the files of a build into an empty folder. It enforces the limits and keeps what the digest is made of.
type tree struct {
	limits Limits
	most   int64 // bytes of all files
	root   *os.Root
	owner  *Owner
	stop   <-chan struct{}
	total  int64
	kinds  map[string]kind // by lower-case path
	sums   []fileSum
	buffer []byte
}

type kind struct {
	path   string
	folder bool
}

type fileSum struct {
	path string
	size int64
	sum  [sha256.Size]byte
}

func newTree(root *os.Root, o *Owner, l Limits, stop <-chan struct{}) *tree {
	l.UnpackedMax, l.FilesMax = cmp.Or(l.UnpackedMax, DefaultUnpackedMax), cmp.Or(l.FilesMax, DefaultFilesMax)
	return &tree{limits: l, most: l.UnpackedMax, root: root, owner: o, stop: stop, kinds: make(map[string]kind), buffer: make([]byte, 256<<10)}
}

var errClosed = errors.New("the host is shutting down")

// check returns the clean form of a path, or an error if a build cannot have it.
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
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", errors.New("its path leaves the build's folder (..)")
		}
	}
	if name = path.Clean(name); !filepath.IsLocal(filepath.FromSlash(name)) { // a reserved name of Windows
		return "", errors.New("its name is not one of a file")
	}
	return name, nil
}

// folder makes a folder with its parents, unless it is there.
func (t *tree) folder(name string) error {
	if name == "." {
		return nil
	}
	fresh, err := t.claim(name, true)
	if err != nil || !fresh {
		return err
	}
	if err := t.folder(path.Dir(name)); err != nil {
		return err
	}
	if err := t.root.Mkdir(filepath.FromSlash(name), 0o755); err != nil {
		return err
	}
	return t.own(name, 0o755)
}

// claim reserves a path. fresh is false for a folder that is there already. Paths that differ only in case are refused,
// because they would be the same file on some machines.
func (t *tree) claim(name string, folder bool) (fresh bool, err error) {
	key := strings.ToLower(name)
	old, taken := t.kinds[key]
	switch {
	case !taken && len(t.kinds) >= t.limits.FilesMax:
		return false, fmt.Errorf("there are more than %d files", t.limits.FilesMax)
	case !taken:
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

// file writes a file with its parents. It can be executed, because archives of some systems do not say what can be.
func (t *tree) file(name string, from io.Reader) error {
	if _, err := t.claim(name, false); err != nil {
		return err
	}
	if err := t.folder(path.Dir(name)); err != nil {
		return err
	}
	to, err := t.root.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	s := fileSum{path: name}
	sum := sha256.New()
	if s.size, err = t.copy(to, sum, from); err == nil {
		err = t.own(name, 0o755)
	}
	if closed := to.Close(); err == nil {
		err = closed
	}
	sum.Sum(s.sum[:0])
	t.sums = append(t.sums, s)
	return err
}

// copy copies bytes until the end of from, and no more than the limit. It does not rely on declared sizes.
func (t *tree) copy(to io.Writer, sum hash.Hash, from io.Reader) (n int64, err error) {
	for {
		select {
		case <-t.stop:
			return n, errClosed
		default:
		}
		read, failed := from.Read(t.buffer)
		n += int64(read)
		if t.total += int64(read); t.total > t.most {
			if t.most < t.limits.UnpackedMax {
				return n, fmt.Errorf("the files have more than %d times as many bytes as the archive", ratioMax)
			}
			return n, fmt.Errorf("the files have more than %d bytes together", t.limits.UnpackedMax)
		}
		sum.Write(t.buffer[:read])
		if _, err := to.Write(t.buffer[:read]); err != nil {
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
func (t *tree) own(name string, mode os.FileMode) error {
	if t.owner == nil {
		return nil
	}
	if err := t.root.Chmod(filepath.FromSlash(name), mode); err != nil { // whatever the umask is
		return err
	}
	return t.root.Lchown(filepath.FromSlash(name), int(t.owner.UID), int(t.owner.GID))
}

// digest returns a text that is the same for the same files, in whatever order they came.
func (t *tree) digest() string {
	slices.SortFunc(t.sums, func(a, b fileSum) int { return strings.Compare(a.path, b.path) })
	all := sha256.New()
	for _, s := range t.sums {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(s.size))
		fmt.Fprintf(all, "%d:%s", len(s.path), s.path)
		all.Write(n[:])
		all.Write(s.sum[:])
	}
	return hex.EncodeToString(all.Sum(nil))
}
