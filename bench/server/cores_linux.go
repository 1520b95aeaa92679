package server

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// cores are those that this process may use.
func cores() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("read cores: %w", err)
	}
	var list []int
	for i := 0; len(list) < set.Count(); i++ {
		if set.IsSet(i) {
			list = append(list, i)
		}
	}
	return list, nil
}

func setOf(cores []int) *unix.CPUSet {
	set := new(unix.CPUSet)
	for _, c := range cores {
		set.Set(c)
	}
	return set
}

// KeepTo keeps this process to some cores until release is called. Neither is for several goroutines.
func KeepTo(list []int) (release func() error, err error) {
	all, err := cores()
	if err != nil {
		return nil, err
	}
	procs := runtime.GOMAXPROCS(len(list))
	release = func() error {
		runtime.GOMAXPROCS(procs)
		return keepThreads(all)
	}
	if err := keepThreads(list); err != nil {
		return nil, errors.Join(err, release())
	}
	return release, nil
}

// keepThreads keeps all threads of this process to some cores; a new one is kept to those of the thread that makes it. So
// it looks until it has seen all.
func keepThreads(list []int) error {
	set := setOf(list)
	for seen := map[string]bool{}; ; {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("list threads: %w", err)
		}
		fresh := false
		for _, t := range tasks {
			if seen[t.Name()] {
				continue
			}
			seen[t.Name()], fresh = true, true
			tid, err := strconv.Atoi(t.Name())
			if err != nil {
				return fmt.Errorf("list threads: %w", err)
			}
			if err := unix.SchedSetaffinity(tid, set); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("keep a thread to cores: %w", err)
			}
		}
		if !fresh {
			return nil
		}
	}
}

// startOn starts a command that is kept to some cores, nil for all: a child is kept to those of the thread that makes it.
func startOn(cmd *exec.Cmd, list []int) error {
	if list == nil {
		return cmd.Start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return fmt.Errorf("read cores: %w", err)
	}
	if err := unix.SchedSetaffinity(0, setOf(list)); err != nil {
		return fmt.Errorf("keep to cores: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return errors.Join(err, unix.SchedSetaffinity(0, &before))
	}
	if err := unix.SchedSetaffinity(0, &before); err != nil {
		return errors.Join(fmt.Errorf("leave cores: %w", err), cmd.Process.Kill(), cmd.Wait())
	}
	return nil
}
