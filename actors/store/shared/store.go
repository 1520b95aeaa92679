package shared

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"troupe/actors/cluster"
	"troupe/actors/store"
	"troupe/messages/coord"
)

// ErrOver means that the term is over. It is a store.ErrClosed. A change that was in progress may have been made.
var ErrOver = fmt.Errorf("%w: this node no longer leads", store.ErrClosed)

// Defaults of Options.
const (
	WaitingMax = 65_536
	BytesMax   = 64 << 20
)

// Options of a Store.
type Options struct {
	Coordinator cluster.Coordinator
	Prefix      string          // prefix of all keys of the cluster, with a slash at its end
	Term        coord.Condition // holds as long as this node leads
	// OnOver is called once, from the store's goroutine, if the term turns out to be over. It must not block. It may be
	// nil.
	OnOver func()
	// WaitingMax is the maximum number of waiting changes, and BytesMax the maximum total size of their values in bytes.
	// Further changes are refused with store.ErrBusy.
	WaitingMax, BytesMax int
}

// Store stores records on a coordinator for one term. Its methods may be called from any goroutine.
type Store struct {
	o      Options
	ctx    context.Context // ends with the store
	cancel context.CancelFunc
	ended  chan struct{}

	mu      sync.Mutex
	changed sync.Cond // signals changes of the fields that mu guards
	queue   []commit
	waiting int // number of changes in queue and in progress
	bytes   int // total size of their values in bytes
	pending int // number of commits in queue and in progress
	closed  bool
	over    bool

	// used only by the goroutine of the store
	seq    int64  // revision of the key seq
	number uint64 // number of the last transaction in this term
	blobs  map[string]blob
}

type commit struct {
	changes []store.Change
	bytes   int
	done    func(error)
}

var _ store.Store = (*Store)(nil)

// Open creates a Store. It deletes pieces of values that no record names, and finishes a commit of the previous term that
// needs several transactions.
func Open(ctx context.Context, o Options) (*Store, error) {
	o.WaitingMax, o.BytesMax = cmp.Or(o.WaitingMax, WaitingMax), cmp.Or(o.BytesMax, BytesMax)
	s := &Store{o: o, ended: make(chan struct{}), blobs: map[string]blob{}}
	s.changed.L = &s.mu
	found, err := o.Coordinator.Read(ctx, coord.Query{Key: s.seqKey()})
	if err != nil {
		return nil, err
	}
	if len(found.KVs) > 0 {
		s.seq = found.KVs[0].Changed
	}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, s.cancel)() // ctx applies only until the store is open
	if err = s.sweep(ctx); err == nil {
		err = s.finishFormer()
	}
	if err != nil {
		s.cancel()
		return nil, err
	}
	go s.run()
	return s, nil
}

// pageMax is the maximum number of records in one read.
const pageMax = 1000

// Load implements store.Store. While the coordinator does not answer, it repeats its request until the store ends.
func (s *Store) Load(kind store.Kind, f func(id string, value []byte) error) ([]store.Damage, error) {
	prefix, err := s.prefix(kind)
	if err != nil {
		return nil, err
	}
	q := coord.Query{Key: prefix, Prefix: true, Most: pageMax}
	for {
		found, err := s.read(q)
		if errors.Is(err, coord.ErrCompacted) { // pages took more than ten minutes; read the rest at a newer revision
			q.At = 0
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, kv := range found.KVs {
			value, err := whole(s.read, s.o.Prefix, kv, found.At)
			if err != nil {
				return nil, err
			}
			if err := f(kv.Key[len(prefix):], value); err != nil {
				return nil, err
			}
		}
		if !found.More {
			return nil, nil
		}
		q.After, q.At = found.KVs[len(found.KVs)-1].Key, found.At
	}
}

// read calls Read until the coordinator answers.
func (s *Store) read(q coord.Query) (coord.Found, error) {
	for {
		found, err := s.o.Coordinator.Read(s.ctx, q)
		if s.ctx.Err() != nil {
			return found, ErrOver
		}
		if !errors.Is(err, coord.ErrUnavailable) {
			return found, err
		}
		s.rest()
	}
}

// pause is the pause before a request is repeated. The request has already waited for its timeout.
const pause = 50 * time.Millisecond

func (s *Store) rest() { cluster.Sleep(s.ctx, pause) }

// Commit implements store.Store. In addition to the errors of package store, it returns coord.ErrTooLarge for keys that
// are too long, coord.ErrFull, and ErrOver. Changes of any number and size are made together or not at all, but the other
// nodes may see them one after the other if they need several transactions.
func (s *Store) Commit(changes []store.Change, done func(error)) {
	if done == nil {
		done = func(error) {}
	}
	c := commit{changes: changes, done: done}
	for _, change := range changes {
		c.bytes += len(change.Value)
	}
	err := s.check(changes)
	if err == nil {
		err = s.take(c)
	}
	if err != nil {
		done(err)
	}
}

func (s *Store) take(c commit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over:
		return ErrOver
	case s.closed:
		return store.ErrClosed
	case s.waiting > 0 && (s.waiting+len(c.changes) > s.o.WaitingMax || s.bytes+c.bytes > s.o.BytesMax):
		return store.ErrBusy
	}
	s.queue = append(s.queue, c)
	s.waiting += len(c.changes)
	s.bytes += c.bytes
	s.pending++
	s.changed.Broadcast()
	return nil
}

