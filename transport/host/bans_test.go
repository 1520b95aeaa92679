package host

import (
	"context"
	"errors"
	"testing"
	"time"

	"troupe/actors/bans"
	"troupe/actors/store"
	"troupe/messages"
)

// disk is a store whose commits wait for the test.
type disk struct {
	store.Store
	waiting []func(error)
}

func (d *disk) Commit(_ []store.Change, done func(error)) { d.waiting = append(d.waiting, done) }

// answer ends the oldest commit.
func (d *disk) answer(err error) {
	first := d.waiting[0]
	d.waiting = d.waiting[1:]
	first(err)
}

// over is a context that has ended: its caller has gone, while what it asked for goes on.
func over(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// A change of the bans that the store refuses changes nothing, also for a player who is banned; one whose caller does not wait
// comes all the same, once it is durable, and other changes wait for it.
func TestBansAreWhatTheStoreHas(t *testing.T) {
	d := new(disk)
	h := &Host{store: d, bans: bans.New(), banning: make(chan struct{}, 1)}
	ban := messages.Ban{Player: "ann", Until: time.Now().Add(time.Hour)}
	h.bans.Put(ban, nil)
	ask := func(change func(context.Context) error) error {
		t.Helper()
		for {
			if err := change(over(t)); !errors.Is(err, context.Canceled) || len(d.waiting) > 0 {
				return err
			}
		}
	}
	full := errors.New("the disk is full")

	longer := ban
	longer.Until = ban.Until.Add(time.Hour)
	if err := ask(func(ctx context.Context) error { return h.Ban(ctx, longer) }); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if all := h.bans.All(time.Now()); len(all) != 1 || !all[0].Until.Equal(ban.Until) {
		t.Errorf("before it is durable: %v", all)
	}
	if _, err := h.LiftBan(over(t), "ann"); !errors.Is(err, context.Canceled) || len(d.waiting) != 1 {
		t.Errorf("two changes at once: %v", err)
	}
	d.answer(full)
	if all := h.bans.All(time.Now()); len(all) != 1 || !all[0].Until.Equal(ban.Until) {
		t.Errorf("the earlier ban: %v", all)
	}

	lift := func(ctx context.Context) error { _, err := h.LiftBan(ctx, "ann"); return err }
	ask(lift)
	d.answer(full)
	if !h.bans.Has("ann", time.Now()) {
		t.Error("lifted, and after a restart she is banned again")
	}
	ask(lift)
	d.answer(nil)
	if h.bans.Has("ann", time.Now()) {
		t.Error("not lifted")
	}
	ask(func(ctx context.Context) error { return h.Ban(ctx, ban) })
	d.answer(nil)
	if !h.bans.Has("ann", time.Now()) {
		t.Error("she is in the store, and not kept out")
	}

	h.store = refuses{}
	if err := h.Ban(t.Context(), ban); !errors.Is(err, &messages.Error{Code: messages.Unavailable}) {
		t.Error(err)
	}
}

// refuses is a store that cannot write.
type refuses struct{ store.Store }

func (refuses) Commit(_ []store.Change, done func(error)) { done(store.ErrBusy) }
