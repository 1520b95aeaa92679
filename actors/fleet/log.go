package fleet

import (
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
)

// gameLog opens the log of a game session, nil where there is none.
func (r *Registry) gameLog(c *stage.Context, id messages.GameSessionID, f *messages.Fleet) *script.Log {
	if r.o.OpenLog == nil {
		return nil
	}
	return script.NewLog(r.o.OpenLog(id, f), script.LevelOf(f.LaunchParams), c.Stage().Now)
}
