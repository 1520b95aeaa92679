package node

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"troupe/actors/child"
	"troupe/actors/script"
	"troupe/actors/script/realtime"
	"troupe/messages"
)

// files are the unpacked files of one program, in the directory layout of the original (realtime.md 15.1):
//
// root/lock           locked by the host that owns the directory
// root/host/          the JavaScript of the host, which runs the script
// root/game/src/proto empty modules in place of the original's generated classes
// root/game/VERSION/  the script; its working directory
// root/fleet-N/       gamelift-metadata.json of one fleet
//
// The files and directories of the script are read-only.
type files struct {
	root, boot, game string
	lock             *os.File
}

const (
	rootPrefix = "troupe-node-"
	lockName   = "lock"
	sweepAge   = time.Minute // sweep removes a directory that was never locked only if it is at least this old
)

// sweep cleans up in dir after hosts that were killed: it kills their remaining processes and removes their
// files.
func sweep(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), rootPrefix) {
			continue
		}
		info, err := e.Info()
		if err != nil || !own(info) {
			continue
		}
		root := filepath.Join(dir, e.Name())
		left := child.SavedTag(filepath.Join(root, lockName))
		if left == 0 && time.Since(info.ModTime()) < sweepAge {
			continue
		}
		if held, err := lock(filepath.Join(root, lockName)); err == nil {
			if left != 0 {
				child.KillMarked(left, 0)
			}
			(&files{root: root, lock: held}).remove()
		}
	}
}

// unpack writes the files of a version to a new directory in dir. If foreign is true, other users can read
// them.
func unpack(dir, version string, all map[string][]byte, t child.Tag, foreign bool) (f *files, err error) {
	root, err := os.MkdirTemp(dir, rootPrefix)
	if err != nil {
		return nil, err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil { // resolved, because stack traces contain resolved paths
		return nil, err
	}
	f = &files{root: root, boot: filepath.Join(root, "host", "boot.js"), game: filepath.Join(root, "game", versionFolder(version))}
	defer func() {
		if err != nil {
			f.remove()
		}
	}()
	if f.lock, _ = lock(filepath.Join(root, lockName)); f.lock != nil { // without lock support, sweep removes nothing
		t.Save(f.lock)
	}
	if foreign {
		if err := os.Chmod(root, 0o755); err != nil {
			return nil, err
		}
	}
	host := hostFiles()
	host["realtime.js"] = realtime.Source
	for name, text := range host {
		if err := write(filepath.Join(root, "host", name), []byte(text)); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"Packet_pb", "CoreCommands_pb", "GroupMessages_pb"} {
		if err := write(filepath.Join(root, "game", "src", "proto", name+".js"), []byte(emptyJS)); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(f.game, 0o755); err != nil {
		return nil, err
	}
	for name, data := range all {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return nil, fmt.Errorf("file %q is outside of the script's folder", name)
		}
		if err := write(filepath.Join(f.game, filepath.FromSlash(name)), data); err != nil {
			return nil, err
		}
	}
	return f, chmodFolders(f.game, 0o555)
}

// versionFolder converts a version to the name of a directory.
func versionFolder(version string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, version)
	if clean == "" || clean == "src" {
		return "version"
	}
	return clean[:min(len(clean), 64)]
}

func write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o444)
}

func chmodFolders(dir string, mode os.FileMode) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return os.Chmod(path, mode)
	})
}

// metadata writes the file that the original keeps in /local/gamemetadata to a directory for fleet number n,
// and returns the directory.
func (f *files) metadata(fleet *messages.Fleet, n int) (string, error) {
	dir := filepath.Join(f.root, fmt.Sprint("fleet-", n))
	return dir, write(filepath.Join(dir, "gamelift-metadata.json"), script.Metadata(fleet))
}

func (f *files) remove() {
	_ = chmodFolders(filepath.Join(f.root, "game"), 0o755) // a directory whose mode cannot be restored cannot be removed either
	_ = os.RemoveAll(f.root)
	if f.lock != nil {
		_ = f.lock.Close()
	}
}
