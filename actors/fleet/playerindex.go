package fleet

import (
	"slices"
	"sync"

	"troupe/messages"
)

// playerIndex maps player sessions to game sessions. The registry writes it, and asks for those of a player. Any goroutine
// may read it.
type playerIndex struct {
	mu  sync.RWMutex
	all map[messages.PlayerSessionID]*seat // guarded by mu
	by  map[messages.PlayerID]*seat        // the newest of each player; the registry's
}

// seat is a player session in the index. Its links, to others of the same player, are the registry's.
type seat struct {
	e            *entry // never changes
	player       messages.PlayerID
	older, newer *seat
}

func newPlayerIndex() playerIndex {
	return playerIndex{all: make(map[messages.PlayerSessionID]*seat), by: make(map[messages.PlayerID]*seat)}
}

// get returns the game session of a player session, or nil if the id is unknown.
func (i *playerIndex) get(id messages.PlayerSessionID) *entry {
	i.mu.RLock()
	defer i.mu.RUnlock()
	if s := i.all[id]; s != nil {
		return s.e
	}
	return nil
}

// of returns the game sessions in which a player has player sessions.
func (i *playerIndex) of(player messages.PlayerID) (found []*entry) {
	seen := make(map[*entry]bool)
	for s := i.by[player]; s != nil; s = s.older {
		if !seen[s.e] {
			seen[s.e] = true
			found = append(found, s.e)
		}
	}
	slices.Reverse(found)
	return found
}

// set adds a player session that is not there.
func (i *playerIndex) set(id messages.PlayerSessionID, player messages.PlayerID, e *entry) {
	s := &seat{e: e, player: player, older: i.by[player]}
	if s.older != nil {
		s.older.newer = s
	}
	i.by[player] = s
	i.mu.Lock()
	defer i.mu.Unlock()
	i.all[id] = s
}

func (i *playerIndex) remove(id messages.PlayerSessionID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.all[id]
	if s == nil {
		return
	}
	delete(i.all, id)
	if s.older != nil {
		s.older.newer = s.newer
	}
	switch {
	case s.newer != nil:
		s.newer.older = s.older
	case s.older != nil:
		i.by[s.player] = s.older
	default:
		delete(i.by, s.player)
	}
}
