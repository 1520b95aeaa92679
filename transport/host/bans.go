package host

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/actors/bans"
	"troupe/actors/store"
	"troupe/messages"
)

func (h *Host) loadBans(log zerolog.Logger) error {
	list, damaged, err := bans.Load(h.store)
	if err != nil {
		return err
	}
	actors.ReportDamaged(log, h.count, damaged)
	h.bans, h.banning = list, make(chan struct{}, 1)
	return nil
}

// expiredMax is how many expired bans a new one may delete. They fit in one transaction of a cluster's coordinator.
const expiredMax = 50

// Ban keeps a player out of all game sessions until a given time, also across restarts. It returns when the
// ban is durable and in force on this host. It does not remove the player from game sessions that the player is in. The
// error is a *messages.Error or ctx.Err(). Conflict means that there are too many bans. Unavailable means
// that the store failed and nothing has changed; in a cluster, the ban may still take effect. After ctx.Err(), the ban may still take effect.
func (h *Host) Ban(ctx context.Context, b messages.Ban) error {
	return h.changeBans(ctx, func() (changes []store.Change, apply func(), err error) {
		over, err := h.bans.Room(b.Player, time.Now())
		if err != nil {
			return nil, nil, messages.Errorf(messages.Conflict, "%v", err)
		}
		over = over[:min(len(over), expiredMax)]
		for _, player := range over {
			changes = append(changes, store.Delete(store.Ban, string(player)))
		}
		return append(changes, store.Put(store.Ban, string(b.Player), b)), func() { h.bans.Put(b, over) }, nil
	})
}

// LiftBan ends a ban and reports whether there was one. It returns the same errors as Ban.
func (h *Host) LiftBan(ctx context.Context, player messages.PlayerID) (there bool, err error) {
	err = h.changeBans(ctx, func() ([]store.Change, func(), error) {
		if !h.bans.There(player) {
			return nil, nil, nil
		}
		there = true // if it is decided again, the first attempt may have lifted the ban
		return []store.Change{store.Delete(store.Ban, string(player))}, func() { h.bans.Lift(player) }, nil
	})
	return there, err
}

// changeBans serializes the changes of bans. It commits the changes that decide returns and, if the commit
// succeeds, calls apply. In a cluster, decide may be called again, and the replicas of the nodes apply the changes.
func (h *Host) changeBans(ctx context.Context, decide func() ([]store.Change, func(), error)) error {
	select {
	case h.banning <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if h.node != nil {
		defer func() { <-h.banning }()
		return h.node.changeBans(ctx, decide)
	}
	changes, apply, err := decide()
	if err != nil || len(changes) == 0 {
		<-h.banning
		return err
	}
	done := make(chan error, 1)
	h.store.Commit(changes, func(err error) {
		if err == nil {
			apply()
		}
		<-h.banning
		done <- err
	})
	select {
	case err := <-done:
		if err != nil {
			return messages.Errorf(messages.Unavailable, "the store has refused the change: %v", err)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
