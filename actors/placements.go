package actors

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"troupe/actors/fleet"
	"troupe/actors/placement"
	"troupe/actors/store"
	"troupe/messages"
)

// checkQueues returns an error if a configured queue has a destination that can never have existed. Only the
// configuration could define such an id, and it does not. Other invalid destinations are logged as warnings: they may
// have been valid once, because the API may have deleted the fleet or alias, or its record may be damaged. Placements
// skip such a destination.
func checkQueues(registry *fleet.Registry, configured []*messages.Queue, state *placement.State, log zerolog.Logger) error {
	for _, q := range state.InEffect(configured) {
		if i := slices.Index(configured, q); i >= 0 {
			for _, arn := range q.Destinations {
				err := registry.CheckDestinations([]string{arn})
				if errors.Is(err, &messages.Error{Code: messages.NotFound}) && !mayHaveBeen(registry, arn) {
					return fmt.Errorf("queues[%d].destinations: queue %s: %w, neither in the configuration nor in the store", i, q.Name, err)
				}
			}
		}
		if err := registry.CheckDestinations(q.Destinations); err != nil {
			log.Warn().Err(err).Str("queue", string(q.Name)).Msg("a queue has a destination that takes no placements")
		}
	}
	return nil
}

// mayHaveBeen reports whether an unknown fleet or alias may have existed. This is so if the API generated its id or if
// its record is damaged.
func mayHaveBeen(registry *fleet.Registry, arn string) bool {
	id := arn[strings.LastIndexByte(arn, '/')+1:]
	kind, tail, _ := strings.Cut(id, "-")
	return uuid.Validate(tail) == nil || registry.Unread(store.Kind(kind), id)
}
