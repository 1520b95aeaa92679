package transport

import (
	"runtime/debug"

	"github.com/rs/zerolog"

	"troupe/messages/counters"
)

// Panicked counts and logs a panic that was recovered in what handles one peer's
// bytes. It is a bug of the host, and costs that peer its connection: the caller
// ends it.
func Panicked(count *counters.Set, log *zerolog.Logger, where string, panicked any) {
	count.ConnectionPanics.Add(1)
	log.Error().Str("where", where).Interface("panic", panicked).Bytes("stack", debug.Stack()).Msg("a connection's code panicked")
}
