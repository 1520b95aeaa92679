package cluster

import (
	"context"
	"time"

	"troupe/messages/coord"
)

// compactEvery is the interval at which KeepHistory reads the revision of the coordinator, and compacts.
const compactEvery = time.Minute

// KeepHistory discards the coordinator's history that is older than age, until ctx ends. age is at least a minute. Any
// node may call it, but one for the whole coordinator is enough.
func KeepHistory(ctx context.Context, c Coordinator, k coord.Keys, age time.Duration) {
	var seen []int64 // revisions, one for each compactEvery; the first one is the oldest
	for ok := true; ok; ok = Sleep(ctx, compactEvery) {
		found, err := request(ctx, func(ctx context.Context) (coord.Found, error) {
			return c.Read(ctx, coord.Query{Key: k.Meta(), Keys: true})
		})
		if err != nil {
			continue // the revisions seem older than they are, so less is discarded
		}
		if len(seen) > 0 && found.At < seen[len(seen)-1] {
			seen = nil // the coordinator was restored
		}
		if seen = append(seen, found.At); len(seen) <= int(age/compactEvery) {
			continue
		}
		_, _ = request(ctx, func(ctx context.Context) (any, error) { return nil, c.Compact(ctx, seen[0]) }) // the next compaction includes it
		seen = seen[1:]
	}
}
