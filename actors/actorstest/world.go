package actorstest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/actors/connection"
	"troupe/actors/fleet"
	"troupe/actors/gamesession"
	"troupe/actors/gamesession/gamesessiontest"
	"troupe/actors/player"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// Names of what a World offers.
const (
	Fleet    messages.FleetID = "fleet-test"
	Small    messages.FleetID = "fleet-small" // one game session
	Asleep   messages.FleetID = "fleet-asleep"
	Alias    messages.AliasID = "alias-test"
	Terminal messages.AliasID = "alias-terminal"
	Dangling messages.AliasID = "alias-dangling"
	Home                      = "home"
	Away                      = "away"
)

// World is one System in a bubble. Its methods are for the test's goroutine.
type World struct {
	*testing.T
	System  *actors.System
	Count   *counters.Set
	Frames  Frames
	Panics  int64 // how many actor panics the test wants
	Failure []string
	handler script.Handler // of the next game session
	real    bool           // in real time, not in a bubble
}

// Run runs a test in a World whose options it may change first.
func Run(t *testing.T, change func(o *actors.Options), test func(w *World)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { run(t, false, change, test) })
}

// RunReal is Run in real time, for what has parts outside of the process: nothing
// has happened yet when a method returns, so a test waits with Until.
func RunReal(t *testing.T, change func(o *actors.Options), test func(w *World)) {
	t.Helper()
	run(t, true, change, test)
}

func run(t *testing.T, real bool, change func(o *actors.Options), test func(w *World)) {
	t.Helper()
	w := &World{T: t, Count: new(counters.Set), real: real}
	o := actors.Options{
		Log: zerolog.Nop(), Counters: w.Count, Shards: 2, Timeouts: connection.DefaultTimeouts(),
		OnFailure: func(reason string) { w.Failure = append(w.Failure, reason) },
		Fleet: fleet.Options{
			Region:     "eu-test-1",
			Locations:  []messages.Location{{Name: Home}, {Name: Away}},
			Advertised: fleet.Advertised{IPAddress: "192.0.2.1", Port: 1900},
			Session:    gamesessiontest.Settings(),
			Fleets: []*messages.Fleet{
				{ID: Fleet, Status: messages.FleetActive, Locations: []string{Home, Away}, GameSessionsMax: 1000, LaunchParams: " one  two"},
				{ID: Small, Status: messages.FleetActive, Locations: []string{Home}, GameSessionsMax: 1},
				{ID: Asleep, Status: messages.FleetActivating, Locations: []string{Home}, GameSessionsMax: 1},
			},
			Aliases: []*messages.Alias{{ID: Alias, FleetID: Fleet}, {ID: Terminal, Message: "closed for good"}, {ID: Dangling, FleetID: "fleet-gone"}},
			NewHandler: func(*messages.Fleet) script.Handler {
				if h := w.handler; h != nil {
					return h
				}
				return script.Relay{}
			},
		},
	}
	if change != nil {
		change(&o)
	}
	system, err := actors.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	w.System = system
	w.Pass(time.Second) // nothing real happens in the nanosecond of the start
	done := false
	defer func() { // a test that gives up must not leave goroutines in its bubble
		if !done {
			w.System.Close()
			w.Pass(libraryRest)
		}
	}()
	test(w)
	w.close()
	done = true
}

// Strict turns reconnection off.
func Strict(o *actors.Options) { o.Fleet.Session.ReconnectWindow = 0 }

// libraryRest is how long the library's counter of dead letters may still run.
const libraryRest = 2 * time.Second

