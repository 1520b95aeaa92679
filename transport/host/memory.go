package host

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
)

// queueBytesFallback is used if the size of the machine's memory is unknown.
const queueBytesFallback = 1 << 30

// queueBytesAll bounds all outboxes together: a quarter of the memory that the host may use (reliability.md 2.4).
func (c *Config) queueBytesAll() int64 {
	if n := int64(c.Reconnect.QueueBytesAll); n > 0 {
		return n
	}
	return cmp.Or(MemoryMax()/4, queueBytesFallback)
}

// What the host keeps at most of a connection and of a game session.
const (
	connectionBytes  = 32 << 10
	gameSessionBytes = 64 << 10
)

// ownMemory returns what estimates how much of the Go heap the host holds beside its scripts: what is there now, and
// what comes with players and game sessions. It is called once the host has started.
func (h *Host) ownMemory() func() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	first := int64(s[0].Value.Uint64())
	return func() int64 {
		return first + 2*h.queued.Used() + connectionBytes*h.count.Connections.Total() + gameSessionBytes*h.count.GameSessions.Total()
	}
}

// outgrown has the host start again while there is memory left for an end in order.
func (h *Host) outgrown(reason string, urgent bool) {
	grace := h.grace
	if urgent {
		grace = 0
	}
	h.log.Error().Str("reason", reason).Stringer("grace", grace).Msg("the host runs out of memory, and nothing ends the call that takes it: it drains, and its process ends with an error, to be started again")
	h.Fail(reason, grace)
}

// MemoryMax returns how many bytes of memory the process may use: the limit of the Go runtime, of its control groups, or of the machine,
// the first that there is; 0 if nothing tells. Any goroutine may call it.
func MemoryMax() int64 {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return limit
	}
	total := machineMemory()
	if limit := GroupMemoryMax(); limit > 0 && (total == 0 || limit < total) {
		total = limit
	}
	return total
}

// GroupMemoryMax returns how many bytes of memory the control groups (cgroups) of the process leave to it: a container's limit, or
// MemoryMax= of systemd; 0 without a limit. Any goroutine may call it.
func GroupMemoryMax() int64 {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0
	}
	return groupMemoryMax(string(groups), "/sys/fs/cgroup")
}

// noLimit is what version 1 of control groups says where there is none, less a page or two.
const noLimit = math.MaxInt64 / 2

// groupMemoryMax returns the least limit of the groups, which are as in /proc/self/cgroup, and of those that they are in.
// A container may not see the folder of its own group, but its limit as that of the root.
func groupMemoryMax(groups, root string) (least int64) {
	for line := range strings.Lines(groups) {
		_, line, _ = strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(line, ":")
		folder, file := root, "memory.max"
		if controllers != "" {
			folder, file = filepath.Join(root, "memory"), "memory.limit_in_bytes"
			if !slices.Contains(strings.Split(controllers, ","), "memory") {
				continue
			}
		}
		for group = path.Clean("/" + group); ; group = path.Dir(group) {
			if limit := numberIn(filepath.Join(folder, group, file)); limit > 0 && limit < noLimit && (least == 0 || limit < least) {
				least = limit
			}
			if group == "/" {
				break
			}
		}
	}
	return least
}

// numberIn reads a file with one number; 0 if there is no such file or number.
func numberIn(file string) int64 {
	text, _ := os.ReadFile(file)
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n // one beyond the range is no limit either
}

// machineMemory returns the bytes of memory of a Linux machine, 0 elsewhere.
func machineMemory() int64 {
	text, _ := os.ReadFile("/proc/meminfo")
	var kib int64
	_, _ = fmt.Sscanf(string(text), "MemTotal: %d kB", &kib)
	return kib << 10
}
