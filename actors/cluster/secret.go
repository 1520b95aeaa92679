package cluster

import (
	"context"
	"crypto/rand"
	"fmt"

	"troupe/messages/coord"
)

// secretSize is the number of random bytes in a secret.
const secretSize = 32

// Secret returns the random bytes that all nodes of a cluster share for a use, such as ids. The first caller creates
// them. The errors are the coordinator's; the caller may retry after any of them.
func Secret(ctx context.Context, c Coordinator, k coord.Keys, use string) ([]byte, error) {
	key := k.Secret(use)
	for range 2 {
		found, err := c.Read(ctx, coord.Query{Key: key})
		if err != nil {
			return nil, err
		}
		if len(found.KVs) > 0 {
			if n := len(found.KVs[0].Value); n != secretSize {
				return nil, fmt.Errorf("%s has %d bytes, and must have %d", key, n, secretSize)
			}
			return found.KVs[0].Value, nil
		}
		value := make([]byte, secretSize)
		_, _ = rand.Read(value) // never fails
		if _, _, err := c.Commit(ctx, []coord.Condition{coord.Absent(key)}, []coord.Change{coord.Put(key, value)}); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s is deleted again and again", key)
}
