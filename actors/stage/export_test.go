package stage

import "slices"

// ShardOfNth is shardOfNth.
func ShardOfNth(n uint64, shards int) int { return shardOfNth(n, shards) }

// ShardOf is the number of the shard of an actor.
func ShardOf(r *Ref) int { return slices.Index(r.mailbox.shard.stage.shards, r.mailbox.shard) }

// PosterRuns is how many mailboxes posters have run on the shard of an actor.
func PosterRuns(r *Ref) uint64 {
	s := r.mailbox.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.poster == nil {
		return 0
	}
	return s.poster.turn.Load() / 2
}
