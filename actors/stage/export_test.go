package stage

import (
	"slices"

	"troupe/messages/counters"
)

// PlaceOf exports placeOf.
func PlaceOf(n uint64, shards, groups int) (shard int, group uint8) {
	return placeOf(n, shards, groups)
}

// ShardOf returns the index of an actor's shard.
func ShardOf(r *Ref) int { return slices.Index(r.mailbox.shard.stage.shards, r.mailbox.shard) }

// PosterRuns returns how many mailboxes posters have run on the shard of an actor.
func PosterRuns(r *Ref) uint64 {
	s := r.mailbox.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.poster == nil {
		return 0
	}
	return s.poster.turn.Load() / 2
}

// Kind returns the kind of the actor.
func (r *Ref) Kind() counters.ActorKind { return r.kind }

// Children returns the number of children that have not exited.
func (c *Context) Children() int { return int(c.children) }
