package gamesession_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/actors/actorstest/assert"
	"troupe/actors/connection"
	"troupe/actors/fleet"
	"troupe/actors/gamesession"
	"troupe/actors/gamesession/gamesessiontest"
	"troupe/actors/player"
	"troupe/actors/script"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// drain is a connection that drains its source and copies the bytes, as a socket would. It reports to a channel that
// all drains of a room share.
type drain struct {
	buf    []byte
	source wire.Source
	frames int
	want   int
	done   chan struct{}
}

func (d *drain) Append(f *wire.Frame) bool {
	d.buf = f.AppendReliable(d.buf[:0])
	d.frames++
	return true
}

func (d *drain) AppendNumbered(f *wire.Frame, _, _ uint64) bool { return d.Append(f) }
func (d *drain) Mark(uint64) bool                               { return false }

func (d *drain) SetSource(s wire.Source) { d.source = s }

// Flush is called only on the room's worker.
func (d *drain) Flush() {
	if d.source == nil {
		return
	}
	for d.source.Drain(d) {
	}
	if d.want > 0 && d.frames >= d.want {
		d.want = 0
		d.done <- struct{}{}
	}
}

func (d *drain) Close(messages.CloseReason) {}
func (d *drain) Send(f *wire.Frame)         { f.Release() }
func (d *drain) Ping([]byte)                {}
func (d *drain) Reached() (uint64, bool)    { return 0, true }
func (d *drain) LoggedIn()                  {}
func (d *drain) PongsInOrder() bool         { return true }

// room is one game session with members in group 1. It runs in a bubble or, for a benchmark, in real time.
type room struct {
	system  *actors.System
	links   []*drain
	members []*connection.Handle
	payload []byte
	done    chan struct{}
}

func newRoom(tb testing.TB, h script.Handler, members int) *room {
	tb.Helper()
	settings := gamesessiontest.Settings()
	settings.DeliveriesPerSecond = 0
	settings.PingInterval = time.Hour
	var count counters.Set
	r := &room{payload: make([]byte, 64), done: make(chan struct{}, members)}
	system, err := actors.Start(actors.Options{Log: zerolog.Nop(), Counters: &count, Shards: 1, Timeouts: connection.DefaultTimeouts(), Fleet: fleet.Options{
		Session: settings, NewHandler: func(*messages.Fleet) script.Handler { return h },
		Fleets: []*messages.Fleet{{ID: "fleet-x", Status: messages.FleetActive, Locations: []string{"home"}, GameSessionsMax: 1}},
	}})
	assert.NoError(tb, err)
	r.system = system
	tb.Cleanup(func() {
		r.system.Close()
		for _, m := range r.members {
			m.Ended(false, "")
		}
	})
	g := assert.Value(messages.Do(tb.Context(), r.system, messages.CreateGameSession{FleetID: "fleet-x", MaxPlayers: members}))(tb)
	req := messages.CreatePlayerSessions{GameSessionID: g.ID, Players: make([]messages.NewPlayer, members)}
	seats, err := messages.Do(tb.Context(), r.system, req)
	for ; err != nil; seats, err = messages.Do(tb.Context(), r.system, req) { // the game session is still ACTIVATING
		if !errors.Is(err, &messages.Error{Code: messages.InvalidGameSessionStatus}) {
			tb.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	for _, s := range seats {
		r.enter(tb, s.ID)
	}
	return r
}

// noFast is a connection.Edge that has no fast channel.
type noFast struct{}

func (noFast) OpenFast(messages.PeerID) player.FastOffer { return player.FastOffer{Port: 1} }
func (noFast) Refused() time.Duration                    { return 0 }

func (r *room) enter(tb testing.TB, id messages.PlayerSessionID) {
	tb.Helper()
	d := &drain{done: r.done, want: 1}
	c := r.system.Connect(d, counters.WS, noFast{})
	c.Login(&player.Login{ID: id, From: c, At: time.Now()})
	<-r.done // wait until the login is accepted
	r.links, r.members = append(r.links, d), append(r.members, c)
	in := gamesession.NewInbound()
	in.From, in.Kind, in.Group, in.Reliable = c.Attachment().Player, gamesession.JoinGroup, 1, true
	assert.NoError(tb, in.Post(c.Attachment().Session))
	// Each join is answered by a membership update.
	r.await(1, len(r.links)-1, func() {
		in := gamesession.NewInbound()
		in.From, in.Kind, in.Reliable = c.Attachment().Player, gamesession.Ping, true
		_ = in.Post(c.Attachment().Session)
	})
}

// await lets f act on the game session and waits for n more frames at one client. Only the room's worker may access the
// fields of a drain. Setting them here is safe because the worker is idle: its last frame has been waited for.
func (r *room) await(n, client int, f func()) {
	time.Sleep(2 * time.Millisecond)
	r.links[client].want = r.links[client].frames + n
	f()
	<-r.done
}

// say makes member 0 send n messages to the group and waits until all of them are delivered.
func (r *room) say(n int) {
	a := r.members[0].Attachment()
	last := r.links[len(r.links)-1]
	last.want = last.frames + n
	for range n {
		in := gamesession.NewInbound()
		in.From, in.Kind, in.Reliable = a.Player, gamesession.Application, true
		in.Frame = wire.NewFrame(&wire.Header{OpCode: 7, Sender: 1, TargetGroup: 1, Payload: r.payload})
		for in.Post(a.Session) != nil {
			a.Session.AwaitRoom(time.Second)
		}
	}
	<-r.done
}

// quiet is a game with callbacks, like a script, but it does not record them.
type quiet struct{ script.Base }

func (quiet) Configuration() script.Configuration { return script.Configuration{MaxPlayers: 1000} }

func TestAGroupMessageIsDeliveredWithoutAllocating(t *testing.T) {
	if raceEnabled {
		t.Skip("race build: sync.Pool drops items at random and the room's links are handed over by rest, so allocations prove nothing")
	}
	for name, h := range map[string]script.Handler{"relay": script.Relay{}, "game": quiet{}} {
		for _, members := range []int{8, 50} {
			synctest.Test(t, func(t *testing.T) {
				r := newRoom(t, h, members)
				const batch = 16 // not more than an empty outbox keeps room for
				for range 300 {
					r.say(batch) // fill the pools
				}
				n := testing.AllocsPerRun(200, func() { r.say(batch) })
				if n != 0 {
					t.Errorf("%s, %d members: %v allocations for %d messages", name, members, n, batch)
				}
			})
		}
	}
}
