package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	Root = "/sys/fs/cgroup"    // where all distributions mount the groups
	File = "/proc/self/cgroup" // the groups of this process
)

// Own returns the path of a process's group below the root of a hierarchy: that of a controller of version 1, or with ""
// that of version 2. groups has the format of File.
func Own(groups, controller string) (path string, ok bool) {
	for line := range strings.Lines(groups) {
		_, line, _ = strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, found := strings.Cut(line, ":")
		if found && slices.Contains(strings.Split(controllers, ","), controller) {
			return path, true
		}
	}
	return "", false
}

// Write writes to a file of a group.
func Write(folder, file, text string) error {
	return os.WriteFile(filepath.Join(folder, file), []byte(text), 0o644)
}

// Kills returns how many processes of a group the kernel has killed because memory ran out. It reads oom_kill of a file,
// which is memory.events, or memory.oom_control in version 1.
func Kills(folder, file string) (int, error) {
	text, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(line, "oom_kill "); ok {
			return strconv.Atoi(strings.TrimSpace(n))
		}
	}
	return 0, errors.New("the kernel does not count whom it kills")
}

// Remove removes a group. Its processes may still be ending, for so long.
func Remove(folder string, wait time.Duration) (err error) {
	for end := time.Now().Add(wait); ; time.Sleep(10 * time.Millisecond) {
		if err = os.Remove(folder); err == nil || errors.Is(err, fs.ErrNotExist) || time.Now().After(end) {
			return err
		}
	}
}
