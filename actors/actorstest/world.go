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

// Ids of the fleets in a World.
const (
	Fleet    messages.FleetID = "fleet-test"
	Small    messages.FleetID = "fleet-small" // has room for one game session
	Asleep   messages.FleetID = "fleet-asleep"
	Alias    messages.AliasID = "alias-test"
	Terminal messages.AliasID = "alias-terminal"
	Dangling messages.AliasID = "alias-dangling"
	Home                      = "home"
	Away                      = "away"
)

// World is one System in a bubble. Only the test's goroutine may call its methods.
type World struct {
	*testing.T
	System  *actors.System
	Count   *counters.Set
	Frames  Frames
	Panics  int64 // number of actor panics that the test expects
	Failure []string
	handler script.Handler // handler of the next game session
	real    bool           // runs in real time, not in a bubble
}

// Run runs a test in a World. change may modify the World's options first.
func Run(t *testing.T, change func(o *actors.Options), test func(w *World)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { run(t, false, change, test) })
}

// RunReal is like Run, but in real time, for tests with parts outside the process. When a method returns, its effects
// may not have happened yet, so a test waits for them with Until.
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
	w.Pass(time.Second) // nothing in a test happens at the very start of virtual time
	done := false
	defer func() { // a test that stops early must not leave goroutines in its bubble
		if !done {
			w.System.Close()
			w.Pass(libraryRest)
		}
	}()
	test(w)
	w.close()
	done = true
}

// Strict disables reconnection.
func Strict(o *actors.Options) { o.Fleet.Session.ReconnectWindow = 0 }

// libraryRest is how long the library's counter of dead letters may continue to run.
const libraryRest = 2 * time.Second

