package bans

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
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

// List holds bans. Its methods may be called from any goroutine; a nil List is empty and cannot
// be changed.
type List struct {
	mu   sync.RWMutex
	bans map[messages.PlayerID]messages.Ban
}

// New returns an empty List.
func New() *List { return &List{bans: make(map[messages.PlayerID]messages.Ban)} }

// Has reports whether a player is banned at a time.
func (l *List) Has(player messages.PlayerID, now time.Time) bool {
	if l == nil {
		return false
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	b, ok := l.bans[player]
	return ok && now.Before(b.Until)
}

// Add bans a player, instead of an earlier ban of the same player. It forgets bans that are over,
// and returns the players of those.
func (l *List) Add(b messages.Ban, now time.Time) (over []messages.PlayerID, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for player, earlier := range l.bans {
		if player != b.Player && !now.Before(earlier.Until) {
			over = append(over, player)
			delete(l.bans, player)
		}
	}
	if _, again := l.bans[b.Player]; !again && len(l.bans) >= Max {
		return over, ErrTooMany
	}
	l.bans[b.Player] = b
	return over, nil
}

// Lift ends a ban, and reports whether there was one.
func (l *List) Lift(player messages.PlayerID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.bans[player]
	delete(l.bans, player)
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
	var senseless []store.Damage
	damaged, err := s.Load(store.Ban, func(id string, value []byte) error {
		var b messages.Ban
		if err := json.Unmarshal(value, &b); err != nil || string(b.Player) != id {
			senseless = append(senseless, store.Damage{Kind: store.Ban, ID: id, Err: fmt.Errorf("cannot be read: %w", cmp.Or(err, errors.New("it is of another player")))})
			return nil
		}
		l.bans[b.Player] = b
		return nil
	})
	return l, append(damaged, senseless...), err
}
