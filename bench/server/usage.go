package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// tick is the unit of times in /proc. USER_HZ is 100 on every Linux port that Go supports.
const tick = 10 * time.Millisecond

// Usage is the kernel's accounting of a process. Times and context switches count from the start of the process.
type Usage struct {
	User, System        time.Duration
	RSSBytes, PeakBytes int64
	Voluntary           int64 // context switches because a thread had to wait
	Involuntary         int64 // context switches because the kernel preempted a thread
	Threads             int

	ended cpuTime // of child processes that have ended and been waited for
}

type cpuTime struct{ user, system time.Duration }

// CPU returns user plus system time.
func (u Usage) CPU() time.Duration { return u.User + u.System }

// Switches returns the number of all context switches.
func (u Usage) Switches() int64 { return u.Voluntary + u.Involuntary }

// Usage reads /proc for the server and its child processes. A host that was not started here is asked instead; values
// that it does not report are zero.
func (p *Process) Usage() (Usage, error) {
	if p.remote != nil {
		f, err := p.figures(context.Background())
		return f.usage(), err
	}
	if err := p.Alive(); err != nil {
		return Usage{}, err
	}
	return usageOfTree(p.pid)
}

// usageOfTree adds up a process and all its descendants, because a script may run in its own process. The CPU time of
// an ended process is included once it has been waited for. Shared memory is counted for each process.
func usageOfTree(pid int) (Usage, error) {
	u, err := UsageOf(pid)
	if err != nil {
		return u, err
	}
	u.User += u.ended.user
	u.System += u.ended.system
	lists, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "children"))
	if err != nil {
		return u, fmt.Errorf("list processes: %w", err)
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for _, field := range bytes.Fields(text) {
			child, err := strconv.Atoi(string(field))
			if err != nil {
				return u, fmt.Errorf("list processes: %w", err)
			}
			if c, err := usageOfTree(child); err == nil { // otherwise the child has ended
				u.Add(c)
			}
		}
	}
	return u, nil
}

// Add adds the usage of another process.
func (u *Usage) Add(o Usage) {
	u.User += o.User
	u.System += o.System
	u.RSSBytes += o.RSSBytes
	u.PeakBytes += o.PeakBytes
	u.Voluntary += o.Voluntary
	u.Involuntary += o.Involuntary
	u.Threads += o.Threads
}

// UsageOf reads /proc for any process, without its child processes.
func UsageOf(pid int) (Usage, error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	var u Usage
	b, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return u, fmt.Errorf("read cpu time: %w", err)
	}
	own, ended, err := parseStat(b)
	if err != nil {
		return u, err
	}
	u.User, u.System, u.ended = own.user, own.system, ended
	if b, err = os.ReadFile(filepath.Join(dir, "status")); err != nil {
		return u, fmt.Errorf("read memory: %w", err)
	}
	status := parseStatus(b)
	u.RSSBytes, u.PeakBytes = status.rssKiB<<10, status.peakKiB<<10
	return u, u.addThreads(dir)
}

// addThreads sums the context switches, which /proc reports per thread. Threads that have ended are not included; Go
// rarely ends a thread.
func (u *Usage) addThreads(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "task", "*", "status"))
	if err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read context switches: %w", err)
		}
		status := parseStatus(b)
		u.Voluntary += status.voluntary
		u.Involuntary += status.involuntary
		u.Threads++
	}
	return nil
}

// parseStat parses the user and system times in /proc/PID/stat: those of the process, and those of the children that it
// has waited for. The name in the second field may contain any character, so the fields are counted from the last
// closing parenthesis.
func parseStat(b []byte) (own, ended cpuTime, err error) {
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	const utime, cstime = 11, 14 // fields 14 to 17 of proc(5), counted from the state
	if len(fields) <= cstime {
		return own, ended, fmt.Errorf("parse stat: %d fields", len(fields))
	}
	for i, to := range []*time.Duration{&own.user, &own.system, &ended.user, &ended.system} {
		n, err := strconv.ParseInt(string(fields[utime+i]), 10, 64)
		if err != nil {
			return own, ended, fmt.Errorf("parse stat: %w", err)
		}
		*to = time.Duration(n) * tick
	}
	return own, ended, nil
}

type status struct{ rssKiB, peakKiB, voluntary, involuntary int64 }

// parseStatus parses the required lines of /proc/PID/status. Values of absent lines are zero.
func parseStatus(b []byte) (s status) {
	for line := range bytes.Lines(b) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		var to *int64
		switch string(name) {
		case "VmRSS":
			to = &s.rssKiB
		case "VmHWM":
			to = &s.peakKiB
		case "voluntary_ctxt_switches":
			to = &s.voluntary
		case "nonvoluntary_ctxt_switches":
			to = &s.involuntary
		default:
			continue
		}
		if fields := bytes.Fields(value); len(fields) > 0 {
			*to, _ = strconv.ParseInt(string(fields[0]), 10, 64)
		}
	}
	return s
}
