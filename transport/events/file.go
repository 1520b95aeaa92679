package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

const (
	defaultFileBytesMax = 64 << 20
	defaultFiles        = 4
)

// file appends events to a file, one per line. When the file is full, it is renamed to name.1, name.1 to
// name.2, and so on. The oldest file is removed.
type file struct {
	path     string
	bytesMax int64
	files    int
	origin   origin

	open *os.File
	size int64
}

func newFile(o SinkOptions, from origin) *file {
	return &file{path: o.Path, bytesMax: cmp.Or(o.FileBytesMax, defaultFileBytesMax), files: cmp.Or(o.Files, defaultFiles), origin: from}
}

// deliver writes a line and syncs it. On an error the file is unchanged.
func (f *file) deliver(_ context.Context, i *item) error {
	line := append(f.origin.render(&i.event), '\n')
	if err := f.ready(int64(len(line))); err != nil {
		return err
	}
	_, err := f.open.Write(line)
	if err == nil {
		err = f.open.Sync()
	}
	if err != nil {
		_ = f.open.Truncate(f.size) // if this fails, ready repairs the line when it opens the file again
		f.close()
		return err
	}
	f.size += int64(len(line))
	return nil
}

// ready opens the file. If n more bytes do not fit, it begins a new file.
func (f *file) ready(n int64) error {
	f.follow()
	if f.open == nil {
		if err := f.begin(); err != nil {
			return err
		}
	}
	if f.size == 0 || f.size+n <= f.bytesMax {
		return nil
	}
	f.close()
	if err := f.rotate(); err != nil {
		return err
	}
	return f.begin()
}

// follow closes the file if another process, for example logrotate, has renamed or removed it. The next line
// then goes to a new file with the configured name.
func (f *file) follow() {
	if f.open == nil {
		return
	}
	named, err := os.Stat(f.path)
	mine, failed := f.open.Stat()
	if err != nil || failed != nil || !os.SameFile(named, mine) {
		f.close()
		return
	}
	f.size = mine.Size() // smaller than before if another process truncated the file (copytruncate)
}

func (f *file) begin() (err error) {
	if f.open, err = os.OpenFile(f.path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600); err != nil {
		f.open = nil
		return err
	}
	info, err := f.open.Stat()
	if err != nil {
		f.close()
		return err
	}
	if f.size = info.Size(); f.size == 0 { // the file may be new: its name must be durable before its lines
		if err = syncFolder(filepath.Dir(f.path)); err != nil {
			f.close()
		}
		return err
	}
	last := make([]byte, 1)
	if _, err = f.open.ReadAt(last, f.size-1); err == nil && last[0] != '\n' { // a crash has cut off the last line
		_, err = f.open.Write([]byte("\n"))
		f.size++
	}
	if err != nil {
		f.close()
	}
	return err
}

// syncFolder makes the names in a folder durable, on systems that can sync a folder.
func syncFolder(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

func (f *file) rotate() error {
	if f.files == 1 {
		return os.Remove(f.path)
	}
	for n := f.files - 1; n > 1; n-- {
		err := os.Rename(fmt.Sprintf("%s.%d", f.path, n-1), fmt.Sprintf("%s.%d", f.path, n))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Rename(f.path, f.path+".1")
}

func (f *file) close() {
	if f.open != nil {
		_ = f.open.Close() // all lines are already synced
		f.open = nil
	}
}
