package fleet

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"troupe/actors/gamesession"
	"troupe/actors/stage"
	"troupe/messages"
)

// Errors of Drain and CancelDrain.
var (
	ErrDrainCancelled = errors.New("the drain was cancelled")
	ErrNotDraining    = errors.New("the host is not draining")
	ErrDrainTooLate   = errors.New("the drain cannot be cancelled any more: its games are over, or its grace is")
)

type drain struct {
	on      bool
	ending  bool         // the grace period or all game sessions are over, so the drain can no longer be cancelled
	grace   *stage.Timer // nil if there is no grace period
	until   time.Time    // time at which grace fires
	waiting []func(error)
}

func (d *drain) answer(err error) {
	waiting := d.waiting
	d.waiting = nil
	for _, done := range waiting {
		done(err)
	}
}

// limit ends the drain's grace period after the given time, unless an earlier Drain set an earlier end.
func (d *drain) limit(c *stage.Context, grace time.Duration) {
	switch until := time.Now().Add(grace); {
	case d.grace == nil:
		d.grace, d.until = c.After(grace, graceOver{}), until
	case until.Before(d.until):
		d.grace.Reset(grace)
		d.until = until
	}
}

func (gs *games) onDrain(m stage.Request[messages.Drain, stage.None]) {
	gs.drain.on = true
	gs.drain.waiting = append(gs.drain.waiting, m.With(new(stage.None)))
	gs.hosting.Drain()
	gs.launchAll()
	for _, e := range gs.order {
		if !e.runs() || gs.outlives(e) { // game sessions in processes of their own outlive the host (server-sdk.md 12.4)
			continue
		}
		// CurrentPlayers does not count a player session that is still being stored. Seats does not count a player that
		// is rejoining. So both are checked.
		if e.published.Session().CurrentPlayers == 0 && len(e.published.Seats().Players) == 0 {
			gs.terminate(e)
		} else {
			e.ref.Tell(gamesession.EndWhenEmpty{On: true})
		}
	}
	if m.Request.Grace > 0 {
		gs.drain.limit(gs.context, m.Request.Grace)
	} else {
		gs.endAll()
	}
	gs.finishDrain()
}

// cancelDrain accepts new game sessions again and loads scripts that were updated during the drain. Game sessions and
// processes that have already ended are not restored.
func (gs *games) cancelDrain() error {
	switch {
	case !gs.drain.on:
		return ErrNotDraining
	case gs.drain.ending:
		return ErrDrainTooLate
	}
	gs.drain.grace.Stop()
	was := gs.drain
	gs.drain = drain{}
	for _, e := range gs.order {
		if e.runs() && !gs.outlives(e) {
			e.ref.Tell(gamesession.EndWhenEmpty{On: e.superseded})
		}
	}
	gs.hosting.Resume()
	gs.launchAll()
	gs.news.tell()
	was.answer(ErrDrainCancelled)
	return nil
}

// drainSpread is the time over which the ends of many game sessions are spread, so that their players do not all log in
// elsewhere at the same moment.
const drainSpread = 500 * time.Millisecond

func (gs *games) endAll() {
	gs.drain.ending = true
	live := slices.DeleteFunc(slices.Clone(gs.order), func(e *entry) bool { return !e.runs() || gs.outlives(e) })
	for _, e := range live {
		if len(live) < 100 {
			gs.terminate(e)
		} else {
			gs.context.After(rand.N(drainSpread), endOne{e.id})
		}
	}
	gs.finishDrain()
}

func (gs *games) terminate(e *entry) {
	if e != nil && e.ref != nil {
		e.ref.Tell(gamesession.Terminate{Reason: messages.CloseGoingAway, Text: "host shut down"})
	}
}

func (gs *games) finishDrain() {
	if !gs.drain.on || len(gs.refs)-gs.serving+gs.hosting.Standbys() > 0 {
		return
	}
	if len(gs.servers.launched) > 0 && !gs.drain.ending { // they have been told to end; until the grace is over, they may
		return
	}
	gs.drain.ending = true
	gs.drain.answer(nil)
}
