package gamesession

import (
	"github.com/rs/zerolog"

	"troupe/actors/script"
)

// HostLog returns a sink that writes into the host's log, for a game session
// without a log of its own.
func HostLog(log *zerolog.Logger, id string) script.Sink { return hostLog{log: log, session: id} }
