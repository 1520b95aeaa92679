package script

import (
	"time"

	"troupe/messages"
	"troupe/messages/counters"
)

// Process contains what the host passes to one game server process, which runs a program for one game
// session.
type Process struct {
	Fleet *messages.Fleet
	// Args are the launch parameters, split into words, without interpreter and file (D-117).
	Args     []string
	Log      *Log
	Counters *counters.Set
	// Stuck abandons the game session because a call cannot be ended. The call must never return to the game
	// session. Stuck may be called on any goroutine. It may be nil.
	Stuck func(reason string)
	// HandOver lets another goroutine do the remaining work of the calling goroutine. It is called inside a
	// call that takes long. It may be nil.
	HandOver func()
}

// Program is one version of a game's logic. Any number of game sessions may run it. Its methods are safe for
// concurrent use.
type Program interface {
	// Version identifies the version in records and logs.
	Version() string
	// NewHandler creates the logic of one game session. It must not block; work that takes time belongs in
	// Init or Load.
	NewHandler(p Process) (Handler, error)
	// Close releases the program's resources. It is called when no game session runs the program any more.
	Close()
}

// Loader is implemented by a Handler that needs time to become ready, such as one that runs in another
// process. The host calls Load instead of Init.
type Loader interface {
	Load(s Session) *Pending
}

// Closer is implemented by a Handler that has resources to release. Close is called once, last, after the end
// of the game session. It must not block.
type Closer interface {
	Close()
}

// Limits are the limits of the logic of one game session. Zero values mean no limit.
type Limits struct {
	// Callback is the maximum duration of a call into a script (D-125: 30 s).
	Callback time.Duration
	// Tick is the duration from which a call counts as slow. The host occasionally logs a warning about slow
	// calls.
	Tick time.Duration
	// TimersMax is the maximum number of pending timers.
	TimersMax int
	// MemoryMax is how many bytes a script may hold. In the embedded engine, the memory is estimated from
	// time to time (watchdog.Options.Held).
	MemoryMax int64
	// KeepRunningOnError makes the host log errors outside of callbacks instead of ending the game session
	// (D-125).
	KeepRunningOnError bool
}
