package tlsconf

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
)

// CheckPrivate returns an error if users other than the owner have access to a secret file. what describes
// the content in the error, as in "this secret". One exception: a group may read a file that belongs to root
// if this process is in the group, unless it is root's group. Kubernetes mounts secrets in this way.
func CheckPrivate(name, what string, info fs.FileInfo) error {
	mode := info.Mode().Perm()
	if runtime.GOOS == "windows" || mode&0o077 == 0 {
		return nil
	}
	owner, group, known := ownerOf(info)
	groups, _ := os.Getgroups()
	if known && private(mode, owner, group, os.Geteuid(), append(groups, os.Getegid())) {
		return nil
	}
	return fmt.Errorf("%s: users other than its owner can open %s (permissions %04o): chmod 600 it, and replace the content if others may have read it", name, what, mode)
}

func private(mode fs.FileMode, owner, group, user int, groups []int) bool {
	return mode&0o037 == 0 && owner == 0 && user != 0 && group != 0 && slices.Contains(groups, group)
}
