package host

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// queueBytesFallback is used if the size of the machine's memory is unknown.
const queueBytesFallback = 1 << 30

// queueBytesAll returns the bound on all outboxes together: a quarter of the memory that the
// host may use (reliability.md 2.4).
func (c *Config) queueBytesAll() int64 {
	if n := int64(c.Reconnect.QueueBytesAll); n > 0 {
		return n
	}
	if n := MemoryMax(); n > 0 {
		return n / 4
	}
	return queueBytesFallback
}

// MemoryMax returns how many bytes of memory the process may use: the limit of the Go
// runtime, of the control group, or of the machine, the first that there is; 0 if
// nothing tells. Any goroutine may call it.
func MemoryMax() int64 {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return limit
	}
	total := machineMemory()
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if limit := numberIn(file); limit > 0 && (total == 0 || limit < total) {
			total = limit
		}
	}
	return total
}

// numberIn reads a file with one number; 0 if there is no such file or number.
func numberIn(file string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// machineMemory returns the bytes of memory of a Linux machine, 0 elsewhere.
func machineMemory() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	var kib int64
	if line, err := bufio.NewReader(f).ReadString('\n'); err == nil {
		_, _ = fmt.Sscanf(line, "MemTotal: %d kB", &kib)
	}
	return kib << 10
}
