package fleet

import (
	"troupe/actors/gamesession"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
)

// gameLog opens the log of a game session without a script, nil where there is none.
func (r *Registry) gameLog(c *stage.Context, id messages.GameSessionID, f *messages.Fleet) *script.Log {
	if r.o.OpenLog == nil {
		return nil
	}
	log := script.NewLog(r.o.OpenLog(id, f), script.LevelOf(f.LaunchParams), c.Stage().Now)
	log.HostToo(script.LevelInfo, "created on", f.ID)
	return log
}

// logOf opens where the log of a game session with a script goes.
func (r *Registry) logOf(c *stage.Context, e *entry) func() script.Sink {
	return func() script.Sink {
		if r.o.OpenLog == nil {
			return gamesession.HostLog(c.Log(), string(e.id))
		}
		return r.o.OpenLog(e.id, e.fleet.record)
	}
}
