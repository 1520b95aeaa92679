package fleet

import (
	"slices"
	"time"

	"troupe/actors/serverprocess"
	"troupe/messages"
)

// push is a message that waits to be sent.
type push struct {
	messages.ProcessPush
	late bool      // it waits for a heartbeat on the next connection
	at   time.Time // since when it may be sent, but for the answers to requests
}

// push queues a message to a process. Of each kind only the newest waits.
func (gs *games) push(p *server, m messages.ProcessPush) {
	same := func(o push) bool {
		switch m.(type) {
		case messages.PushGameSession:
			_, ok := o.ProcessPush.(messages.PushGameSession)
			return ok
		case messages.PushTerminate:
			_, ok := o.ProcessPush.(messages.PushTerminate)
			return ok
		case messages.PushUpdate:
			_, ok := o.ProcessPush.(messages.PushUpdate)
			return ok && o.late
		}
		return false
	}
	p.pushes = append(slices.DeleteFunc(p.pushes, same), push{m, p.link == nil, gs.context.Now()})
	if len(p.pushes) > pushesMax {
		// Then at least three are results of backfills. The others must not be lost.
		i := slices.IndexFunc(p.pushes, func(o push) bool { _, ok := o.ProcessPush.(messages.PushUpdate); return ok })
		p.pushes = slices.Delete(p.pushes, i, i+1)
	}
}

// delay makes all pushes wait for the next connection. Of the results of backfills only the newest does (SS-205).
func (p *server) delay() {
	updated := false
	for i := len(p.pushes) - 1; i >= 0; i-- {
		_, update := p.pushes[i].ProcessPush.(messages.PushUpdate)
		if update && updated {
			p.pushes = slices.Delete(p.pushes, i, i+1)
			continue
		}
		updated = updated || update
		p.pushes[i].late = true
	}
}

// sendAt returns when a push may be sent that may be sent since a time, but for the answers to requests: they keep it back
// for pushWaitMax at most, because a process may send requests all the time.
func (p *server) sendAt(since time.Time) time.Time {
	at := p.quiet
	if most := since.Add(pushWaitMax); most.Before(at) {
		at = most
	}
	if at.Before(p.spaced) {
		at = p.spaced
	}
	return at
}

// sendDue sends the next push, if it may be sent now.
func (gs *games) sendDue(p *server) {
	now := gs.context.Now()
	if len(p.pushes) > 0 && !p.pushes[0].late && p.link != nil && !now.Before(p.sendAt(p.pushes[0].at)) {
		p.link.Push(p.pushes[0].ProcessPush)
		p.pushes = slices.Delete(p.pushes, 0, 1)
		p.spaced = now.Add(serverprocess.PushPause)
	}
	if t := p.refreshAt(); len(p.pushes) == 0 && !t.IsZero() && !now.Before(t) && !now.Before(p.sendAt(t)) && p.machine.MayRefresh() && p.link != nil {
		p.link.Push(messages.PushRefresh{Host: p.compute.Host})
		p.machine.Refreshed(now)
		p.refreshed, p.answered = now, time.Time{}
		p.refreshes++
		p.spaced = now.Add(serverprocess.PushPause)
	}
}

// refreshAt returns when the process should get a new token, or the zero time (server-sdk.md 12.2).
func (p *server) refreshAt() time.Time {
	switch {
	case p.link == nil || !p.heard || p.refreshes >= refreshesMax:
		return time.Time{}
	case p.refreshes == 0 && p.tokenEnds.IsZero():
		return p.spaced
	case p.refreshes == 0:
		return p.tokenEnds.Add(-refreshBefore)
	}
	at := p.refreshed.Add(refreshAgain)
	if t := p.answered.Add(refreshHeard); !p.answered.IsZero() && t.Before(at) {
		at = t
	}
	if soonest := p.refreshed.Add(refreshMin); at.Before(soonest) {
		at = soonest
	}
	return at
}

// wakeAt sets the timer of a process. A timer that fires too early does no harm, so it is only moved forward.
func (gs *games) wakeAt(p *server) {
	due := p.machine.Due()
	if len(p.pushes) > 0 && !p.pushes[0].late && p.link != nil {
		if at := p.sendAt(p.pushes[0].at); at.Before(due) {
			due = at
		}
	}
	if t := p.refreshAt(); !t.IsZero() && p.machine.MayRefresh() {
		if at := p.sendAt(t); t.Before(at) {
			t = at
		}
		if t.Before(due) {
			due = t
		}
	}
	if due.IsZero() || !p.wakes.IsZero() && !due.Before(p.wakes) {
		return
	}
	p.wakes = due
	after := max(0, due.Sub(gs.context.Now()))
	if p.wake == nil {
		p.wake = gs.context.After(after, serverDue{p})
	} else {
		p.wake.Reset(after)
	}
}

func (gs *games) onServerDue(p *server) {
	if gs.servers.of[p.id] != p {
		return
	}
	p.wakes = time.Time{}
	gs.carryOut(p, p.machine.Tick(gs.context.Now()))
}
