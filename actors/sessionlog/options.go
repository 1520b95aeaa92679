package sessionlog

import (
	"time"

	"github.com/rs/zerolog"

	"troupe/messages/counters"
)

// Options bound a Store. Zero values mean the defaults.
type Options struct {
	// FileBytes is the size of a file at which the next one begins; at least 64
	// KiB, default 4 MiB.
	FileBytes int64
	// Files is how many files a game session has at most; default 4.
	Files int
	// TotalBytes bounds all files together; default 1 GiB. The logs of game
	// sessions that ended first go first.
	TotalBytes int64
	// LogsMax bounds how many game sessions have a log; default 20,000. Those that
	// run have one in any case.
	LogsMax int
	// Keep is for how long after its end a game session's log is kept; default 14
	// days (service-api.md 2.6).
	Keep time.Duration
	// OpenMax is how many files are open for writing at a time; default 64.
	OpenMax int
	// Log gets the warnings, Counters the lines that were dropped.
	Log      zerolog.Logger
	Counters *counters.Set
}

const (
	fileBytesMin = 64 << 10
	// flushEvery is how long lines gather. With pendingMax it bounds what one game
	// session writes: 2.5 MiB/s.
	flushEvery = 100 * time.Millisecond
	// pendingMax bounds what waits of one game session, pendingAllMax of all.
	pendingMax    = 256 << 10
	pendingAllMax = 16 << 20
	// sweepEvery is how often the age of logs is looked at.
	sweepEvery = time.Hour
)

func (o Options) withDefaults() Options {
	if o.FileBytes <= 0 {
		o.FileBytes = 4 << 20
	}
	o.FileBytes = max(o.FileBytes, fileBytesMin)
	if o.Files <= 0 {
		o.Files = 4
	}
	if o.TotalBytes <= 0 {
		o.TotalBytes = 1 << 30
	}
	if o.LogsMax <= 0 {
		o.LogsMax = 20_000
	}
	if o.Keep <= 0 {
		o.Keep = 14 * 24 * time.Hour
	}
	if o.OpenMax <= 0 {
		o.OpenMax = 64
	}
	if o.Counters == nil {
		o.Counters = new(counters.Set)
	}
	return o
}
