package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/store"
	"troupe/messages/counters"
)

// open opens the store. Without a path, the store is in memory.
func (c *Store) open(count *counters.Set, log zerolog.Logger) (store.Store, error) {
	if c.Path == "" {
		return new(store.Memory), nil
	}
	at := time.Now()
	s, err := store.Open(store.Options{Path: c.Path, SkipDamaged: c.SkipDamaged, Log: log, Counters: count})
	if err != nil {
		return nil, fmt.Errorf("host: store.path: %w", err)
	}
	log.Info().Str("path", c.Path).Dur("took_ms", time.Since(at)).Msg("store opened")
	return s, nil
}

// size returns a function that returns the bytes of the database and its write-ahead log. It returns nil if
// the store has no file.
func (c *Store) size() func() (int64, error) {
	if c.Path == "" {
		return nil
	}
	return func() (sum int64, err error) {
		for _, name := range []string{c.Path, c.Path + "-wal"} {
			info, err := os.Stat(name)
			switch {
			case err == nil:
				sum += info.Size()
			case !errors.Is(err, fs.ErrNotExist):
				return 0, err
			}
		}
		return sum, nil
	}
}
