package node

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"troupe/actors/script"
	"troupe/actors/script/realtime"
	"troupe/messages"
)

// files are the unpacked files of one program, in the layout of the original (realtime.md 15.1):
//
//	root/lock           held by the host that it belongs to
//	root/host/          what runs the script
//	root/game/src/proto modules in the place of the original's generated classes
//	root/game/VERSION/  the script, its working directory
//	root/fleet-N/       gamelift-metadata.json of one fleet
//
// Files and folders of the script are read-only.
type files struct {
	root, boot, game string
	lock             *os.File
}

const (
	rootPrefix = "troupe-node-"
	lockName   = "lock"
	sweepAge   = time.Minute // the least age of a folder that was never locked, when sweep removes it
)

// sweep ends the processes and removes the files that hosts that were killed have left in dir.
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
		left := savedTag(filepath.Join(root, lockName))
		if left == 0 && time.Since(info.ModTime()) < sweepAge {
			continue
		}
		if held, err := lock(filepath.Join(root, lockName)); err == nil {
			if left != 0 {
				killMarked(left, 0)
			}
			(&files{root: root, lock: held}).remove()
		}
	}
}

// unpack writes a version below dir, readable for other users if foreign.
func unpack(dir, version string, all map[string][]byte, t tag, foreign bool) (f *files, err error) {
	root, err := os.MkdirTemp(dir, rootPrefix)
	if err != nil {
		return nil, err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil { // as stacks name the files
		return nil, err
	}
	f = &files{root: root, boot: filepath.Join(root, "host", "boot.js"), game: filepath.Join(root, "game", versionFolder(version))}
	defer func() {
		if err != nil {
			f.remove()
		}
	}()
	if f.lock, _ = lock(filepath.Join(root, lockName)); f.lock != nil { // without locks, nobody sweeps
		t.save(f.lock)
	}
	if foreign {
		if err := os.Chmod(root, 0o755); err != nil {
			return nil, err
		}
	}
	for name, text := range map[string]string{"boot.js": bootJS, "shim.js": shimJS, "realtime.js": realtime.Source} {
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

// versionFolder is a version as the name of a folder.
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

// metadata writes what the original keeps in /local/gamemetadata of a fleet, into a folder of its own, and returns that.
func (f *files) metadata(fleet *messages.Fleet, n int) (string, error) {
	dir := filepath.Join(f.root, fmt.Sprint("fleet-", n))
	return dir, write(filepath.Join(dir, "gamelift-metadata.json"), script.Metadata(fleet))
}

func (f *files) remove() {
	_ = chmodFolders(filepath.Join(f.root, "game"), 0o755) // what cannot be changed back cannot be removed either
	_ = os.RemoveAll(f.root)
	if f.lock != nil {
		_ = f.lock.Close()
	}
}
