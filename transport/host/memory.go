package host

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"time"
)

// queueBytesFallback is for a machine that does not say what memory it has.
const queueBytesFallback = 1 << 30

// queueBytesAll bounds what is kept for all players together: a quarter of the
// memory limit (reliability.md 2.4), or of the machine.
func (c *Config) queueBytesAll() int64 {
	if n := int64(c.Reconnect.QueueBytesAll); n > 0 {
		return n
	}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return limit / 4
	}
	if total := machineMemory(); total > 0 {
		return total / 4
	}
	return queueBytesFallback
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

// window is the fleet's own reconnect window, nil for the host's.
func (f *Fleet) window() *time.Duration {
	d, err := time.ParseDuration(f.ReconnectWindow)
	if err != nil { // empty: Validate refuses what is wrong
		return nil
	}
	return &d
}
