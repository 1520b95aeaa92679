package scripts

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

const examples = "../../../docs/scripts/examples/"

// example starts a host with an example. Each example is a folder with a script of the same name.
func example(t *testing.T, e engine, name string) *world {
	t.Helper()
	return exampleWith(t, e, name, nil)
}

func exampleWith(t *testing.T, e engine, name string, config func(*host.Config)) *world {
	t.Helper()
	ext := ".js"
	if name == "typed" {
		ext = ".ts"
	}
	return start(t, e, examples+name, setup{Launch: "/local/game/" + name + ext, Args: "two words", Config: config})
}

// told returns the decoded JSON of the client's next packet with the op code.
func told[T any](w *world, c *stock.Client, op int32) (v T) {
	w.Helper()
	if e := w.hear(c, op); json.Unmarshal(e.Payload, &v) != nil {
		w.Fatalf("op code %d: %q is not the JSON of %T", op, e.Payload, v)
	}
	return v
}

// same fails the test unless got equals want.
func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: %+v, want %+v", what, got, want)
	}
}

func TestExampleRelay(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := example(t, e, "relay")
		game := w.newGame(4)
		ann := w.join(game, "ann")
		w.heard(ann, 100, "[1]")
		bob := w.join(game, "bob")
		w.heard(ann, 100, "[1,2]")
		w.heard(bob, 100, "[1,2]")

		w.send(ann, stock.Message{OpCode: 5, TargetPlayer: 2, Payload: []byte("hello"), Reliable: true})
		w.heard(bob, 5, "hello")
		w.send(bob, stock.Message{OpCode: 6, TargetGroup: stock.AllPlayers, Payload: []byte("all"), Reliable: true})
		w.heard(ann, 6, "all")
		w.heard(bob, 6, "all")
		w.send(bob, stock.Message{OpCode: 7, TargetPlayer: 1, Payload: make([]byte, 1025), Reliable: true})
		w.send(bob, stock.Message{OpCode: 8, TargetPlayer: 1, Payload: make([]byte, 1024), Reliable: true})
		if e, err := ann.NextData(w.context()); err != nil || e.OpCode != 8 {
			t.Errorf("a large message was let through: %v, %v", e, err)
		}
		bob.Close()
		w.heard(ann, 100, "[1]")
		ann.Close()
		w.awaitStatus(game, types.GameSessionStatusTerminated)
		w.noErrors()
	})
}

// state is the state that tictactoe.js sends to its players.
type state struct {
	Cells, Turn, You, Winner string
	Over                     bool
	WaitingFor               []int
}

func TestExampleTicTacToe(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := example(t, e, "tictactoe")
		game := w.newGame(4)
		seats := []string{w.seat(game, "ann"), w.seat(game, "bob")}
		ann := w.login(seats[0], stock.Options{NoUDP: true})
		same(t, "first state", told[state](w, ann, 2), state{Cells: ".........", Turn: "X", You: "X", WaitingFor: []int{}})
		w.say(ann, 1, "4")
		w.heard(ann, 3, "wait for the other player")
		bob := w.login(seats[1], stock.Options{NoUDP: true})
		told[state](w, ann, 2)
		same(t, "bob's mark", told[state](w, bob, 2).You, "O")
		third := w.dial(w.seat(game, "eve"), stock.Options{NoUDP: true})
		if r, err := third.AwaitLogin(w.context()); err == nil {
			t.Errorf("a third player was let in: %+v", r)
		}

		both := func() state {
			t.Helper()
			s := told[state](w, ann, 2)
			o := told[state](w, bob, 2)
			s.You, o.You = "", ""
			same(t, "what both see", s, o)
			return s
		}
		move := func(c *stock.Client, cell, want string) {
			t.Helper()
			w.say(c, 1, cell)
			same(t, "cells", both().Cells, want)
		}
		w.say(bob, 1, "0")
		w.heard(bob, 3, "it is not your turn")
		move(ann, "4", "....X....")
		move(bob, "0", "O...X....")
		w.say(ann, 1, "0")
		w.heard(ann, 3, "there is no such free cell")
		// JavaScript's Number would accept most of these as a cell
		for _, text := range []string{"nine", "", " ", "9", "-1", "1e0", "0x1", "1.0", "1\n"} {
			w.say(ann, 1, text)
			w.heard(ann, 3, "there is no such free cell")
		}

		// Ann loses her connection. Bob is told, the game waits, and Ann gets the board again when she is
		// back.
		ann.Kill()
		same(t, "bob is told", told[state](w, bob, 2).WaitingFor, []int{1})
		ann = w.login(seats[0], stock.Options{NoUDP: true})
		if ann.PeerID() != 1 {
			t.Fatalf("ann is now peer %d", ann.PeerID())
		}
		for len(told[state](w, ann, 2).WaitingFor) == 0 { // repeated messages come first
			continue
		}
		same(t, "the board", told[state](w, ann, 2), state{Cells: "O...X....", Turn: "X", You: "X", WaitingFor: []int{}})
		same(t, "bob is told", told[state](w, bob, 2).WaitingFor, []int{})

		move(ann, "2", "O.X.X....")
		move(bob, "1", "OOX.X....")
		w.say(ann, 1, "6")
		end := both()
		same(t, "the end", []any{end.Cells, end.Over, end.Winner}, []any{"OOX.X.X..", true, "X"})
		w.say(bob, 1, "8")
		w.heard(bob, 3, "the game is over")
		ann.Close()
		bob.Close()
		w.awaitStatus(game, types.GameSessionStatusTerminated)
		w.noErrors()
	})
}

