package sessionlog

import (
	"cmp"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages/counters"
)

// Options of a Store. Zero values mean the defaults.
type Options struct {
	Keep time.Duration // how long a log is kept after its game session's end; default 14 days (service-api.md 2.6)
	// Log receives the warnings. Counters counts the lines that were dropped.
	Log      zerolog.Logger
	Counters *counters.Set

	fileBytes  int64 // size of a file at which the next one begins
	files      int   // of one game session
	totalBytes int64 // of all files; the logs of the game sessions that ended first are deleted first
	logsMax    int   // game sessions that run count, but always have a log
	openMax    int   // files that are open for writing
}

const (
	flushEvery = 100 * time.Millisecond // the time between two writes. With pendingMax it bounds one game session to 2.5 MiB/s.
	// pendingMax bounds the queued bytes of one game session, pendingAllMax those of all.
	pendingMax    = 256 << 10
	pendingAllMax = 16 << 20
	sweepEvery    = time.Hour // the time between two searches for logs older than Options.Keep
)

func (o Options) withDefaults() Options {
	o.fileBytes, o.files = cmp.Or(o.fileBytes, 4<<20), cmp.Or(o.files, 4)
	o.totalBytes, o.logsMax, o.openMax = cmp.Or(o.totalBytes, 1<<30), cmp.Or(o.logsMax, 20_000), cmp.Or(o.openMax, 64)
	o.Keep, o.Counters = cmp.Or(o.Keep, 14*24*time.Hour), cmp.Or(o.Counters, new(counters.Set))
	return o
}
