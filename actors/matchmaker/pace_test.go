package matchmaker

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/stage/stagetest"
	"troupe/messages"
)

// A worker uses an eighth of a core, works for one piece at a time, and frees its slot while it rests. Once
// its matcher has stopped, it no longer rests.
func TestAWorkerRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const step, work = 20 * time.Microsecond, 20 * time.Millisecond
		w := worker{gate: make(chan struct{}, 1)}
		began := time.Now()
		w.begin()
		last, longest, free := time.Now(), time.Duration(0), 0
		for range work / step {
			time.Sleep(step)
			before := time.Now()
			go func() { // another worker takes the slot if it is free
				select {
				case w.gate <- struct{}{}:
					free++
					<-w.gate
				default:
				}
			}()
			w.pause()
			if time.Since(before) > 0 {
				longest, last = max(longest, before.Sub(last)), time.Now()
			}
		}
		w.end()
		if took := time.Since(began); took < 7*work || took > 9*work {
			t.Errorf("%v of work took %v", work, took)
		}
		if longest > 2*piece {
			t.Errorf("it worked for %v", longest)
		}
		assert.Equal(t, "it has counted", w.worked, work)
		synctest.Wait()
		if free == 0 {
			t.Error("its place was never free")
		}
		w.stopped.Store(true)
		began = time.Now()
		w.begin()
		for range 100 {
			time.Sleep(step)
			w.pause()
		}
		w.end()
		assert.Equal(t, "stopped, of work took", time.Since(began), 100*step)
	})
}

// Work without pause points and late wake-ups hardly change the share of a core or the duration of a rest.
func TestPaceIsFair(t *testing.T) {
	for name, c := range map[string]struct{ work, late time.Duration }{
		"pieces": {piece, 0}, "a slow clock": {piece, time.Millisecond}, "long work": {2 * time.Millisecond, 0},
	} {
		var p pace
		var worked, rested, longest time.Duration
		for worked < 200*time.Millisecond {
			worked += c.work
			if d := p.work(c.work); d > 0 {
				longest = max(longest, d)
				rested += d + c.late
				p.rest(d + c.late)
			}
		}
		if share := float64(worked) / float64(worked+rested); share < 0.09 || share > 0.14 || longest > restMax {
			t.Errorf("%s: %.3f of a core, rests of up to %v", name, share, longest)
		}
	}
	var p pace
	if p.work(time.Minute); p.work(0) != restMax {
		t.Error("a rest after a minute of work is not bounded")
	}
	p.rest(time.Hour)
	if p.work(piece+restAhead) == 0 {
		t.Error("a long rest pays for more than restAhead")
	}
}

// hard requires the most work: only complete matches show that nothing fits, except for two tickets with
// skill 50.
const hard = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number","default":10}],
	"teams":[{"name":"red","minPlayers":1,"maxPlayers":1},{"name":"blue","minPlayers":1,"maxPlayers":1}],
	"rules":[{"name":"Sum","type":"comparison","measurements":["sum(flatten(teams[*].players.attributes[skill]))"],"operation":"=","referenceValue":100}]}`

func (w *world) askSkill(config, id string, skill float64) {
	w.Helper()
	r := messages.StartMatchmaking{TicketID: messages.TicketID(id), Matchmaker: messages.MatchmakerName(config), Players: []messages.TicketPlayer{
		{ID: messages.PlayerID(id), Attributes: map[string]messages.Attribute{"skill": {Kind: messages.AttributeNumber, N: skill}}}}}
	assert.OK(request[messages.StartMatchmaking, *messages.Ticket](w, r))(w)
}

// One configuration has a pool of thousands of tickets that match nothing. It delays the matches of another
// configuration by pieces of work, not by a whole pass, although both share a single slot.
func TestAPoisonedPoolSlowsNobody(t *testing.T) {
	const perPause = time.Millisecond // in virtual time; simulates a very slow machine on which a pass takes seconds
	var paused atomic.Int64
	bubble(t, func(o *Options) {
		o.Workers, o.work = 1, func() {
			paused.Add(1)
			time.Sleep(perPause)
		}
	}, func(w *world) {
		w.named("poisoned", hard, func(r *messages.Matchmaker) { r.RequestTimeout = time.Hour })
		w.config(nil)
		for i := range 2000 {
			w.askSkill("poisoned", fmt.Sprint("p", i), float64(i%40))
		}
		w.pass()
		for round := range 10 {
			a, b := fmt.Sprint("a", round), fmt.Sprint("b", round)
			w.ask(a, a)
			w.ask(b, b)
			w.askSkill("poisoned", fmt.Sprint("more", round), 10) // otherwise the pool would have no pass for five seconds
			stagetest.Pass(time.Second + 10*perPause)
			w.want(a+" COMPLETED", b+" COMPLETED")
		}
		if worked := time.Duration(paused.Load()) * perPause; worked < time.Since(w.start)/16 || worked > time.Since(w.start)/6 {
			t.Errorf("passes worked for %v of %v, want an eighth all the time", worked, time.Since(w.start))
		}
		w.ref.Stop()
		time.Sleep(time.Minute) // a running slice ends by itself
	})
}

// Tickets that arrive while a cut pass waits to continue get their turn after it, even if nothing else
// happens.
func TestTicketsBehindACutPass(t *testing.T) {
	bubble(t, func(o *Options) { o.passBudget = 1 }, func(w *world) {
		w.named("m", hard, nil)
		for i := range 100 {
			w.askSkill("m", fmt.Sprint("p", i), 10)
		}
		w.pass()
		w.askSkill("m", "a", 50)
		w.askSkill("m", "b", 50)
		stagetest.Pass(30 * time.Second)
		w.want("a COMPLETED", "b COMPLETED", "p0 SEARCHING")
	})
}
