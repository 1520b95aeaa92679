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
	ownersMax = 100_000 // maximum number of game sessions whose owner is cached
	// AbsentFor is how long a missing owner is cached.
	AbsentFor  = 5 * time.Second
	loginReads = 200 // maximum number of reads for logins per second
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
	young, old map[coord.Tag]Whereabouts
	reads      map[coord.Tag]*reading // under way
	second     time.Time              // the second to which logins applies
	logins     int
}

// Whereabouts says which node runs a game session.
type Whereabouts struct {
	Owner string // name of the node; "" if no node runs the game session
	Ended bool   // the directory knows that the game session has ended; otherwise it knows nothing about it
	Lost  bool   // it has ended because its node was lost

	until time.Time // without an Owner: how long it is cached
}

// reading is a read in progress. All callers that ask for the same game session wait for it.
type reading struct {
	done  chan struct{}
	where Whereabouts
	err   error
}

// NewOwners returns an Owners with an empty cache.
func NewOwners(c Coordinator, k coord.Keys, count *counters.Set) *Owners {
	return &Owners{coordinator: c, keys: k, count: count, young: map[coord.Tag]Whereabouts{}, reads: map[coord.Tag]*reading{}}
}

// Find returns where a game session is. Unless fresh is set, it uses the cache if possible. If login is set, a read
// counts against the limit for logins, and Find may return ErrTooManyReads. Other errors are the coordinator's and
// ctx's.
func (o *Owners) Find(ctx context.Context, tag coord.Tag, fresh, login bool) (Whereabouts, error) {
	o.mu.Lock()
	known, there := o.young[tag]
	if !there {
		known, there = o.old[tag]
	}
	now := time.Now()
	if there && !fresh && (known.Owner != "" || now.Before(known.until)) {
		o.put(tag, known)
		o.mu.Unlock()
		o.count.DirReads.Add(counters.CacheHit, 1)
		return known, nil
	}
	r := o.reads[tag]
	first := r == nil || fresh && !login // another caller's read may have begun before what this caller has to see
	if first && login && !o.mayRead(now) {
		o.mu.Unlock()
		return Whereabouts{}, ErrTooManyReads
	}
	if first {
		r = &reading{done: make(chan struct{})}
		o.reads[tag] = r
	}
	o.mu.Unlock()
	if first {
		o.read(context.WithoutCancel(ctx), tag, r)
	}
	select {
	case <-r.done:
		return r.where, r.err
	case <-ctx.Done():
		return Whereabouts{}, ctx.Err()
	}
}

// mayRead counts a read for a login. It reports whether the limit allows the read.
func (o *Owners) mayRead(now time.Time) bool {
	if now.Sub(o.second) >= time.Second {
		o.second, o.logins = now, 0
	}
	o.logins++
	return o.logins <= loginReads
}

// read reads the directory, caches the answer, and ends r.
func (o *Owners) read(ctx context.Context, tag coord.Tag, r *reading) {
	r.where, r.err = o.look(ctx, tag)
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.err == nil {
		o.put(tag, r.where)
	}
	if o.reads[tag] == r {
		delete(o.reads, tag)
	}
	close(r.done)
}

// look reads the record of a game session, or else what is left of one that has ended.
func (o *Owners) look(ctx context.Context, tag coord.Tag) (w Whereabouts, err error) {
	o.count.DirReads.Add(counters.CacheMiss, 1)
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	found, err := o.coordinator.Read(ctx, coord.Query{Key: o.keys.Game(tag), Else: o.keys.Gone(tag)})
	if err != nil {
		return w, err
	}
	w.until = time.Now().Add(AbsentFor)
	if len(found.KVs) == 0 {
		return w, nil
	}
	g, err := coord.Decode[coord.Gone](found.KVs[0]) // has the fields of coord.Game
	if found.KVs[0].Key == o.keys.Game(tag) {
		w.Owner = g.Owner
	} else {
		w.Ended, w.Lost = true, g.Text != ""
	}
	return w, err
}

// put adds an entry to the newer half of the cache. If that half is full, put drops the older half first.
func (o *Owners) put(tag coord.Tag, known Whereabouts) {
	if _, there := o.young[tag]; !there && len(o.young) >= ownersMax/2 {
		o.young, o.old = map[coord.Tag]Whereabouts{}, o.young
	}
	o.young[tag] = known
}
