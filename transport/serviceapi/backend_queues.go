package serviceapi

import (
	"context"

	"troupe/messages"
)

// QueueBackend is the part of a Backend for queues and placements. A method that changes
// something returns once the change is durable.
type QueueBackend interface {
	// CreateQueue makes a queue. A name that is taken is InvalidRequest, an unknown
	// destination is NotFound, and too many queues are LimitExceeded.
	CreateQueue(ctx context.Context, req messages.Queue) (*messages.Queue, error)
	// UpdateQueue changes the given fields. An unknown queue or destination is NotFound.
	UpdateQueue(ctx context.Context, req messages.UpdateQueue) (*messages.Queue, error)
	// DeleteQueue deletes a queue; its placements become FAILED.
	DeleteQueue(ctx context.Context, name messages.QueueName) error
	// Queues answers all queues.
	Queues(ctx context.Context) ([]*messages.Queue, error)

	// StartPlacement starts a placement, and answers with it as PENDING. An unknown queue
	// is NotFound, an id that cannot be used again InvalidRequest (D-220), and too many
	// placements at a time are LimitExceeded.
	StartPlacement(ctx context.Context, req messages.StartPlacement) (*messages.Placement, error)
	// Placement answers one placement; an unknown one is NotFound.
	Placement(ctx context.Context, id messages.PlacementID) (*messages.Placement, error)
	// StopPlacement cancels a placement; one that is not PENDING is InvalidRequest.
	StopPlacement(ctx context.Context, id messages.PlacementID) (*messages.Placement, error)
}
