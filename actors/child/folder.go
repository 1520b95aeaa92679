package child

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Folder is a folder with the tag of a Keeper. It is locked while the host lives, so a later host knows what a host that
// was killed has left: the files in it, and the processes that carry the tag.
type Folder struct {
	Path string
	Tag  Tag      // 0: its host has started no children
	lock *os.File // nil where folders cannot be locked: LeftFolders returns none there
}

const (
	tagFile = "tag"
	leftAge = time.Minute // a folder without a tag may be about to be locked if it is younger
)

// NewFolder makes a folder in dir for the tag of a Keeper that has started nothing yet. Its name begins with prefix.
func NewFolder(dir, prefix string, t Tag) (f *Folder, err error) {
	f = &Folder{Tag: t}
	if f.Path, err = os.MkdirTemp(dir, prefix); err != nil {
		return nil, err
	}
	if f.lock, _ = lock(f.Path); f.lock == nil {
		return f, nil
	}
	if err := os.WriteFile(filepath.Join(f.Path, tagFile), []byte(strconv.FormatUint(uint64(t), 16)), 0o600); err != nil {
		f.Remove()
		return nil, err
	}
	return f, nil
}

// Remove removes the folder and what is in it.
func (f *Folder) Remove() {
	_ = os.RemoveAll(f.Path)
	if f.lock != nil {
		_ = f.lock.Close()
	}
}

// LeftFolders returns the folders in dir whose hosts have ended without removing them, if they belong to the user of this
// process. They are locked; the caller removes them.
func LeftFolders(dir, prefix string) (left []*Folder) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		info, err := e.Info()
		if err != nil || !own(info) {
			continue
		}
		f := &Folder{Path: filepath.Join(dir, e.Name())}
		if f.lock, err = lock(f.Path); err != nil {
			continue
		}
		text, _ := os.ReadFile(filepath.Join(f.Path, tagFile))
		n, _ := strconv.ParseUint(string(text), 16, tagBits)
		if f.Tag = Tag(n); f.Tag == 0 && time.Since(info.ModTime()) < leftAge {
			_ = f.lock.Close()
			continue
		}
		left = append(left, f)
	}
	return left
}
