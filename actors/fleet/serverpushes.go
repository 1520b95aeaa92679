package fleet

import (
	"hash/fnv"
	"slices"
	"time"

	"troupe/actors/serverprocess"
	"troupe/messages"
)

// push is a message to a process.
type push struct {
	messages.ProcessPush
	late bool      // it waits for a heartbeat on the next connection
	at   time.Time // since when it may be sent, but for the answers to requests

	// Of one that was sent.
	link messages.ProcessLink
	n    uint32
}

// replaces reports whether o need not be sent, or not again, if p is. A process that must end needs no game session.
func (p push) replaces(o push) bool {
	switch p.ProcessPush.(type) {
	case messages.PushGameSession:
		return o.create()
	case messages.PushTerminate:
		_, same := o.ProcessPush.(messages.PushTerminate)
		return same || o.create()
	}
	return p.update() && o.update()
}

func (p push) create() bool { _, is := p.ProcessPush.(messages.PushGameSession); return is }

// update reports whether it is the result of a backfill.
func (p push) update() bool { _, is := p.ProcessPush.(messages.PushUpdate); return is }

// push queues a message to a process. Of each kind only the newest waits, but the results of backfills that may be sent.
func (gs *games) push(p *server, what messages.ProcessPush) {
	if u, is := what.(messages.PushUpdate); is {
		p.machine.Result = serverprocess.Result{Reason: u.Reason, Ticket: u.Ticket}
	}
	m := push{ProcessPush: what, late: p.link == nil, at: gs.context.Now()}
	p.pushes = slices.DeleteFunc(p.pushes, func(o push) bool { return m.replaces(o) && (o.late || !o.update()) })
	p.pushes = append(p.pushes, m)
	p.dropPushes()
}

// dropPushes drops the oldest results of backfills, so that the other pushes are not lost.
func (p *server) dropPushes() {
	for len(p.pushes) > pushesMax { // at most two are not results of backfills
		i := slices.IndexFunc(p.pushes, push.update)
		p.pushes = slices.Delete(p.pushes, i, i+1)
	}
}

// send sends the first push that waits.
func (p *server) send() {
	m := p.pushes[0]
	p.pushes = slices.Delete(p.pushes, 0, 1)
	p.number++
	m.link, m.n = p.link, p.number
	p.sent = slices.DeleteFunc(p.sent, m.replaces)
	if m.create() || m.update() { // others are pushed on each connection
		p.sent = append(p.sent, m)
	}
	p.link.Push(m.ProcessPush, m.n)
}

// arrived says that the process has the pushes of a connection up to one (SS-203).
func (p *server) arrived(link messages.ProcessLink, n uint32) {
	p.sent = slices.DeleteFunc(p.sent, func(o push) bool {
		if o.link != link || o.n > n {
			return false
		}
		if o.create() {
			p.machine.Arrived()
		}
		if u, is := o.ProcessPush.(messages.PushUpdate); is && u.Ticket == p.machine.Result.Ticket {
			p.machine.Result = serverprocess.Result{}
		}
		return true
	})
}

// closeServer handles the end of a connection. What was pushed on it and has not arrived is sent again: the newest result of
// a backfill (SS-205), and CreateGameSession by the rule of the machine (SS-204).
func (gs *games) closeServer(p *server, link messages.ProcessLink) {
	if link == p.link {
		p.link, p.heard = nil, false
		p.machine.Close()
	} else if i := p.former(link); i >= 0 {
		p.formers = slices.Delete(p.formers, i, i+1)
	}
	p.sent = slices.DeleteFunc(p.sent, func(o push) bool {
		if o.link != link {
			return false
		}
		if o.update() && !slices.ContainsFunc(p.pushes, push.update) {
			p.pushes = append(p.pushes, push{ProcessPush: o.ProcessPush, late: !p.heard, at: gs.context.Now()})
			gs.context.Counters().ServerPushesRepeated.Add(1)
		}
		return true
	})
	if p.link == nil {
		p.delay()
	}
	p.dropPushes()
	gs.settle(p)
	gs.forgetServer(p)
}

// delay makes all pushes wait for the next connection. Of the results of backfills only the newest does (SS-205).
func (p *server) delay() {
	updated := false
	for i := len(p.pushes) - 1; i >= 0; i-- {
		update := p.pushes[i].update()
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
		p.send()
		p.spaced = now.Add(serverprocess.PushPause)
	}
	if t := p.refreshAt(); len(p.pushes) == 0 && !t.IsZero() && !now.Before(t) && !now.Before(p.sendAt(t)) && p.machine.MayRefresh() && p.link != nil {
		p.link.Push(messages.PushRefresh{Host: p.compute.Host}, 0)
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
	case p.refreshes == 0 && p.renewAt.IsZero():
		return p.spaced
	case p.refreshes == 0:
		return p.renewAt
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

// renewal returns when a process that has just connected should get another token than its own. The processes of a compute
// have one token, and would connect again in the same moment if their ids did not spread them.
func renewal(id messages.ProcessID, ends, now time.Time) time.Time {
	if ends.IsZero() {
		return ends
	}
	last := ends.Add(-refreshBefore)
	spread := min(refreshSpread, last.Sub(now)) // a process may connect with an old token
	if spread <= 0 {
		return last
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(id.Compute + "/" + id.Name))
	return last.Add(-time.Duration(h.Sum64() % uint64(spread)))
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
