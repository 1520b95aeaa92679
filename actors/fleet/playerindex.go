package fleet

import (
	"sync"

	"troupe/messages"
)

// playerIndex maps player sessions to game sessions. The registry writes it. Any goroutine may read it.
type playerIndex struct {
	mu sync.RWMutex
	of map[messages.PlayerSessionID]*entry // guarded by mu
}

// get returns the game session of a player session, or nil if the id is unknown.
func (i *playerIndex) get(id messages.PlayerSessionID) *entry {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.of[id]
}

func (i *playerIndex) set(id messages.PlayerSessionID, e *entry) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.of[id] = e
}

func (i *playerIndex) remove(id messages.PlayerSessionID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.of, id)
}
