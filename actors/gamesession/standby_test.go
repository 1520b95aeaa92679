package gamesession_test

import (
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors"
	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/actors/gamesession"
	"troupe/actors/gamesession/gamesessiontest"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/messages"
	"troupe/messages/counters"
)

// standbyProcess is a game session actor that has no game session yet. Its parent records the messages that the actor
// sends.
type standbyProcess struct {
	*testing.T
	fleet  *stagetest.Probe
	ref    *stage.Ref
	record *gamesession.Publisher
}

func standby(t *testing.T, g script.Handler, test func(p *standbyProcess)) {
	synctest.Test(t, func(t *testing.T) {
		s := stagetest.Start(t, nil)
		defer func() {
			s.Close()
			time.Sleep(5 * time.Second) // until goroutines of the actor library have ended
		}()
		p := &standbyProcess{T: t, fleet: new(stagetest.Probe)}
		fleet := s.Spawn(p.fleet)
		p.ref = s.Stage.NewRef(counters.ActorGameSession, stage.LaneLimits{})
		fleet.Tell(stagetest.Do(func(c *stage.Context) {
			c.Spawn(p.ref, gamesession.New(gamesession.Options{Fleet: c.Self(), Handler: g, Settings: gamesessiontest.Settings()}))
		}))
		synctest.Wait()
		test(p)
	})
}

// assign gives a game session to the process.
func (p *standbyProcess) assign() {
	record := &messages.GameSession{ID: "arn:one", Status: messages.GameSessionActivating, MaxPlayers: 2, AcceptsPlayers: true}
	p.record = gamesession.NewPublisher(record)
	p.ref.Tell(gamesession.Assign{Record: record, Publisher: p.record})
	synctest.Wait()
}

// told returns the messages that the fleet has received since the last call.
func (p *standbyProcess) told() (words []any) {
	for _, m := range p.fleet.Take() {
		switch m := m.(type) {
		case gamesession.Ready:
			words = append(words, "ready")
		case gamesession.Over:
			words = append(words, "over: "+m.Text)
		case stage.Exited:
			words = append(words, "exited"+m.Crash)
		}
	}
	return words
}

func (p *standbyProcess) want(words ...any) {
	p.Helper()
	assert.List(p, "the fleet was told", p.told(), words)
}

func (p *standbyProcess) calls(g *actorstest.Game, want ...string) {
	p.Helper()
	assert.List(p, "callbacks", g.Take(), want)
}

// RT-58: a process becomes ready before it has a game session, and starts an assigned game session at once.
func TestAStandbyProcessGetsItsGameSession(t *testing.T) {
	g := &actorstest.Game{}
	standby(t, g, func(p *standbyProcess) {
		p.want("ready")
		p.calls(g, "init", "started []")
		time.Sleep(61 * time.Second)
		p.calls(g, "health") // health checks start when the process is ready, not only when it has a game session
		p.assign()
		p.calls(g, "start ACTIVATING")
		assert.Equal(t, "the game session is", p.record.Session().Status, messages.GameSessionActive)
		p.ref.Tell(gamesession.Terminate{Reason: messages.CloseGameEnded, Text: "enough"})
		synctest.Wait()
		p.calls(g, "terminate")
		p.want("over: enough", "exited")
	})
}

// RT-60: a process that does not become ready reports its end and stops.
func TestAProcessThatDoesNotGetReadyIsOver(t *testing.T) {
	standby(t, &actorstest.Game{Started: func() bool { return false }}, func(p *standbyProcess) {
		p.want("over: onProcessStarted did not say ready", "exited")
	})
}

// A stand-by process that is no longer needed gets OnProcessTerminate like any other process (realtime.md 15.4, 10b).
func TestAStandbyProcessIsToldOfItsEnd(t *testing.T) {
	g := &actorstest.Game{}
	standby(t, g, func(p *standbyProcess) {
		p.ref.Tell(gamesession.Terminate{Reason: messages.CloseGoingAway, Text: "not needed"})
		synctest.Wait()
		p.calls(g, "init", "started []", "terminate")
		p.want("ready", "over: not needed", "exited")
	})
}

// A process that ends itself before it has a game session is over at once. A game session that is assigned too late
// ends and may be launched again.
func TestAStandbyProcessThatEndsItselfHasNoGameSession(t *testing.T) {
	g := &actorstest.Game{}
	standby(t, g, func(p *standbyProcess) {
		p.told()
		g.Session.Do(func() { g.Session.ProcessEnding() })
		synctest.Wait()
		p.want("over: exited", "exited")
	})
	last := &slow{quiet: starting()}
	last.quiet["terminate"] = false
	standby(t, last, func(p *standbyProcess) {
		last.Session.Do(func() { last.pending[0].Decide(true) }) // load
		synctest.Wait()
		p.want("ready")
		p.ref.Tell(gamesession.Terminate{Reason: messages.CloseGoingAway, Text: "not needed"})
		p.assign()
		if s := p.record.Session(); s.Status != messages.GameSessionTerminated {
			t.Errorf("the game session is %v", s.Status)
		}
		p.want("over: the process was ending already", "exited")
	})
}

// The limit on the game's messages also applies to membership updates and kicks.
func TestMembershipUpdatesAndKicksAreBoundedToo(t *testing.T) {
	const perSecond = 2000 // reaching the default limit would take seconds of work
	actorstest.Run(t, func(o *actors.Options) { o.Fleet.Session.ScriptDeliveriesPerSecond = perSecond }, func(w *world) {
		g := &game{}
		id := w.Create(g)
		a := w.Player(id)
		g.Session.Do(func() {
			for range 20 * perSecond {
				g.Session.BroadcastGroupMembershipUpdate(5, all)
			}
		})
		w.WaitIdle()
		ended(w, id, "it sends far more than 2000 messages per second")
		a.Take()
	})
	run(t, func(w *world) {
		g := &game{}
		id := w.Create(g)
		a := w.Player(id)
		g.Session.Do(func() {
			for range 100 {
				g.Session.KickPlayer(1, "out")
			}
			if n := gamesession.ActorOf(g.Session, 1).Depth(); n > 1 {
				w.Errorf("%d messages wait for the player", n)
			}
		})
		closed(w, a, messages.CloseKicked)
	})
}
