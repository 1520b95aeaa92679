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

// tick is the unit of times in /proc: USER_HZ is 100 on every Linux port that Go has.
const tick = 10 * time.Millisecond

// Usage is what the kernel says about a process; times and switches count from its start.
type Usage struct {
	User, System        time.Duration
	RSSBytes, PeakBytes int64
	Voluntary           int64 // context switches because a thread had to wait
	Involuntary         int64 // context switches because somebody else's turn came
	Threads             int

	ended cpuTime // of processes that it has started and waited for
}

type cpuTime struct{ user, system time.Duration }

// CPU is user and system time together.
func (u Usage) CPU() time.Duration { return u.User + u.System }

// Switches is all context switches together.
func (u Usage) Switches() int64 { return u.Voluntary + u.Involuntary }

// Usage reads /proc for the server and the processes that it has started. A host that was not started here is asked; what it does not answer
// stays zero.
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

// usageOfTree adds up a process and all its descendants: a script may run in a process of its own. Ended processes count with their
// time, once they have been waited for. Shared memory counts for each process.
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
			if c, err := usageOfTree(child); err == nil { // else it has ended
				u.add(c)
			}
		}
	}
	return u, nil
}

func (u *Usage) add(o Usage) {
	u.User += o.User
	u.System += o.System
	u.RSSBytes += o.RSSBytes
	u.PeakBytes += o.PeakBytes
	u.Voluntary += o.Voluntary
	u.Involuntary += o.Involuntary
	u.Threads += o.Threads
}

// UsageOf reads /proc for any process, without those that it has started.
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

// addThreads sums the context switches, which /proc keeps per thread. Threads that have ended are lost; Go seldom ends one.
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

// parseStat takes user and system time out of /proc/PID/stat, those of the process and those of the ones that it has waited for.
// The name in the second field may hold anything, so counting starts after the last closing parenthesis.
func parseStat(b []byte) (own, ended cpuTime, err error) {
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	const utime, cstime = 11, 14 // fields 14 to 17 of the manual, counted from the state
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

// parseStatus takes what is wanted out of /proc/PID/status; absent lines stay zero.
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
