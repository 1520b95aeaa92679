package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"troupe/actors/fleet"
	"troupe/actors/fleet/catalog"
	"troupe/actors/placement"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/tracing"
)

// queueKind is the kind of queues in ARNs.
const queueKind = "gamesessionqueue"

// checkDestinations refuses invalid destinations of a queue.
func (s *System) checkDestinations(ctx context.Context, destinations []string) error {
	if len(destinations) == 0 {
		return nil
	}
	_, err := ask[stage.None](ctx, s.fleet, catalog.CheckDestinations{Destinations: destinations})
	return err
}

// checkQueues refuses a configured queue if one of its destinations can never have existed: an
// id that only the configuration can define, and does not. Other faults are warnings, because
// they may have come later: the API has deleted the fleet or alias, or its record is damaged.
// Placements skip such a destination.
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

// mayHaveBeen reports whether an unknown fleet or alias may have existed: the API generated
// its id, or its record is damaged.
func mayHaveBeen(registry *fleet.Registry, arn string) bool {
	id := arn[strings.LastIndexByte(arn, '/')+1:]
	kind, tail, _ := strings.Cut(id, "-")
	return uuid.Validate(tail) == nil || registry.Unread(store.Kind(kind), id)
}

// CreateQueue makes a queue.
func (s *System) CreateQueue(ctx context.Context, q messages.Queue) (*messages.Queue, error) {
	if err := s.checkDestinations(ctx, q.Destinations); err != nil {
		return nil, err
	}
	return ask[*messages.Queue](ctx, s.placements, placement.NewQueue{Queue: q})
}

// UpdateQueue changes a queue. Its placements use the change from their next pass.
func (s *System) UpdateQueue(ctx context.Context, q messages.UpdateQueue) (*messages.Queue, error) {
	if q.Destinations != nil {
		if err := s.checkDestinations(ctx, *q.Destinations); err != nil {
			return nil, err
		}
	}
	return ask[*messages.Queue](ctx, s.placements, q)
}

// DeleteQueue deletes a queue; its placements become FAILED.
func (s *System) DeleteQueue(ctx context.Context, name messages.QueueName) error {
	_, err := ask[stage.None](ctx, s.placements, placement.DropQueue{Name: name})
	return err
}

// Queues reads all queues, oldest first.
func (s *System) Queues(ctx context.Context) ([]*messages.Queue, error) {
	return ask[[]*messages.Queue](ctx, s.placements, placement.Queues{})
}

// StartPlacement starts a placement, which is PENDING.
func (s *System) StartPlacement(ctx context.Context, q messages.StartPlacement) (*messages.Placement, error) {
	q.Trace = tracing.From(ctx)
	return ask[*messages.Placement](ctx, s.placements, q)
}

// Placement reads a placement.
func (s *System) Placement(ctx context.Context, id messages.PlacementID) (*messages.Placement, error) {
	return ask[*messages.Placement](ctx, s.placements, placement.GetPlacement{ID: id})
}

// StopPlacement cancels a PENDING placement.
func (s *System) StopPlacement(ctx context.Context, id messages.PlacementID) (*messages.Placement, error) {
	return ask[*messages.Placement](ctx, s.placements, placement.StopPlacement{ID: id})
}

// placement returns the options of queues and placements.
func (o *Options) placement() placement.Options {
	p := o.Placement
	if p.Region == "" {
		p.Region = o.Fleet.Region
	}
	if p.Store == nil {
		p.Store = o.Fleet.Store
	}
	if p.OnEvent == nil {
		p.OnEvent = o.Fleet.OnEvent
	}
	p.Tracer = o.Fleet.Tracer
	return p
}
