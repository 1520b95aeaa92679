package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages/coord"
	"troupe/messages/counters"
)

// Counted returns a Coordinator that counts the requests to c. When the database of the coordinator is full, it says so
// once, and again when there is space.
func Counted(c Coordinator, count *counters.Set, log zerolog.Logger) Coordinator {
	return &counted{c, count, log}
}

type counted struct {
	c     Coordinator
	count *counters.Set
	log   zerolog.Logger
}

// done counts a request.
func (c *counted) done(op string, began time.Time, err error) {
	c.count.EtcdLatency.Observe(op, time.Since(began))
	switch {
	case errors.Is(err, coord.ErrUnknown):
		c.count.EtcdUnknown.Add(1)
	case errors.Is(err, coord.ErrGone):
		c.count.LeasesLost.Add(1)
	case errors.Is(err, coord.ErrFull) && c.count.EtcdFull.Swap(1) == 0:
		c.log.Error().Err(err).Msg("running games go on, and changes are refused")
	}
}

// Read implements Coordinator.
func (c *counted) Read(ctx context.Context, q coord.Query) (found coord.Found, err error) {
	defer func(began time.Time) { c.done("read", began, err) }(time.Now())
	return c.c.Read(ctx, q)
}

// Commit implements Coordinator.
func (c *counted) Commit(ctx context.Context, when []coord.Condition, changes []coord.Change) (done bool, at int64, err error) {
	defer func(began time.Time) { c.done("commit", began, err) }(time.Now())
	done, at, err = c.c.Commit(ctx, when, changes)
	if err == nil && done && writes(changes) && c.count.EtcdFull.Swap(0) != 0 {
		c.log.Info().Msg("the coordinator accepts changes again")
	}
	return done, at, err
}

// writes reports whether a change needs space: a full coordinator accepts the others.
func writes(changes []coord.Change) bool {
	for _, c := range changes {
		if !c.Delete {
			return true
		}
	}
	return false
}

// Watch implements Coordinator.
func (c *counted) Watch(ctx context.Context, prefix string, after int64) <-chan coord.Batch {
	return c.c.Watch(ctx, prefix, after)
}

// Grant implements Coordinator.
func (c *counted) Grant(ctx context.Context, ttl time.Duration) (l coord.Lease, err error) {
	defer func(began time.Time) { c.done("grant", began, err) }(time.Now())
	return c.c.Grant(ctx, ttl)
}

// Renew implements Coordinator.
func (c *counted) Renew(ctx context.Context, l coord.Lease) (err error) {
	defer func(began time.Time) { c.done("renew", began, err) }(time.Now())
	return c.c.Renew(ctx, l)
}

// Revoke implements Coordinator.
func (c *counted) Revoke(ctx context.Context, l coord.Lease) (err error) {
	defer func(began time.Time) { c.done("revoke", began, err) }(time.Now())
	return c.c.Revoke(ctx, l)
}

// Compact implements Coordinator.
func (c *counted) Compact(ctx context.Context, revision int64) (err error) {
	defer func(began time.Time) { c.done("compact", began, err) }(time.Now())
	return c.c.Compact(ctx, revision)
}
