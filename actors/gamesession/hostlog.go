package gamesession

import (
	"github.com/rs/zerolog"

	"troupe/actors/script"
)

// HostLog returns the sink of a game session without a log of its own: the
// host's log.
func HostLog(log *zerolog.Logger, id string) script.Sink { return hostLog{log: log, session: id} }
