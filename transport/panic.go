package transport

import (
	"runtime/debug"

	"github.com/rs/zerolog"

	"troupe/messages/counters"
)

// Rescue is deferred itself where one peer's bytes are handled. It counts and logs a panic, which is a bug of the host, and passes
// it to end, if that is not nil, which ends that peer's connection.
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