func (w *World) close() {
	w.Helper()
	w.System.Close()
	w.Pass(libraryRest)
	if w.real { // connections end in their own goroutines
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

// WaitIdle waits until nothing more can happen unless time passes.
func (w *World) WaitIdle() {
	if !w.real {
		synctest.Wait()
	}
}

// Pass lets virtual time pass. It also establishes that the test's earlier reads of an actor's state happen before what
// the actor does in that time. synctest.Wait orders only the actors' earlier work before the test's reads. The passing
// of time orders nothing, so an actor whose timer fires is not synchronized with the test. Ready is: it locks every
// shard, and a worker locks its shard before it runs an actor.
func (w *World) Pass(d time.Duration) {
	if !w.real {
		w.System.Ready()
		time.Sleep(d)
		synctest.Wait()
	}
}

// Until waits, in real time, until check returns "".
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

// untilMax allows for busy machines.
const untilMax = time.Minute

// Try creates a game session, or returns the error.
func (w *World) Try(req messages.CreateGameSession, h script.Handler) (*messages.GameSession, error) {
	w.handler = h
	if g, ok := h.(interface{ in(*World) }); ok {
		g.in(w)
	}
	g, err := messages.Do(context.Background(), w.System, req)
	w.WaitIdle()
	return g, err
}

// Create creates a game session for up to 100 players. A nil handler means the relay.
func (w *World) Create(h script.Handler) messages.GameSessionID {
	w.Helper()
	g, err := w.Try(messages.CreateGameSession{FleetID: Fleet, MaxPlayers: 100}, h)
	if err != nil {
		w.Fatal(err)
	}
	return g.ID
}

// Game returns a game session after all actors are idle.
func (w *World) Game(id messages.GameSessionID) *messages.GameSession {
	w.Helper()
	w.WaitIdle()
	g, err := messages.Do(context.Background(), w.System, messages.GameSessionQuery{ID: id})
	if err != nil {
		w.Fatal(err)
	}
	return g
}

// Seats reserves player sessions.
func (w *World) Seats(game messages.GameSessionID, players ...messages.PlayerID) ([]*messages.PlayerSession, error) {
	req := messages.CreatePlayerSessions{GameSessionID: game}
	for _, p := range players {
		req.Players = append(req.Players, messages.NewPlayer{PlayerID: p, PlayerData: "data of " + string(p)})
	}
	seats, err := messages.Do(context.Background(), w.System, req)
	w.WaitIdle()
	return seats, err
}

// Seat reserves one player session.
func (w *World) Seat(game messages.GameSessionID) messages.PlayerSessionID {
	w.Helper()
	seats, err := w.Seats(game, "somebody")
	if err != nil {
		w.Fatal(err)
	}
	return seats[0].ID
}

// Seated returns a player session after all actors are idle.
func (w *World) Seated(id messages.PlayerSessionID) *messages.PlayerSession {
	w.Helper()
	w.WaitIdle()
	list, err := messages.Do(context.Background(), w.System, messages.PlayerSessionQuery{PlayerSessionID: id})
	if err != nil || len(list) != 1 {
		w.Fatal(list, err)
	}
	return list[0]
}

// Want fails unless the player session has the given status and its game session has the given number of current
// players.
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

// Equal fails unless got has the elements want.
func Equal[E comparable](w *World, what string, got []E, want ...E) {
	w.Helper()
	if !slices.Equal(got, want) {
		w.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

// IsError fails unless err has the given code.
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

// Take is like Link.Take, after all actors are idle.
func (c *Client) Take() []string { c.w.WaitIdle(); return c.Link.Take() }

// Numbers is like Link.Numbers, after all actors are idle.
func (c *Client) Numbers() []Numbers { c.w.WaitIdle(); return c.Link.Numbers() }

// Closed is like Link.Closed, after all actors are idle.
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

// LogInNumbered is like LogIn, for a client that uses the extension.
func (c *Client) LogInNumbered(id messages.PlayerSessionID, token string, received uint64) {
	c.ID = id
	c.Handle.Caps(wire.CapNumbers)
	c.Handle.Login(&player.Login{ID: id, From: c.Handle, At: time.Now(), Caps: wire.CapNumbers, Token: token, LastReceived: received})
}

// SayAs is like Say, but with an attachment that the caller has kept and with number n (0 for none). It simulates a
// late reader whose connection has been closed or replaced in the meantime.
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

// SayNumbered is like Say, with a message number.
func (c *Client) SayNumbered(n uint64, op int32, player messages.PeerID, text string) {
	c.w.Helper()
	c.SayAs(c.Handle.Attachment(), n, op, player, text)
}

// Ack acknowledges messages, as the connection's reader does when an ack arrives from a client that uses the extension.
func (c *Client) Ack(n uint64) {
	c.w.Helper()
	if a := c.Handle.Attachment(); !a.Player.Out.Acked(a.Epoch, n) {
		c.w.Errorf("ack %d is a violation", n)
	}
}

// Enter opens a connection and logs in. The answer stays in the list until Take.
func (w *World) Enter(id messages.PlayerSessionID) *Client {
	w.Helper()
	c := w.Open()
	c.LogIn(id, "")
	w.WaitIdle()
	return c
}

// Player reserves a player session and enters. The login must be accepted. Player takes the answer from the list.
func (w *World) Player(game messages.GameSessionID) *Client {
	w.Helper()
	c := w.Enter(w.Seat(game))
	if c.Handle.Attachment() == nil {
		w.Fatalf("not let in: %q", c.Take())
	}
	c.Take()
	return c
}

// Peer returns the peer id of a client that is logged in.
func (c *Client) Peer() messages.PeerID { return c.Handle.Attachment().Peer }

// carry calls in.Carry and tracks the frame, if there is one. Afterwards it overwrites h's payload, as a reader would.
func (w *World) carry(in *gamesession.Inbound, h *wire.Header) {
	if in.Carry(h); in.Frame != nil {
		w.Frames.Track(in.Frame)
	}
	clear(h.Payload)
}

// Post posts a packet as a reader would, and returns the result. h is the header of an application message, or nil.
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

// Say sends a reliable message. It does not wait.
func (c *Client) Say(op int32, player messages.PeerID, group messages.GroupID, text string) {
	c.say(true, op, player, group, text)
}

// SayFast sends an unreliable message. It does not wait.
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

// Group sends a group operation. It does not wait.
func (c *Client) Group(kind gamesession.Kind, g messages.GroupID) {
	c.w.Helper()
	if err := c.Post(kind, g, true, nil); err != nil {
		c.w.Errorf("post: %v", err)
	}
}

// Depart closes the connection with code 1000, which means that the player leaves.
func (c *Client) Depart() { c.end(true, "left"); c.w.WaitIdle() }

// Lose breaks the connection.
func (c *Client) Lose() { c.end(false, "reset"); c.w.WaitIdle() }

// Panic makes the player actor or, if inSession is true, the game session's actor panic.
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
