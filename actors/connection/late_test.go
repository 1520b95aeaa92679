package connection

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/player"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// slowLink records when it was closed. It has no peer.
type slowLink struct {
	opened time.Time
	closed time.Duration
}

func (l *slowLink) SetSource(wire.Source)      {}
func (l *slowLink) Flush()                     {}
func (l *slowLink) Send(f *wire.Frame)         { f.Release() }
func (l *slowLink) Ping([]byte)                {}
func (l *slowLink) Reached() (uint64, bool)    { return 0, true }
func (l *slowLink) LoggedIn()                  {}
func (l *slowLink) PongsInOrder() bool         { return true }
func (l *slowLink) Close(messages.CloseReason) { l.closed = time.Since(l.opened) }

// late makes the actor believe that its next tick is too late.
type late struct{ by time.Duration }

type lateActor struct{ *Actor }

func (a lateActor) Receive(c *stage.Context, msg any) {
	if m, ok := msg.(late); ok {
		a.expected -= m.by
		return
	}
	a.Actor.Receive(c, msg)
}

// reliability.md 2.7: if the host itself was delayed for more than a second, the peers' deadlines are extended by the
// same time. A sign of life ends the extension.
func TestTheHostsOwnLatenessMovesTheDeadline(t *testing.T) {
	for _, test := range []struct {
		by, want time.Duration
		alive    bool
	}{
		{by: 0, want: 6 * time.Second},
		{by: time.Second, want: 6 * time.Second},
		{by: 20 * time.Second, want: 26 * time.Second},
		{by: 20 * time.Second, alive: true, want: 13 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			var count counters.Set
			s := stage.New(stage.Options{Log: zerolog.Nop(), Counters: &count, Shards: 1})
			link := &slowLink{opened: time.Now()}
			h := NewHandle(s, link, counters.WS, nil, &count)
			s.SpawnRoot(h.ref, lateActor{&Actor{handle: h, parent: NewSupervisor(nil, DefaultTimeouts())}})
			p := player.NewHandle("psess-1", messages.NewPlayer{}, time.Now(), new(player.Budget), &count)
			h.Bind(&player.Attachment{Player: p, PingInterval: 3 * time.Second})
			time.Sleep(4 * time.Second)
			h.ref.Tell(late{test.by})
			if test.alive { // one normal tick, then silence again
				time.Sleep(3 * time.Second)
				h.Alive()
			}
			stagetest.Pass(time.Minute)
			if link.closed != test.want {
				t.Errorf("late by %v, alive %v: closed after %v, want %v", test.by, test.alive, link.closed, test.want)
			}
			h.ref.Stop()
			time.Sleep(2 * time.Second)
			s.Close()
		})
	}
}
