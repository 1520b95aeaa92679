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

// Max bounds the bans at a time.
const Max = 10_000

// ErrTooMany says that there are Max bans.
var ErrTooMany = errors.New("there are too many bans: lift some")

// List holds bans. Its methods may be called from any goroutine; a nil List is empty and cannot be changed.
type List struct {
	mu   sync.RWMutex
	bans map[messages.PlayerID]messages.Ban
}

// New returns an empty List.
func New() *List { return &List{bans: make(map[messages.PlayerID]messages.Ban)} }

// Has reports whether a player is banned at a time.
func (l *List) Has(player messages.PlayerID, now time.Time) bool {
	_, ok := l.Find(player, now)
	return ok
}

// Find returns the ban of a player that is in force at a time.
func (l *List) Find(player messages.PlayerID, now time.Time) (b messages.Ban, ok bool) {
	if l == nil {
		return b, false
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	b, ok = l.bans[player]
	return b, ok && now.Before(b.Until)
}

// Room returns the players whose bans are over, which Put may forget, or ErrTooMany if there is no
// room for a ban of one more player. The ban of a player who has one is replaced.
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

// Put bans a player, instead of an earlier ban of the same player, and forgets bans that are over.
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

// There reports whether a player has a ban, also one that is over and not forgotten.
func (l *List) There(player messages.PlayerID) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	_, ok := l.bans[player]
	return ok
}

// All returns the bans in force, the one that ends first at first.
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

// Load returns the bans of a store, and those that it has damaged.
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
