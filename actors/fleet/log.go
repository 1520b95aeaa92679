package fleet

import (
	"troupe/actors/gamesession"
	"troupe/actors/script"
	"troupe/messages"
)

func (gs *games) gameLog(id messages.GameSessionID, f *messages.Fleet) *script.Log {
	log := script.NewLog(gs.logOf(f, id)(), script.LevelOf(f.LaunchParams), gs.context.Stage().Now)
	log.HostToo(script.LevelInfo, "created on", f.ID)
	return log
}

// logOf returns a function that opens the log of a game session with a script.
func (gs *games) logOf(f *messages.Fleet, id messages.GameSessionID) func() script.Sink {
	return func() script.Sink {
		if gs.o.OpenLog == nil {
			return gamesession.HostLog(gs.context.Log(), string(id))
		}
		return gs.o.OpenLog(id, f)
	}
}
