package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	"troupe/messages/coord"
)

const (
	ownersMax  = 100_000         // game sessions whose owner is remembered
	absentFor  = 5 * time.Second // that there is no owner is remembered so long
	loginReads = 200             // per second
)

// ErrTooManyReads says that the directory was read too often for logins: try again later.
var ErrTooManyReads = errors.New("directory: too many reads for logins")

// Owners remembers which node runs a game session, and reads the directory for others. When it is full it forgets what was not asked for
// lately. Its methods may be called from any goroutine.
type Owners struct {
	coordinator Coordinator
	keys        coord.Keys

	mu         sync.Mutex
	young, old map[coord.Tag]owner
	reads      map[coord.Tag]*reading // under way
	second     time.Time              // in which logins have made some reads
	logins     int
}

// owner is the node that runs a game session; "": none, until a time.
type owner struct {
	name  string
	until time.Time
}

// reading is a read that all who want to know wait for.
type reading struct {
	done chan struct{}
	game *coord.Game
	err  error
}

// NewOwners returns an Owners that remembers nothing.
func NewOwners(c Coordinator, k coord.Keys) *Owners {
	return &Owners{coordinator: c, keys: k, young: map[coord.Tag]owner{}, reads: map[coord.Tag]*reading{}}
}

// Find returns the node that runs a game session, from memory if it can; "": none. With login it counts against what logins may read, and
// may return ErrTooManyReads. Other errors are the coordinator's and ctx's.
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

// mayRead counts a read for a login.
func (o *Owners) mayRead(now time.Time) bool {
	if now.Sub(o.second) >= time.Second {
		o.second, o.logins = now, 0
	}
	o.logins++
	return o.logins <= loginReads
}

// share reads the directory. Of several at a time that ask for one game session one reads.
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

// Read returns the record of a game session as the directory has it now, nil if there is none, and remembers its owner.
func (o *Owners) Read(ctx context.Context, tag coord.Tag) (*coord.Game, error) {
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

// Set remembers the owner of a game session.
func (o *Owners) Set(tag coord.Tag, name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.put(tag, owner{name: name})
}

// Forget forgets what is remembered of a game session: its owner says that it is not there.
func (o *Owners) Forget(tag coord.Tag) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.young, tag)
	delete(o.old, tag)
}

// put remembers, and forgets the older half when half is full.
func (o *Owners) put(tag coord.Tag, known owner) {
	if _, there := o.young[tag]; !there && len(o.young) >= ownersMax/2 {
		o.young, o.old = map[coord.Tag]owner{}, o.young
	}
	o.young[tag] = known
}