// body is one body in a snapshot of arena.js.
type body struct {
	input uint16
	x, y  float32
}

// readSnapshot decodes a snapshot like a client.
func readSnapshot(t *testing.T, b []byte) (tick uint32, bodies map[int32]body) {
	t.Helper()
	if len(b) < 4 || (len(b)-4)%14 != 0 {
		t.Fatalf("a snapshot of %d bytes", len(b))
	}
	tick, bodies = binary.BigEndian.Uint32(b), map[int32]body{}
	for b = b[4:]; len(b) > 0; b = b[14:] {
		bodies[int32(binary.BigEndian.Uint32(b))] = body{
			binary.BigEndian.Uint16(b[4:]),
			math.Float32frombits(binary.BigEndian.Uint32(b[6:])), math.Float32frombits(binary.BigEndian.Uint32(b[10:])),
		}
	}
	return tick, bodies
}

func TestExampleArena(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := exampleWith(t, e, "arena", func(c *host.Config) {
			// the host repeats no messages, so everything after a reconnect comes from the script
			c.Reconnect.StockAmbiguous = "skip"
		})
		game := w.newGame(4)
		ann := w.login(w.seat(game, "ann"), stock.Options{})
		seat := w.seat(game, "bob")
		bob := w.login(seat, stock.Options{})
		welcome := func(c *stock.Client, you int) {
			t.Helper()
			if err := c.AwaitFast(w.context()); err != nil {
				t.Fatal(err)
			}
			same(t, "welcome", told[map[string]int](w, c, 12), map[string]int{"you": you, "tickRate": 20, "width": 100, "height": 60})
		}
		welcome(ann, 1)
		welcome(bob, 2)
		input := func(c *stock.Client, number byte, dx, dy int8) {
			t.Helper()
			w.send(c, stock.Message{OpCode: 10, TargetPlayer: stock.ServerID, Payload: []byte{0, number, byte(dx), byte(dy)}})
		}
		w.send(ann, stock.Message{OpCode: 10, TargetPlayer: stock.ServerID, Payload: []byte("too long")})
		input(ann, 2, 127, 0)
		input(ann, 1, 0, 127) // arrives late, so it must be ignored
		input(bob, 1, -3, -4)

		// Snapshots use the fast channel, and each is one tick later. Ann moves right by 0.5 units a tick,
		// and bob moves up and left.
		var last uint32
		var before map[int32]body
		moved := 0
		for moved < 10 {
			e, err := ann.Expect(w.context(), stock.OpVia(11, stock.ChannelUDP))
			if err != nil {
				t.Fatal(err)
			}
			tick, now := readSnapshot(t, e.Payload)
			if tick > 6000 {
				t.Fatalf("five minutes later nobody has moved: %v", now)
			}
			if last == 0 && len(now) < 2 {
				continue // a snapshot from before bob joined
			}
			if tick <= last || len(now) != 2 {
				t.Fatalf("tick %d with %d bodies after tick %d", tick, len(now), last)
			}
			steps := float64(tick - last)
			if before[1].input == 2 && before[2].input == 1 {
				d := func(id int32) [2]float64 {
					return [2]float64{float64(now[id].x - before[id].x), float64(now[id].y - before[id].y)}
				}
				near(t, "ann's way", d(1), [2]float64{0.5 * steps, 0})
				near(t, "bob's way", d(2), [2]float64{-0.3 * steps, -0.4 * steps})
				moved++
			}
			last, before = tick, now
		}
		same(t, "ann's last input", before[1].input, uint16(2))

		// A player without a connection stays in the arena and stands still. This is tested in the middle,
		// where no wall stops anybody within seconds.
		bobNow := func() body {
			t.Helper()
			e, err := ann.Expect(w.context(), stock.OpVia(11, stock.ChannelUDP)) // earlier snapshots used the other channel
			if err != nil {
				t.Fatal(err)
			}
			_, bodies := readSnapshot(t, e.Payload)
			if len(bodies) != 2 {
				t.Fatalf("%d bodies", len(bodies))
			}
			return bodies[2]
		}
		way := int8(1)
		if bobNow().x > 50 {
			way = -1
		}
		input(bob, 2, way, 0)
		w.until("bob is on his way", func() error {
			if b := bobNow(); b.input != 2 || b.x < 30 || b.x > 70 {
				return errString("not yet")
			}
			return nil
		})
		bob.Kill()
		w.until("bob stands still", func() error {
			a, b := bobNow(), bobNow()
			if e.virtual() && (b.x <= 1 || b.x >= 99) { // otherwise he may reach the wall before the host notices the loss
				t.Fatal("he goes on to the wall")
			}
			if a != b {
				return errString("he moves")
			}
			return nil
		})

		// Bob comes back with a new client. The script welcomes him, and his first input counts, whatever the
		// input numbers of the earlier client were.
		bob = w.login(seat, stock.Options{})
		welcome(bob, 2)
		stood := bobNow()
		input(bob, 1, 0, 1)
		w.until("bob steers again", func() error {
			if b := bobNow(); b.input != 1 || b.x != stood.x || b.y <= stood.y {
				return errString(fmt.Sprintf("from %v to %v", stood, b))
			}
			return nil
		})
		ann.Close()
		w.noErrors()
	})
}

