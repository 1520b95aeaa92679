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
}

// CPU is user and system time together.
func (u Usage) CPU() time.Duration { return u.User + u.System }

// Switches is all context switches together.
func (u Usage) Switches() int64 { return u.Voluntary + u.Involuntary }

// Usage reads /proc for the server, and asks a host that was not started here. What is not known of that stays zero.
func (p *Process) Usage() (Usage, error) {
	if p.remote != nil {
		f, err := p.figures(context.Background())
		return f.usage(), err
	}
	if err := p.Alive(); err != nil {
		return Usage{}, err
	}
	return UsageOf(p.pid)
}

// UsageOf reads /proc for any process.
func UsageOf(pid int) (Usage, error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	var u Usage
	b, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return u, fmt.Errorf("read cpu time: %w", err)
	}
	if u.User, u.System, err = parseStat(b); err != nil {
		return u, err
	}
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

// parseStat takes user and system time out of /proc/PID/stat. The name in the second field may hold anything, so counting
// starts behind the last closing parenthesis.
func parseStat(b []byte) (user, system time.Duration, err error) {
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	const utime, stime = 11, 12 // fields 14 and 15 of the manual, counted from the state
	if len(fields) <= stime {
		return 0, 0, fmt.Errorf("parse stat: %d fields", len(fields))
	}
	u, err := strconv.ParseInt(string(fields[utime]), 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("parse stat: %w", err)
	}
	s, err := strconv.ParseInt(string(fields[stime]), 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("parse stat: %w", err)
	}
	return time.Duration(u) * tick, time.Duration(s) * tick, nil
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
