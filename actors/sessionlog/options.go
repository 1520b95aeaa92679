package sessionlog

import (
	"cmp"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages/counters"
)

// Options bound a Store. Zero values mean the defaults.
type Options struct {
	// FileBytes is the size of a file at which the next one begins; at least 64
	// KiB, default 4 MiB.
	FileBytes int64
	// Files bounds the files of one game session; default 4.
	Files int
	// TotalBytes bounds all files together; default 1 GiB. The logs of the game
	// sessions that ended first are deleted first.
	TotalBytes int64
	// LogsMax bounds the number of logs; default 20,000. Game sessions that run
	// count, but always have a log.
	LogsMax int
	// Keep is how long a log is kept after its game session's end; default 14 days
	// (service-api.md 2.6).
	Keep time.Duration
	// OpenMax bounds the files that are open for writing; default 64.
	OpenMax int
	// Log receives the warnings. Counters counts the lines that were dropped.
	Log      zerolog.Logger
	Counters *counters.Set
}

const (
	fileBytesMin = 64 << 10
	// flushEvery is the time between two writes. With pendingMax it bounds one game
	// session to 2.5 MiB/s.
	flushEvery = 100 * time.Millisecond
	// pendingMax bounds the queued bytes of one game session, pendingAllMax those of all.
	pendingMax    = 256 << 10
	pendingAllMax = 16 << 20
	// sweepEvery is the time between two searches for logs older than Options.Keep.
	sweepEvery = time.Hour
)

func (o Options) withDefaults() Options {
	o.FileBytes, o.Files = max(cmp.Or(o.FileBytes, 4<<20), fileBytesMin), cmp.Or(o.Files, 4)
	o.TotalBytes, o.LogsMax, o.OpenMax = cmp.Or(o.TotalBytes, 1<<30), cmp.Or(o.LogsMax, 20_000), cmp.Or(o.OpenMax, 64)
	o.Keep, o.Counters = cmp.Or(o.Keep, 14*24*time.Hour), cmp.Or(o.Counters, new(counters.Set))
	return o
}