func (w *World) close() {
	w.Helper()
	w.System.Close()
	w.Pass(libraryRest)
	if w.real { // connections end in goroutines of their own
		w.Until(func() string {
			if w.Frames.held() {
				return "frames are held"
			}
			return ""
		})
	}
	w.Frames.Balanced(w.T)
	if n := w.Count.Players.Total(); n != 0 {
		w.Errorf("%d players are still counted", n)
	}
	if n := w.Count.GameSessions.Total(); n != 0 {
		w.Errorf("%d game sessions are still counted", n)
	}
	if n := w.Count.ActorPanics.Load(); n != w.Panics {
		w.Errorf("%d actor panics, want %d", n, w.Panics)
	}
	if n := w.Count.ActorMessages.Load(); n != 0 {
		w.Errorf("%d messages that no actor knew", n)
	}
	for k := counters.ActorFleet; k <= counters.ActorProbe; k++ {
		if n := w.System.Live(k); n != 0 {
			w.Errorf("%d actors of kind %v are left", n, k)
		}
	}
}

// WaitIdle waits until nothing more happens without time passing.
func (w *World) WaitIdle() {
	if !w.real {
		synctest.Wait()
	}
}

// Pass lets virtual time pass. What the test has read of an actor's state happens before
// what the actor does meanwhile: synctest.Wait orders what actors did before a test's
// reads, but time orders nothing, and an actor whose timer fires has heard nothing from
// the test. Ready locks every shard, and so does a worker before it runs an actor.
func (w *World) Pass(d time.Duration) {
	if !w.real {
		w.System.Ready()
		time.Sleep(d)
		synctest.Wait()
	}
}

// Until waits, in real time, until check finds nothing missing.
func (w *World) Until(check func() (missing string)) {
	w.Helper()
	missing := check()
	for until := time.Now().Add(untilMax); missing != ""; missing = check() {
		if time.Now().After(until) {
			w.Fatalf("after %v: %s", untilMax, missing)
		}
		time.Sleep(time.Millisecond)
	}
}

// untilMax is for machines that are busy.
const untilMax = time.Minute

// Try asks for a game session.
func (w *World) Try(req messages.CreateGameSession, h script.Handler) (*messages.GameSession, error) {
	w.handler = h
	if g, ok := h.(interface{ in(*World) }); ok {
		g.in(w)
	}
	g, err := messages.Do(context.Background(), w.System, req)
	w.WaitIdle()
	return g, err
}

// Create makes a game session for up to 100 players; a nil handler is the relay.
func (w *World) Create(h script.Handler) messages.GameSessionID {
	w.Helper()
	g, err := w.Try(messages.CreateGameSession{FleetID: Fleet, MaxPlayers: 100}, h)
	if err != nil {
		w.Fatal(err)
	}
	return g.ID
}

// Game reads a game session, once all is idle.
func (w *World) Game(id messages.GameSessionID) *messages.GameSession {
	w.Helper()
	w.WaitIdle()
	g, err := messages.Do(context.Background(), w.System, messages.GameSessionQuery{ID: id})
	if err != nil {
		w.Fatal(err)
	}
	return g
}

// Seats reserves seats.
func (w *World) Seats(game messages.GameSessionID, players ...messages.PlayerID) ([]*messages.PlayerSession, error) {
	req := messages.CreatePlayerSessions{GameSessionID: game}
	for _, p := range players {
		req.Players = append(req.Players, messages.NewPlayer{PlayerID: p, PlayerData: "data of " + string(p)})
	}
	seats, err := messages.Do(context.Background(), w.System, req)
	w.WaitIdle()
	return seats, err
}

// Seat reserves one seat.
func (w *World) Seat(game messages.GameSessionID) messages.PlayerSessionID {
	w.Helper()
	seats, err := w.Seats(game, "somebody")
	if err != nil {
		w.Fatal(err)
	}
	return seats[0].ID
}

// Seated reads a player session, once all is idle.
func (w *World) Seated(id messages.PlayerSessionID) *messages.PlayerSession {
	w.Helper()
	w.WaitIdle()
	list, err := messages.Do(context.Background(), w.System, messages.PlayerSessionQuery{PlayerSessionID: id})
	if err != nil || len(list) != 1 {
		w.Fatal(list, err)
	}
	return list[0]
}

