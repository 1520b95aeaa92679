package script

import (
	"time"

	"troupe/messages"
	"troupe/messages/counters"
)

// Process is what one game server process is started with: one game session's run of a program.
type Process struct {
	Fleet *messages.Fleet
	// Launch parameters, as words without interpreter and file (D-117).
	Args     []string
	Log      *Log
	Counters *counters.Set
	// Stuck, from any goroutine, gives up the game session: a call cannot be ended, and must never return to it. Nil does nothing.
	Stuck func(reason string)
	// HandOver, from inside a call that takes long, has somebody else do what its goroutine still has to do for others. Nil does nothing.
	HandOver func()
}

// Program is one version of a game's logic, from which any number of game sessions may run. Its methods may be called from any goroutine.
type Program interface {
	// Version names the version, for records and logs.
	Version() string
	// NewHandler makes the logic of one game session. It must not block: what takes time belongs into Init or Load.
	NewHandler(p Process) (Handler, error)
	// Close releases what the program holds, once no game session runs it.
	Close()
}

// Loader is implemented by a Handler that takes time to be ready, such as one in another process. Load comes instead of Init.
type Loader interface {
	Load(s Session) *Pending
}

// Closer is implemented by a Handler that holds something. Close comes once, last, after the game session is over; it must not block.
type Closer interface {
	Close()
}

// Limits bound what the logic of one game session may do. Zero values mean none.
type Limits struct {
	// Callback is how long one call into a script may take (D-125: 30 s).
	Callback time.Duration
	// Tick is how long a call may take before it is counted and, now and then, warned of.
	Tick time.Duration
	// TimersMax is how many timers may wait.
	TimersMax int
	// MemoryMax is how much a script may hold, in bytes; of the embedded engine that is estimated now and then (watchdog.Options.Held).
	MemoryMax int64
	// KeepRunningOnError logs errors outside of callbacks, and goes on (D-125).
	KeepRunningOnError bool
}