type errString string

func (e errString) Error() string { return string(e) }

func near(t *testing.T, what string, got, want [2]float64) {
	t.Helper()
	for i := range got {
		if math.Abs(got[i]-want[i]) > 1e-4 {
			t.Fatalf("%s: %v, want %v", what, got, want)
		}
	}
}

// lobby is the state that lobby.js sends to its players.
type lobby struct {
	Owner, TeamSize int
	Map             string
	Players         []lobbyPlayer
}

type lobbyPlayer struct {
	ID, Team int
	Name     string
	Ready    bool
}

func TestExampleLobby(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := example(t, e, "lobby")
		game := w.newGame(8, types.GameProperty{Key: aws.String("map"), Value: aws.String("caves")}, types.GameProperty{Key: aws.String("teamSize"), Value: aws.String("1")})
		ann := w.join(game, "ann")
		same(t, "the first lobby", told[lobby](w, ann, 22), lobby{1, 1, "caves", []lobbyPlayer{{1, 0, "ann", false}}})
		bob := w.join(game, "bob")
		eve := w.join(game, "eve")
		all := []*stock.Client{ann, bob, eve}
		players := func(want ...lobbyPlayer) {
			t.Helper()
			for _, c := range all {
				w.until("lobby", func() error {
					if got := told[lobby](w, c, 22); !reflect.DeepEqual(got.Players, want) {
						return errString("another lobby")
					}
					return nil
				})
			}
		}
		players(lobbyPlayer{1, 0, "ann", false}, lobbyPlayer{2, 0, "bob", false}, lobbyPlayer{3, 0, "eve", false})

		w.say(ann, 20, "1")
		w.heard(ann, 24, "pick a team first")
		ask := func(c *stock.Client, group int32) {
			t.Helper()
			if err := c.JoinGroup(group); err != nil {
				t.Fatal(err)
			}
		}
		ask(ann, 1)
		players(lobbyPlayer{1, 1, "ann", false}, lobbyPlayer{2, 0, "bob", false}, lobbyPlayer{3, 0, "eve", false})
		ask(bob, 1)
		w.heard(bob, 24, "the team is full")
		ask(bob, 3)
		w.heard(bob, 24, "there is no such team")
		ask(bob, 2)
		players(lobbyPlayer{1, 1, "ann", false}, lobbyPlayer{2, 2, "bob", false}, lobbyPlayer{3, 0, "eve", false})

		// Only the owner may remove players who do not pick.
		w.say(bob, 21, "3")
		w.heard(bob, 24, "only the owner may remove a player")
		w.say(ann, 21, "3")
		w.awaitClose(eve)
		all = all[:2]
		players(lobbyPlayer{1, 1, "ann", false}, lobbyPlayer{2, 2, "bob", false})

		// Messages to a team are only delivered to that team.
		w.send(bob, stock.Message{OpCode: 1, TargetGroup: 2, Payload: []byte("psst"), Reliable: true})
		w.heard(bob, 1, "psst")
		w.say(ann, 20, "1")
		w.say(bob, 20, "1")
		for _, c := range all {
			w.heard(c, 23, `{"map":"caves","teams":{"1":[1],"2":[2]}}`)
		}
		w.say(ann, 20, "0")
		w.heard(ann, 24, "the game has started")
		if err := ann.LeaveGroup(1); err != nil {
			t.Fatal(err)
		}
		w.heard(ann, 24, "the game has started")
		for _, e := range ann.Log() {
			if string(e.Payload) == "psst" {
				t.Error("ann heard the other team")
			}
		}
		ann.Close()
		bob.Close()
		w.awaitStatus(game, types.GameSessionStatusTerminated)
		w.noErrors()
	})
}

