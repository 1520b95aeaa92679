package serviceapi

import (
	"context"
	"slices"
	"strings"

	"troupe/messages"
)

// fakeQueues has the queues and placements of a fakeBackend, whose mu guards them.
type fakeQueues struct {
	queues     []*messages.Queue
	placements []*messages.Placement
	started    []messages.StartPlacement // requests as received
	full       bool                      // if set, new placements are refused
}

func (b *fakeBackend) queueAt(name messages.QueueName) int {
	return slices.IndexFunc(b.queues, func(q *messages.Queue) bool { return q.Name == name })
}

func (b *fakeBackend) checkDestinations(q *messages.Queue) error {
	for _, d := range q.Destinations {
		id := d[strings.LastIndexByte(d, '/')+1:]
		var fleet messages.FleetID
		var alias messages.AliasID
		if strings.HasPrefix(id, "alias-") {
			alias = messages.AliasID(id)
		} else {
			fleet = messages.FleetID(id)
		}
		if _, err := b.resolve(fleet, alias); err != nil {
			return err
		}
	}
	return nil
}

func (b *fakeBackend) createQueue(ctx context.Context, req messages.Queue) (*messages.Queue, error) {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	if err == nil {
		err = b.checkDestinations(&req)
	}
	switch {
	case err != nil:
		return nil, err
	case b.queueAt(req.Name) >= 0:
		return nil, messages.Errorf(messages.InvalidRequest, "queue %q exists", req.Name)
	}
	req.Created = b.now
	b.queues = append(b.queues, &req)
	return &req, nil
}

func (b *fakeBackend) updateQueue(ctx context.Context, req messages.UpdateQueue) (*messages.Queue, error) {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	i := b.queueAt(req.Name)
	switch {
	case err != nil:
		return nil, err
	case i < 0:
		return nil, messages.Errorf(messages.NotFound, "no queue %q", req.Name)
	}
	next := req.Apply(b.queues[i])
	if err := b.checkDestinations(next); err != nil {
		return nil, err
	}
	b.queues[i] = next
	return next, nil
}

func (b *fakeBackend) deleteQueue(ctx context.Context, name messages.QueueName) error {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	i := b.queueAt(name)
	switch {
	case err != nil:
		return err
	case i < 0:
		return messages.Errorf(messages.NotFound, "no queue %q", name)
	}
	b.queues = slices.Delete(b.queues, i, i+1)
	return nil
}

func (b *fakeBackend) readQueues(ctx context.Context) ([]*messages.Queue, error) {
	err := b.enter(ctx, false)
	defer b.mu.Unlock()
	return b.queues, err
}

func (b *fakeBackend) placementAt(id messages.PlacementID) int {
	return slices.IndexFunc(b.placements, func(p *messages.Placement) bool { return p.Request.ID == id })
}

func (b *fakeBackend) startPlacement(ctx context.Context, req messages.StartPlacement) (*messages.Placement, error) {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case b.queueAt(req.Queue) < 0:
		return nil, messages.Errorf(messages.NotFound, "no queue %q", req.Queue)
	case b.placementAt(req.ID) >= 0:
		return nil, messages.Errorf(messages.InvalidRequest, "placement %q is PENDING", req.ID)
	case b.full:
		return nil, messages.Errorf(messages.LimitExceeded, "too many placements")
	}
	b.started = append(b.started, req)
	p := &messages.Placement{Request: req, Status: messages.PlacementPending, Started: b.now}
	b.placements = append(b.placements, p)
	return p, nil
}

func (b *fakeBackend) placement(ctx context.Context, id messages.PlacementID) (*messages.Placement, error) {
	err := b.enter(ctx, false)
	defer b.mu.Unlock()
	i := b.placementAt(id)
	switch {
	case err != nil:
		return nil, err
	case i < 0:
		return nil, messages.Errorf(messages.NotFound, "no placement %q", id)
	}
	return b.placements[i], nil
}

func (b *fakeBackend) stopPlacement(ctx context.Context, id messages.PlacementID) (*messages.Placement, error) {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	i := b.placementAt(id)
	switch {
	case err != nil:
		return nil, err
	case i < 0:
		return nil, messages.Errorf(messages.NotFound, "no placement %q", id)
	case b.placements[i].Status.Final():
		return nil, messages.Errorf(messages.InvalidRequest, "placement %q is not PENDING", id)
	}
	p := *b.placements[i]
	p.Status, p.Ended = messages.PlacementCancelled, b.now
	b.placements[i] = &p
	return &p, nil
}
