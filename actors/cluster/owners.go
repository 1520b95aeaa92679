package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	"troupe/messages/coord"
	"troupe/messages/counters"
)

const (
	ownersMax  = 100_000         // maximum number of game sessions whose owner is cached
	absentFor  = 5 * time.Second // how long a missing owner is cached
	loginReads = 200             // maximum number of reads for logins per second
)

// ErrTooManyReads means that logins have caused too many reads of the directory. The caller should try again later.
var ErrTooManyReads = errors.New("directory: too many reads for logins")

// Owners caches the nodes that run game sessions, and reads the directory for game sessions that are not cached. When
// the cache is full, it drops the entries that were not used recently. Its methods may be called from any goroutine.
type Owners struct {
	coordinator Coordinator
	keys        coord.Keys
	count       *counters.Set

	mu         sync.Mutex
	young, old map[coord.Tag]owner
	reads      map[coord.Tag]*reading // under way
	second     time.Time              // the second to which logins applies
	logins     int
}

// owner is the node that runs a game session. An empty name means that no node runs it; such an entry expires.
type owner struct {
	name  string
	until time.Time
}

// reading is a read in progress. All callers that ask for the same game session wait for it.
type reading struct {
	done chan struct{}
	game *coord.Game
	err  error
}

// NewOwners returns an Owners with an empty cache.
func NewOwners(c Coordinator, k coord.Keys, count *counters.Set) *Owners {
	return &Owners{coordinator: c, keys: k, count: count, young: map[coord.Tag]owner{}, reads: map[coord.Tag]*reading{}}
}

// Find returns the node that runs a game session, or "" if there is none. It uses the cache if possible. If login is
// set, a read counts against the limit for logins, and Find may return ErrTooManyReads. Other errors are the
// coordinator's and ctx's.
func (o *Owners) Find(ctx context.Context, tag coord.Tag, login bool) (name string, err error) {
	o.mu.Lock()
	known, there := o.young[tag]
	if !there {
		known, there = o.old[tag]
	}
	now := time.Now()
	if there && (known.name != "" || now.Before(known.until)) {
		o.put(tag, known)
		o.mu.Unlock()
		o.count.DirReads.Add(counters.CacheHit, 1)
		return known.name, nil
	}
	if o.reads[tag] == nil && login && !o.mayRead(now) {
		o.mu.Unlock()
		return "", ErrTooManyReads
	}
	o.mu.Unlock()
	game, err := o.share(ctx, tag)
	if err != nil || game == nil {
		return "", err
	}
	return game.Owner, nil
}

// mayRead counts a read for a login. It reports whether the limit allows the read.
func (o *Owners) mayRead(now time.Time) bool {
	if now.Sub(o.second) >= time.Second {
		o.second, o.logins = now, 0
	}
	o.logins++
	return o.logins <= loginReads
}

// share reads the directory. Concurrent calls for the same game session share one read.
func (o *Owners) share(ctx context.Context, tag coord.Tag) (*coord.Game, error) {
	o.mu.Lock()
	r := o.reads[tag]
	first := r == nil
	if first {
		r = &reading{done: make(chan struct{})}
		o.reads[tag] = r
	}
	o.mu.Unlock()
	if first {
		r.game, r.err = o.Read(context.WithoutCancel(ctx), tag)
		o.mu.Lock()
		delete(o.reads, tag)
		o.mu.Unlock()
		close(r.done)
	}
	select {
	case <-r.done:
		return r.game, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Read reads the current record of a game session from the directory, and caches its owner. It returns nil if there is
// no record.
func (o *Owners) Read(ctx context.Context, tag coord.Tag) (*coord.Game, error) {
	o.count.DirReads.Add(counters.CacheMiss, 1)
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	found, err := o.coordinator.Read(ctx, coord.Query{Key: o.keys.Game(tag)})
	if err != nil {
		return nil, err
	}
	var game *coord.Game
	known := owner{until: time.Now().Add(absentFor)}
	if len(found.KVs) > 0 {
		g, err := coord.Decode[coord.Game](found.KVs[0])
		if err != nil {
			return nil, err
		}
		game, known.name = &g, g.Owner
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.put(tag, known)
	return game, nil
}

// Set caches the owner of a game session.
func (o *Owners) Set(tag coord.Tag, name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.put(tag, owner{name: name})
}

// Forget drops a game session from the cache, because the cached owner does not have it.
func (o *Owners) Forget(tag coord.Tag) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.young, tag)
	delete(o.old, tag)
}

// put adds an entry to the newer half of the cache. If that half is full, put drops the older half first.
func (o *Owners) put(tag coord.Tag, known owner) {
	if _, there := o.young[tag]; !there && len(o.young) >= ownersMax/2 {
		o.young, o.old = map[coord.Tag]owner{}, o.young
	}
	o.young[tag] = known
}