// Want fails unless a player session has a status and its game session counts
// so many players.
func (w *World) Want(id messages.PlayerSessionID, s messages.PlayerSessionStatus, current int) {
	w.Helper()
	p := w.Seated(id)
	if n := w.Game(p.GameSessionID).CurrentPlayers; p.Status != s || n != current {
		w.Errorf("player session is %v of %d, want %v of %d", p.Status, n, s, current)
	}
	if p.Status.Final() == p.Terminated.IsZero() {
		w.Errorf("%v since %v", p.Status, p.Terminated)
	}
}

// Equal fails unless a list is as wanted.
func Equal[E comparable](w *World, what string, got []E, want ...E) {
	w.Helper()
	if !slices.Equal(got, want) {
		w.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

// IsError fails unless err is a refusal with a code.
func (w *World) IsError(err error, code messages.ErrorCode) {
	w.Helper()
	if !errors.Is(err, &messages.Error{Code: code}) {
		w.Errorf("error %v, want %v", err, code)
	}
}

// Client is one connection of a player.
type Client struct {
	*Link
	w      *World
	Handle *connection.Handle
	ID     messages.PlayerSessionID
	Fast   *Fast
}

// Open opens a connection.
func (w *World) Open() *Client {
	c := &Client{w: w, Link: &Link{frames: &w.Frames, opened: time.Now()}}
	h := w.System.Connect(c.Link, counters.WS, c)
	c.mu.Lock()
	c.handle = h
	ended := c.ended
	c.mu.Unlock()
	if ended {
		h.Ended(false, "refused")
	}
	c.Handle = h
	w.WaitIdle()
	return c
}

// Take is Link.Take once all is idle.
func (c *Client) Take() []string { c.w.WaitIdle(); return c.Link.Take() }

// Numbers is Link.Numbers once all is idle.
func (c *Client) Numbers() []Numbers { c.w.WaitIdle(); return c.Link.Numbers() }

// Closed is Link.Closed once all is idle.
func (c *Client) Closed() (messages.CloseReason, time.Duration) {
	c.w.WaitIdle()
	return c.Link.Closed()
}

// OpenFast implements connection.Edge.
func (c *Client) OpenFast(messages.PeerID) player.FastOffer {
	c.Fast = &Fast{link: c.Link}
	return player.FastOffer{Link: c.Fast, Channel: counters.UDP, Port: 33400}
}

// Refused implements connection.Edge.
func (c *Client) Refused() time.Duration { return 0 }

// LogIn sends a LOGIN without waiting for the answer.
func (c *Client) LogIn(id messages.PlayerSessionID, payload string) {
	c.ID = id
	c.Handle.Login(&player.Login{ID: id, Payload: []byte(payload), From: c.Handle, At: time.Now()})
}

// LogInNumbered is LogIn by a client of the extension.
func (c *Client) LogInNumbered(id messages.PlayerSessionID, token string, received uint64) {
	c.ID = id
	c.Handle.Caps(wire.CapNumbers)
	c.Handle.Login(&player.Login{ID: id, From: c.Handle, At: time.Now(), Caps: wire.CapNumbers, Token: token, LastReceived: received})
}

// SayAs is Say through an attachment that the caller holds, with number n (0: none), as a reader does that is
// late: its connection is closed or replaced by then.
func (c *Client) SayAs(a *player.Attachment, n uint64, op int32, to messages.PeerID, text string) {
	c.w.Helper()
	in := gamesession.NewInbound()
	in.From, in.Kind, in.Reliable, in.Number, in.Epoch = a.Player, gamesession.Application, true, n, a.Epoch
	c.w.carry(in, &wire.Header{OpCode: op, Sender: int32(a.Peer), TargetPlayer: int32(to), Payload: []byte(text)})
	if err := in.Post(a.Session); err != nil {
		in.Release()
		c.w.Errorf("post: %v", err)
	}
}

// SayNumbered is Say with a number.
func (c *Client) SayNumbered(n uint64, op int32, player messages.PeerID, text string) {
	c.w.Helper()
	c.SayAs(c.Handle.Attachment(), n, op, player, text)
}

// Ack acknowledges, as the connection's reader does with an ack of a client of the
// extension.
func (c *Client) Ack(n uint64) {
	c.w.Helper()
	if a := c.Handle.Attachment(); !a.Player.Out.Acked(a.Epoch, n) {
		c.w.Errorf("ack %d is a violation", n)
	}
}

// Enter opens a connection and logs in. The answer waits for Take.
func (w *World) Enter(id messages.PlayerSessionID) *Client {
	w.Helper()
	c := w.Open()
	c.LogIn(id, "")
	w.WaitIdle()
	return c
}

// Player reserves a seat and enters; the answer must be a yes and is taken away.
func (w *World) Player(game messages.GameSessionID) *Client {
	w.Helper()
	c := w.Enter(w.Seat(game))
	if c.Handle.Attachment() == nil {
		w.Fatalf("not let in: %q", c.Take())
	}
	c.Take()
	return c
}

// Peer is the peer id of a client that is logged in.
func (c *Client) Peer() messages.PeerID { return c.Handle.Attachment().Peer }

// carry is in.Carry with a frame, if there is one, that is tracked. A reader has other bytes in h's payload then.
func (w *World) carry(in *gamesession.Inbound, h *wire.Header) {
	if in.Carry(h); in.Frame != nil {
		w.Frames.Track(in.Frame)
	}
	clear(h.Payload)
}

// Post sends what a reader would post; it reports the result of the post. H is that of an application message, or nil.
func (c *Client) Post(kind gamesession.Kind, group messages.GroupID, reliable bool, h *wire.Header) error {
	a := c.Handle.Attachment()
	in := gamesession.NewInbound()
	in.From, in.Kind, in.Group, in.Reliable, in.Epoch = a.Player, kind, group, reliable, a.Epoch
	if h != nil {
		c.w.carry(in, h)
	}
	err := in.Post(a.Session)
	if err != nil {
		in.Release()
	}
	return err
}

// Say sends a reliable message without waiting.
func (c *Client) Say(op int32, player messages.PeerID, group messages.GroupID, text string) {
	c.say(true, op, player, group, text)
}

// SayFast sends a message by the fast channel without waiting.
func (c *Client) SayFast(op int32, player messages.PeerID, group messages.GroupID, text string) {
	c.say(false, op, player, group, text)
}

func (c *Client) say(reliable bool, op int32, player messages.PeerID, group messages.GroupID, text string) {
	c.w.Helper()
	err := c.Post(gamesession.Application, 0, reliable, &wire.Header{
		OpCode: op, Sender: int32(c.Peer()), TargetPlayer: int32(player), TargetGroup: int32(group), Payload: []byte(text)})
	if err != nil {
		c.w.Errorf("post: %v", err)
	}
}

// Group sends a group operation without waiting.
func (c *Client) Group(kind gamesession.Kind, g messages.GroupID) {
	c.w.Helper()
	if err := c.Post(kind, g, true, nil); err != nil {
		c.w.Errorf("post: %v", err)
	}
}

// Depart closes the connection with 1000: a leave.
func (c *Client) Depart() { c.end(true, "left"); c.w.WaitIdle() }

// Lose breaks the connection.
func (c *Client) Lose() { c.end(false, "reset"); c.w.WaitIdle() }

// Panic makes the player actor, or the game session's actor, panic.
func (c *Client) Panic(inSession bool) {
	c.w.Panics++
	a := c.Handle.Attachment()
	tell := a.Player.Tell
	if inSession {
		tell = a.Session.Tell
	}
	tell(stage.Panic{Text: "a test wants it"})
	c.w.WaitIdle()
}
