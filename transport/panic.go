package transport

import (
	"runtime/debug"

	"github.com/rs/zerolog"

	"troupe/messages/counters"
)

// Panicked counts and logs a panic that was recovered while one peer's bytes were
// handled. Such a panic is a bug of the host. The caller ends that peer's connection.
func Panicked(count *counters.Set, log *zerolog.Logger, where string, panicked any) {
	count.ConnectionPanics.Add(1)
	log.Error().Str("where", where).Interface("panic", panicked).Bytes("stack", debug.Stack()).Msg("a connection's code panicked")
}
