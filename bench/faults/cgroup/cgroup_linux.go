package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"troupe/actors/child/cgroup"
)

// version holds the folder, the controller and the file names that one version of control groups uses.
type version struct{ folder, controller, limit, peak, events string }

var versions = []version{
	{filepath.Join(cgroup.Root, "memory"), "memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes", "memory.oom_control"},
	{cgroup.Root, "", "memory.max", "memory.peak", "memory.events"},
}

// Group is a control group. Any goroutine may call its methods.
type Group struct {
	version
	home string // folder of this process's own control group
}

// New makes a group that limits the total memory of its processes to most bytes.
func New(most int64) (*Group, error) {
	for _, v := range versions {
		if _, err := os.Stat(filepath.Join(v.folder, "cgroup.procs")); err != nil {
			continue
		}
		g, err := v.make(most)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
		}
		return g, nil
	}
	return nil, ErrUnsupported
}

func (v version) make(most int64) (*Group, error) {
	home, err := v.home()
	if err != nil {
		return nil, err
	}
	g := &Group{v, home}
	if g.folder, err = os.MkdirTemp(v.folder, "troupe-faults-"); err != nil {
		return nil, err
	}
	if err := cgroup.Write(g.folder, g.limit, strconv.FormatInt(most, 10)); err != nil {
		return nil, errors.Join(err, os.Remove(g.folder))
	}
	_ = cgroup.Write(g.folder, "memory.swap.max", "0") // version 2 only; the file does not exist on a system without swap
	return g, nil
}

// home returns the folder of this process's own control group.
func (v version) home() (string, error) {
	groups, err := os.ReadFile(cgroup.File)
	if err != nil {
		return "", err
	}
	group, ok := cgroup.Own(string(groups), v.controller)
	if !ok {
		return "", errors.New("this process is in no control group of the memory")
	}
	if folder := filepath.Join(v.folder, group); isFolder(folder) {
		return folder, nil
	}
	return v.folder, nil // a container sees its own group as the root
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// moving is held while this process is in another group, because a process can be in only one group at a time.
var moving sync.Mutex

// Do calls start, which must start a process; that process then belongs to the group. This process belongs to the group
// too until start returns.
func (g *Group) Do(start func() error) (err error) {
	moving.Lock()
	defer moving.Unlock()
	me := strconv.Itoa(os.Getpid())
	if err := cgroup.Write(g.folder, "cgroup.procs", me); err != nil {
		return fmt.Errorf("enter a control group: %w", err)
	}
	defer func() {
		if back := cgroup.Write(g.home, "cgroup.procs", me); back != nil {
			err = errors.Join(err, fmt.Errorf("leave a control group: %w", back))
		}
	}()
	return start()
}

// Peak returns the highest memory use of the group in bytes, or 0 if the kernel does not report it.
func (g *Group) Peak() int64 {
	text, err := os.ReadFile(filepath.Join(g.folder, g.peak))
	if err != nil {
		return 0 // Linux before 5.19 has no such file
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n
}

// Kills returns how many processes of the group the kernel has killed because memory ran out.
func (g *Group) Kills() (int, error) { return cgroup.Kills(g.folder, g.events) }

// removeMax is how long the kernel may need to release processes that have exited.
const removeMax = 5 * time.Second

// Close removes the group. All its processes must have exited.
func (g *Group) Close() error { return cgroup.Remove(g.folder, removeMax) }
