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
	"strconv"
	"strings"

	"troupe/actors/child/cgroup"
)

// queueBytesFallback applies if the size of the machine's memory is unknown.
const queueBytesFallback = 1 << 30

// queueBytesAll is the limit of all outboxes together: if not configured, a quarter of the memory that the
// host may use (reliability.md 2.4).
func (c *Config) queueBytesAll() int64 {
	if n := int64(c.Reconnect.QueueBytesAll); n > 0 {
		return n
	}
	return cmp.Or(MemoryMax()/4, queueBytesFallback)
}

// Upper estimates of the memory that the host itself needs for each connection and each game session.
const (
	connectionBytes  = 32 << 10
	gameSessionBytes = 64 << 10
)

// ownMemory returns a function that estimates how many bytes of the Go heap belong to the host itself and not
// to its scripts. The estimate is the current heap plus the memory of players and game sessions that come
// later. ownMemory must be called once, when the host has started.
func (h *Host) ownMemory() func() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	first := int64(s[0].Value.Uint64())
	return func() int64 {
		return first + 2*h.queued.Used() + connectionBytes*h.count.Connections.Total() + gameSessionBytes*h.count.GameSessions.Total()
	}
}

// outgrown restarts the host while there is still enough memory for an orderly stop.
func (h *Host) outgrown(reason string, urgent bool) {
	grace := h.grace
	if urgent {
		grace = 0
	}
	h.log.Error().Str("reason", reason).Stringer("grace", grace).Msg("the host runs out of memory, and nothing ends the call that takes it: it drains, and its process ends with an error, to be started again")
	h.Fail(reason, grace)
}

// MemoryMax returns how many bytes of memory the process may use: the limit of the Go runtime if there is
// one, otherwise the lower of the control group's limit and the machine's memory. It returns 0 if none is
// known. It is safe for concurrent use.
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

// GroupMemoryMax returns the memory limit, in bytes, that control groups (cgroups) set for the process, for
// example a container's limit or MemoryMax= of systemd. It returns 0 if there is no limit. It is safe for
// concurrent use.
func GroupMemoryMax() int64 {
	groups, err := os.ReadFile(cgroup.File)
	if err != nil {
		return 0
	}
	return groupMemoryMax(string(groups), cgroup.Root)
}

// noLimit is just below the value that control groups v1 report if there is no limit.
const noLimit = math.MaxInt64 / 2

// groupMemoryMax returns the lowest limit of the groups and their parent groups. groups has the format of
// /proc/self/cgroup. Inside a container, the folder of the process's own group may be missing; then its limit
// is found in the root folder.
func groupMemoryMax(groups, root string) (least int64) {
	for _, v := range []struct{ controller, folder, file string }{{"", root, "memory.max"}, {"memory", filepath.Join(root, "memory"), "memory.limit_in_bytes"}} {
		group, ok := cgroup.Own(groups, v.controller)
		if !ok {
			continue
		}
		for group = path.Clean("/" + group); ; group = path.Dir(group) {
			if limit := numberIn(filepath.Join(v.folder, group, v.file)); limit > 0 && limit < noLimit && (least == 0 || limit < least) {
				least = limit
			}
			if group == "/" {
				break
			}
		}
	}
	return least
}

// numberIn reads a file that contains one number. It returns 0 if there is no such file or number.
func numberIn(file string) int64 {
	text, _ := os.ReadFile(file)
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n // a number out of range becomes the maximum, which means no limit as well
}

// machineMemory returns the bytes of memory of a Linux machine, or 0 on other systems.
func machineMemory() int64 {
	text, _ := os.ReadFile("/proc/meminfo")
	var kib int64
	_, _ = fmt.Sscanf(string(text), "MemTotal: %d kB", &kib)
	return kib << 10
}
