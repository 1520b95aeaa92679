package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"troupe/actors/child/cgroup"
	"troupe/messages"
)

// groups makes control groups of version 2 for processes with limits. The zero value is ready for use.
type groups struct {
	mu   sync.Mutex
	root string // folder of the groups; empty until the first is made; guarded by mu
	err  error  // why there are none; guarded by mu
	last int    // number of the newest group; guarded by mu
}

const (
	tasksMax  = 1000                   // processes and threads of a server
	cpuPeriod = 100_000                // microseconds
	endTime   = 200 * time.Millisecond // how long killed processes may keep their group
)

// group is the control group of one process. A nil group is that of the host.
type group struct {
	dir  string
	open *os.File
}

// take makes a group for a process, or returns nil if it has neither limits nor a user of its own.
func (g *groups) take(of *messages.GameServer) (*group, error) {
	if of.MemoryMax == 0 && of.CPUs == 0 && of.User == "" {
		return nil, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.root == "" && g.err == nil {
		base, err := ownBase()
		if err == nil {
			g.root, err = makeRoot(base, os.Getpid())
		}
		g.err = err
	}
	if g.err != nil {
		return nil, g.err
	}
	g.last++
	return makeGroup(filepath.Join(g.root, strconv.Itoa(g.last)), of)
}

func ownBase() (string, error) {
	text, err := os.ReadFile(cgroup.File)
	if err != nil {
		return "", err
	}
	return baseOf(cgroup.Root, string(text))
}

// baseOf returns the folder of the host's own group, by the contents of its /proc/self/cgroup.
func baseOf(mount, own string) (string, error) {
	path, ok := cgroup.Own(own, "")
	if !ok {
		return "", errors.New("this system has no control groups of version 2")
	}
	return filepath.Join(mount, filepath.FromSlash(path)), nil
}

// makeRoot makes the folder for groups in that of the host's own group. A group may not have both processes and groups with
// limits. So if the host is alone in its group, it moves into one within it.
func makeRoot(base string, pid int) (string, error) {
	has, err := os.ReadFile(filepath.Join(base, "cgroup.controllers"))
	if err != nil {
		return "", fmt.Errorf("no control groups can be made: %w", err)
	}
	controllers := strings.Fields(string(has))
	for _, c := range []string{"cpu", "memory"} {
		if !slices.Contains(controllers, c) {
			return "", fmt.Errorf("the host's control group has no controller %s: with systemd, Delegate=cpu memory pids", c)
		}
	}
	wants := "+cpu +memory"
	if slices.Contains(controllers, "pids") {
		wants += " +pids"
	}
	delegate := func(dir string) error { return cgroup.Write(dir, "cgroup.subtree_control", wants) }
	if err := delegate(base); err != nil {
		within := filepath.Join(base, "troupe")
		if err := os.Mkdir(within, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return "", fmt.Errorf("no control groups can be made: %w", err)
		}
		if err := cgroup.Write(within, "cgroup.procs", strconv.Itoa(pid)); err != nil {
			return "", fmt.Errorf("no control groups can be made: %w", err)
		}
		if err := delegate(base); err != nil {
			_ = cgroup.Write(base, "cgroup.procs", strconv.Itoa(pid))
			_ = os.Remove(within)
			return "", fmt.Errorf("no control groups can be made, because other processes are in the host's: %w", err)
		}
	}
	root := filepath.Join(base, groupsPrefix+strconv.Itoa(pid))
	if err := os.Mkdir(root, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("no control groups can be made: %w", err)
	}
	return root, delegate(root)
}

const groupsPrefix = "troupe-servers-"

// sweep removes the groups of hosts that were killed.
func (*groups) sweep() {
	if base, err := ownBase(); err == nil {
		sweepGroups(base, os.Getpid())
	}
}

// sweepGroups removes the groups of hosts that were killed, with what still runs in them. A host with the same process id
// is one of those.
func sweepGroups(base string, pid int) {
	roots, _ := filepath.Glob(filepath.Join(base, groupsPrefix+"*"))
	for _, root := range roots {
		n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(root), groupsPrefix))
		if err != nil || n != pid && syscall.Kill(n, 0) != syscall.ESRCH {
			continue
		}
		entries, _ := os.ReadDir(root)
		for _, e := range entries {
			if e.IsDir() {
				(&group{dir: filepath.Join(root, e.Name())}).remove()
			}
		}
		_ = os.Remove(root)
	}
}

func makeGroup(dir string, of *messages.GameServer) (g *group, err error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	g = &group{dir: dir}
	defer func() {
		if err != nil {
			g.remove()
			g = nil
		}
	}()
	_ = cgroup.Write(dir, "pids.max", strconv.Itoa(tasksMax)) // the file is not there without that controller
	if of.MemoryMax > 0 {
		if err := cgroup.Write(dir, "memory.max", strconv.FormatInt(of.MemoryMax, 10)); err != nil {
			return g, err
		}
		_ = cgroup.Write(dir, "memory.swap.max", "0")  // the file is not there if the system has no swap
		_ = cgroup.Write(dir, "memory.oom.group", "1") // a server of which the half is killed is none
	}
	if of.CPUs > 0 {
		if err := cgroup.Write(dir, "cpu.max", fmt.Sprintf("%d %d", int(of.CPUs*cpuPeriod), cpuPeriod)); err != nil {
			return g, err
		}
	}
	g.open, err = os.Open(dir)
	return g, err
}

func (g *group) file() *os.File {
	if g == nil {
		return nil
	}
	return g.open
}

// outOfMemory reports whether the kernel has killed a process of the group because of its memory.
func (g *group) outOfMemory() bool {
	if g == nil {
		return false
	}
	n, _ := cgroup.Kills(g.dir, "memory.events")
	return n > 0
}

// kill kills what is in the group at once, so nothing can start more meanwhile. Kernels before 5.14 do not.
func (g *group) kill() {
	if g != nil {
		_ = cgroup.Write(g.dir, "cgroup.kill", "1")
	}
}

// remove kills what is left in the group, and removes it.
func (g *group) remove() {
	if g == nil {
		return
	}
	if g.open != nil {
		_ = g.open.Close()
	}
	g.kill()
	_ = cgroup.Remove(g.dir, endTime)
}

// close removes the folder of the groups.
func (g *groups) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.root != "" {
		_ = os.Remove(g.root)
	}
}