// Flush implements store.Store.
func (s *Store) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.pending > 0 {
		s.changed.Wait()
	}
}

// Close implements store.Store. It waits for the coordinator. Use End to end the store at once.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.changed.Broadcast()
	s.mu.Unlock()
	<-s.ended
	s.cancel()
	return nil
}

// End ends the store at once. Waiting changes fail with ErrOver. The callbacks of Commit must not call End.
func (s *Store) End() {
	s.cancel()
	s.mu.Lock()
	s.over = true
	s.changed.Broadcast()
	s.mu.Unlock()
	<-s.ended
}

// run writes transactions until the store ends.
func (s *Store) run() {
	defer close(s.ended)
	for {
		group := s.next()
		if group == nil {
			return
		}
		var err error
		if first := group[0].changes; s.fits(first) {
			err = s.write(group)
		} else { // next has returned only this commit
			err = s.writeLarge(first)
		}
		if errors.Is(err, ErrOver) {
			group = append(group, s.giveUp()...)
		}
		s.answer(group, err)
	}
}

// next waits for commits and returns those of the next transaction. It returns nil once the store is closed and no
// commit waits.
func (s *Store) next() []commit {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) == 0 {
		if s.closed || s.over {
			return nil
		}
		s.changed.Wait()
	}
	n, size := 0, new(size)
	for n < len(s.queue) && (size.add(s, s.queue[n].changes) || n == 0) {
		n++
	}
	group := s.queue[:n:n]
	if s.queue = s.queue[n:]; len(s.queue) == 0 {
		s.queue = nil
	}
	return group
}

// giveUp ends the term and returns the waiting commits.
func (s *Store) giveUp() []commit {
	s.mu.Lock()
	first := !s.over
	s.over = true
	rest := s.queue
	s.queue = nil
	s.mu.Unlock()
	if first && s.ctx.Err() == nil && s.o.OnOver != nil {
		s.o.OnOver()
	}
	return rest
}

// answer answers commits in order. If the commits failed, it answers the last one first.
func (s *Store) answer(group []commit, err error) {
	s.mu.Lock()
	for _, c := range group {
		s.waiting -= len(c.changes)
		s.bytes -= c.bytes
	}
	s.mu.Unlock()
	for i := range group {
		if err != nil {
			i = len(group) - 1 - i
		}
		group[i].done(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending -= len(group)
	s.changed.Broadcast()
}

// Record reads one record of a cluster, no matter which node leads. It returns nil if there is none. prefix is that of all
// keys of the cluster. The error is the coordinator's.
func Record(ctx context.Context, c cluster.Coordinator, prefix string, kind store.Kind, id string) ([]byte, error) {
	of, err := (&Store{o: Options{Prefix: prefix}}).prefix(kind)
	if err != nil {
		return nil, err
	}
	read := func(q coord.Query) (coord.Found, error) { return c.Read(ctx, q) }
	found, err := read(coord.Query{Key: of + id})
	if err != nil || len(found.KVs) == 0 {
		return nil, err
	}
	return whole(read, prefix, found.KVs[0], found.At)
}

// prefix returns the prefix of the keys of a kind.
func (s *Store) prefix(kind store.Kind) (string, error) {
	switch kind {
	case store.Script, store.Content, store.Fleet, store.Alias, store.Location, store.Configured, store.Queue, store.RuleSet,
		store.Matchmaker, store.Ban, store.Compute, store.Build:
		return s.o.Prefix + catalogKeys + string(kind) + "/", nil
	case store.Placement:
		return s.o.Prefix + "place/", nil
	case store.Ticket, store.Match, store.Event, store.Charge, store.Secret:
		return s.o.Prefix + string(kind) + "/", nil
	case store.MatchedGame:
		return s.o.Prefix + "matched/", nil
	case largeKind:
		return s.o.Prefix + "large/", nil
	}
	return "", fmt.Errorf("store: records of the kind %s are a node's own", kind)
}

func (s *Store) seqKey() string { return s.o.Prefix + "seq" }

// catalogKeys is the prefix of the keys of all records that are copied to every node. Each change of such a record also
// writes the key catalogAt. The revision of catalogAt is the revision that a complete copy must have reached.
const (
	catalogKeys = "cat/"
	catalogAt   = catalogKeys + "at"
)
