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

// loadBans reads the bans that the last run has stored.
func (h *Host) loadBans(log zerolog.Logger) error {
	list, damaged, err := bans.Load(h.store)
	if err != nil {
		return err
	}
	actors.ReportDamaged(log, h.count, damaged)
	h.bans = list
	return nil
}

// Ban keeps a player out of all game sessions until a time, also after a restart, and returns
// when that is durable. It does not remove the player from those where it is.
func (h *Host) Ban(ctx context.Context, b messages.Ban) error {
	over, err := h.bans.Add(b, time.Now())
	changes := make([]store.Change, 0, len(over)+1)
	for _, player := range over {
		changes = append(changes, store.Delete(store.Ban, string(player)))
	}
	if err == nil {
		changes = append(changes, store.Put(store.Ban, string(b.Player), b))
	}
	if stored := h.commit(ctx, changes); err == nil && stored != nil {
		h.bans.Lift(b.Player)
		return stored
	}
	return err
}

// LiftBan ends a ban, and reports whether there was one.
func (h *Host) LiftBan(ctx context.Context, player messages.PlayerID) (bool, error) {
	if !h.bans.Lift(player) {
		return false, nil
	}
	return true, h.commit(ctx, []store.Change{store.Delete(store.Ban, string(player))})
}

// commit waits until changes are durable.
func (h *Host) commit(ctx context.Context, changes []store.Change) error {
	if len(changes) == 0 {
		return nil
	}
	done := make(chan error, 1)
	h.store.Commit(changes, func(err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
