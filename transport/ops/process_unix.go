//go:build unix

package ops

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// read queries the kernel. Figures that the kernel does not provide stay zero.
func (f *ProcessFigures) read() {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) == nil {
		f.UserSeconds = float64(u.Utime.Sec) + float64(u.Utime.Usec)/1e6
		f.SystemSeconds = float64(u.Stime.Sec) + float64(u.Stime.Usec)/1e6
	}
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := bytes.Fields(b); len(fields) > 1 {
			pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			f.ResidentBytes = pages * int64(os.Getpagesize())
		}
	}
}
