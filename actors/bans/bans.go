package bans

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"troupe/actors/store"
	"troupe/messages"
)

// Max is the maximum number of bans.
const Max = 10_000

// ErrTooMany says that there are Max bans.
var ErrTooMany = errors.New("there are too many bans: lift some")

// List holds bans. Any goroutine may call its methods. A nil *List is empty and cannot be changed.
type List struct {
	mu   sync.RWMutex
	bans map[messages.PlayerID]messages.Ban
}

// New returns an empty List.
func New() *List { return &List{bans: make(map[messages.PlayerID]messages.Ban)} }

// Has reports whether a player is banned at the time now.
func (l *List) Has(player messages.PlayerID, now time.Time) bool {
	_, ok := l.Find(player, now)
	return ok
}

// Find returns the ban of a player that is in force at the time now.
func (l *List) Find(player messages.PlayerID, now time.Time) (b messages.Ban, ok bool) {
	if l == nil {
		return b, false
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	b, ok = l.bans[player]
	return b, ok && now.Before(b.Until)
}

// Room checks whether there is room for a ban of player. It returns the players whose bans have expired; Put may forget
// these. It returns ErrTooMany if there is no room. A new ban of a player that is already banned needs no room, because
// it replaces the old one.
func (l *List) Room(player messages.PlayerID, now time.Time) (over []messages.PlayerID, err error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for other, earlier := range l.bans {
		if other != player && !now.Before(earlier.Until) {
			over = append(over, other)
		}
	}
	if _, again := l.bans[player]; !again && len(l.bans)-len(over) >= Max {
		return nil, ErrTooMany
	}
	return over, nil
}

// Put bans a player. It replaces an earlier ban of the same player and forgets the expired bans in over.
func (l *List) Put(b messages.Ban, over []messages.PlayerID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, player := range over {
		delete(l.bans, player)
	}
	l.bans[b.Player] = b
}

// Lift ends a ban.
func (l *List) Lift(player messages.PlayerID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.bans, player)
}

// There reports whether the list contains a ban of a player, even if the ban has expired.
func (l *List) There(player messages.PlayerID) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	_, ok := l.bans[player]
	return ok
}

// All returns the bans in force, sorted by their end, earliest first.
func (l *List) All(now time.Time) []messages.Ban {
	l.mu.RLock()
	defer l.mu.RUnlock()
	all := make([]messages.Ban, 0, len(l.bans))
	for _, b := range l.bans {
		if now.Before(b.Until) {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(x, y messages.Ban) int { return cmp.Or(x.Until.Compare(y.Until), cmp.Compare(x.Player, y.Player)) })
	return all
}

// Load returns the bans in a store, and the records of bans that are damaged.
func Load(s store.Store) (*List, []store.Damage, error) {
	l := New()
	var unread store.Unread
	err := store.Read(s, &unread, store.Ban, func(id string, b *messages.Ban, _ int) error {
		if string(b.Player) != id {
			return errors.New("cannot be read: it is of another player")
		}
		l.bans[b.Player] = *b
		return nil
	})
	return l, unread.Damaged(), err
}
