package host

import (
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/store"
	"troupe/messages/counters"
)

// open opens the store.
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
