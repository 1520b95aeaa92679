package gamesession_test

import (
	"strings"
	"testing"
	"time"

	"troupe/actors"
	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/actors/script"
	"troupe/messages"
	"troupe/messages/counters"
)

// The game's unreliable messages are limited, its reliable messages are not lost, and a game that sends without end is
// ended.
func TestMessagesOfTheGameAreBounded(t *testing.T) {
	const perSecond = 100
	actorstest.Run(t, func(o *actors.Options) { o.Fleet.Session.ScriptDeliveriesPerSecond = perSecond }, func(w *world) {
		g := &game{}
		id := w.Create(g)
		a, b := w.Player(id), w.Player(id)
		send := func(n int, f func()) {
			g.Session.Do(func() {
				for range n {
					f()
				}
			})
			w.WaitIdle()
		}
		w.Pass(time.Minute)
		send(perSecond, func() { g.Session.Send(script.Outgoing{OpCode: 1}, script.ToGroup(all)) })
		if n := len(a.Take()); n != perSecond/2 {
			w.Errorf("a got %d fast messages, not half of %d", n, perSecond)
		}
		dropped(w, counters.DropDeliveryRate, perSecond)
		b.Take()
		send(5*perSecond, func() { g.Session.Send(script.Outgoing{OpCode: 2}, script.ToPlayer(b.Peer()).Reliably()) })
		assert.Equal(w, "b got reliable messages of", len(b.Take()), 5*perSecond)
		status(w, id, messages.GameSessionActive)
		send(20*perSecond, func() { g.Session.Send(script.Outgoing{OpCode: 3}, script.ToPlayer(b.Peer()).Reliably()) })
		ended(w, id, "it sends far more than 100 messages per second")
		if n := len(b.Take()); n > 6*perSecond {
			w.Errorf("b got %d messages after the bound", n)
		}
	})
}

// The reason that the game gives for its end or for the removal of a player is truncated.
func TestReasonsOfTheGameAreTruncated(t *testing.T) {
	actorstest.Run(t, nil, func(w *world) {
		g := &game{}
		id := w.Create(g)
		a := w.Player(id)
		long := strings.Repeat("\u017elu\u0165 ", 1<<18)
		g.Session.Do(func() { g.Session.KickPlayer(a.Peer(), long); g.Session.KickPlayer(77, "nobody") })
		closed(w, a, messages.CloseKicked)
		g.Session.Do(func() { g.Session.Crash(long) })
		if text := w.Game(id).EndText; !strings.HasPrefix(text, long[:900]) || !strings.HasSuffix(text, " ...") || len(text) > 1100 {
			w.Errorf("it ended because %.20q, of %d bytes", text, len(text))
		}
	})
}
