package transport

import (
	"runtime/debug"

	"github.com/rs/zerolog"

	"troupe/messages/counters"
)

// Rescue recovers a panic in code that handles one peer's bytes. It must be deferred directly. A panic is a bug of the
// host. Rescue counts and logs it, and calls end, if that is not nil, to end that peer's connection.
func Rescue(count *counters.Set, log *zerolog.Logger, where string, end func(panicked any)) {
	p := recover()
	if p == nil {
		return
	}
	count.ConnectionPanics.Add(1)
	log.Error().Str("where", where).Interface("panic", p).Bytes("stack", debug.Stack()).Msg("a connection's code panicked")
	if end != nil {
		end(p)
	}
}