// A game also starts when the only player who was not ready leaves.
func TestExampleLobbyStartsWithoutTheLast(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := example(t, e, "lobby")
		for _, c := range []struct {
			name string
			gone func(owner, last *stock.Client)
		}{
			{"left", func(_, last *stock.Client) { last.Close() }},
			{"kicked", func(owner, _ *stock.Client) { w.say(owner, 21, "3") }},
		} {
			game := w.newGame(8)
			ann, bob, eve := w.join(game, "ann"), w.join(game, "bob"), w.join(game, "eve")
			for i, one := range []*stock.Client{ann, bob} {
				if err := one.JoinGroup(int32(i + 1)); err != nil {
					t.Fatal(err)
				}
				w.say(one, 20, "1")
			}
			w.until("bob is ready", func() error {
				if p := told[lobby](w, ann, 22).Players; len(p) != 3 || !p[0].Ready || !p[1].Ready {
					return errString("not yet")
				}
				return nil
			})
			c.gone(ann, eve)
			for _, one := range []*stock.Client{ann, bob} {
				w.heard(one, 23, `{"map":"plains","teams":{"1":[1],"2":[2]}}`)
			}
			w.noErrors()
		}
	})
}

// TypeScript runs without compilation, and the types declare what exists.
func TestExampleTyped(t *testing.T) {
	everyEngineAlways(t, func(t *testing.T, e engine) {
		w := example(t, e, "typed")
		game := w.newGame(4, types.GameProperty{Key: aws.String("mode"), Value: aws.String("duel")})
		ann := w.join(game, "ann")
		w.heard(ann, 100, "ann")
		if r, err := w.dial(w.seat(game, "x"), stock.Options{NoUDP: true, Payload: []byte("nobody")}).AwaitLogin(w.context()); err == nil {
			t.Errorf("an async refusal let somebody in: %+v", r)
		}
		seat := w.seat(game, "bob")
		bob := w.login(seat, stock.Options{NoUDP: true, Payload: []byte("bob")})
		w.heard(bob, 100, "bob")
		second := bob.PeerID()

		w.say(bob, 1, "echo")
		w.heard(bob, 1, "echo")
		w.heard(bob, 1, "echo")
		w.heard(ann, 1, "echo")
		w.say(ann, 2, "")
		players := told[[][]any](w, ann, 2)
		same(t, "players", players, [][]any{{1.0, 1.0, "ann", "data of ann", true, "ann"}, {float64(second), float64(second), "bob", "data of bob", true, "bob"}})
		w.say(ann, 3, "")
		g := told[map[string]any](w, ann, 3)
		for key, want := range map[string]any{
			"same": true, "small": true, "args": []any{"two", "words"}, "address": []any{"string", "string", "number"}, "name": "game", "fleet": "fleet-dev",
			"max": 4.0, "keys": []any{"mode=duel"}, "mode": "duel",
		} {
			same(t, key, g[key], want)
		}
		if err := ann.JoinGroup(5); err != nil {
			t.Fatal(err)
		}
		w.until("in the group", func() error { _, err := ann.Expect(w.context(), stock.Op(stock.OpGroupMembershipUpdate)); return err })
		w.say(bob, 4, "5")
		w.heard(ann, 4, "members")
		if e := w.hear(bob, stock.OpGroupMembershipUpdate); !reflect.DeepEqual(e.GroupMembershipUpdate.Players, []int32{1}) {
			t.Errorf("broadcast: %v", e.GroupMembershipUpdate)
		}
		w.say(ann, 6, "six levels")
		w.log.await(t, "six levels")
		w.say(ann, 8, "")
		w.heard(ann, 8, "[]") // no player came from matchmaking
		w.log.await(t, "no players for game")

		bob.Kill()
		bob = w.login(seat, stock.Options{NoUDP: true})
		back := told[map[string]any](w, bob, 101)
		same(t, "lost", back["lost"], 0.0)
		w.say(ann, 5, "2")
		w.say(ann, 5, string(rune('0'+second)))
		w.awaitClose(bob)
		w.say(ann, 7, "")
		w.awaitClose(ann)
		w.log.await(t, "true true null")
		for _, level := range []string{"WARN", "ERROR", "FATAL", "CXFATAL"} {
			if !strings.Contains(w.log.String(), "["+level+"] (typed.ts)") {
				t.Errorf("no line of level %s from the source file:\n%s", level, w.log)
			}
		}
	})
}
