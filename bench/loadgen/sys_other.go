//go:build !linux

package loadgen

import (
	"syscall"
	"time"
)

// sleepPrecisely is only as precise as the runtime's timers on this system.
func sleepPrecisely(d time.Duration) { time.Sleep(d) }

func bindNoPort(_, _ string, _ syscall.RawConn) error { return nil }
