package sessionlog

import (
	"cmp"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages/counters"
)

// Options configure a Store. Zero values mean the defaults.
type Options struct {
	Keep time.Duration // how long a log is kept after the end of its game session; the default is 14 days (service-api.md 2.6)
	// Log receives warnings. Counters counts dropped lines.
	Log      zerolog.Logger
	Counters *counters.Set

	fileBytes  int64 // maximum size of a file; then the next one is started
	files      int   // maximum number of files of one game session
	totalBytes int64 // maximum size of all files; the logs of game sessions that ended first are deleted first
	logsMax    int   // maximum number of logs; running game sessions count but always have a log
	openMax    int   // maximum number of files that are open for writing
}

const (
	flushEvery = 100 * time.Millisecond // time between two writes; together with pendingMax it limits one game session to 2.5 MiB/s
	// pendingMax limits the queued bytes of one game session, pendingAllMax those of all game sessions.
	pendingMax    = 256 << 10
	pendingAllMax = 16 << 20
	sweepEvery    = time.Hour // time between two searches for logs that are older than Options.Keep
)

func (o Options) withDefaults() Options {
	o.fileBytes, o.files = cmp.Or(o.fileBytes, 4<<20), cmp.Or(o.files, 4)
	o.totalBytes, o.logsMax, o.openMax = cmp.Or(o.totalBytes, 1<<30), cmp.Or(o.logsMax, 20_000), cmp.Or(o.openMax, 64)
	o.Keep, o.Counters = cmp.Or(o.Keep, 14*24*time.Hour), cmp.Or(o.Counters, new(counters.Set))
	return o
}
