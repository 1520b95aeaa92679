package node

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"troupe/actors/child"
	"troupe/actors/script"
	"troupe/actors/script/realtime"
	"troupe/messages"
)

// files are the unpacked files of one program, in the directory layout of the original (realtime.md 15.1):
//
// root/host/          the JavaScript of the host, which runs the script
// root/game/src/proto empty modules in place of the original's generated classes
// root/game/VERSION/  the script; its working directory
// root/fleet-N/       gamelift-metadata.json of one fleet
//
// The files and directories of the script are read-only.
type files struct {
	*child.Folder
	boot, game string
}

const rootPrefix = "troupe-node-"

// sweep cleans up in dir after hosts that were killed: it kills their remaining processes and removes their
// files.
func sweep(dir string) {
	for _, left := range child.LeftFolders(dir, rootPrefix) {
		child.KillMarked(left.Tag, 0)
		(&files{Folder: left}).remove()
	}
}

// unpack writes the files of a version to a new directory in dir. If foreign is true, other users can read
// them.
func unpack(dir, version string, all map[string][]byte, t child.Tag, foreign bool) (f *files, err error) {
	if dir, err = filepath.EvalSymlinks(dir); err != nil { // resolved, because stack traces contain resolved paths
		return nil, err
	}
	folder, err := child.NewFolder(dir, rootPrefix, t)
	if err != nil {
		return nil, err
	}
	root := folder.Path
	f = &files{Folder: folder, boot: filepath.Join(root, "host", "boot.js"), game: filepath.Join(root, "game", versionFolder(version))}
	defer func() {
		if err != nil {
			f.remove()
		}
	}()
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
	dir := filepath.Join(f.Path, fmt.Sprint("fleet-", n))
	return dir, write(filepath.Join(dir, "gamelift-metadata.json"), script.Metadata(fleet))
}

func (f *files) remove() {
	_ = chmodFolders(filepath.Join(f.Path, "game"), 0o755) // a directory whose mode cannot be restored cannot be removed either
	f.Remove()
}
