package acceptance_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/actors/script"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// computes is a script that answers after so many milliseconds of computing.
const computes = `
	let session;
	exports.ssExports = {
		init: (s) => { session = s; },
		onMessage: (m) => {
			for (const until = Date.now() + Number(m.getPayloadAsText()); Date.now() < until;);
			session.sendReliableMessage(session.newTextGameMessage(12, session.getServerId(), 'well'), m.sender);
		},
	};`

// The messages that wait for the players of one game, some away and one who does not read,
// are not the memory of the scripts of other games: a long computation goes on while the
// host comes to hold more than twice what a script may, and so do scripts that only answer.
func TestWhatWaitsForPlayersEndsNoScript(t *testing.T) {
	const memory, relays = 16 << 20, 3
	length := 500 * time.Millisecond
	const atOnce = 1 << 20 // that the other game sends for one message
	state := make([]byte, 1<<14)
	other := &fakeGame{message: func(s script.Session, m *script.Message) {
		for n := 0; n < atOnce; n += len(state) {
			s.SendReliableMessage(script.Outgoing{OpCode: 20, Payload: state}, messages.PeerID(2+n/len(state)%3))
		}
		s.SendReliableMessage(script.Outgoing{OpCode: 12, Payload: []byte("well")}, m.Sender)
	}}
	said := make(chan string, 10)
	h := startHostWith(t, func(c *host.Config) {
		c.Fleets[0].Script = scriptFile(t, computes)
		c.Fleets = append(c.Fleets, host.Fleet{ID: "fleet-other", Name: "other", GameSessionsMax: 1, Certificates: "DISABLED"})
		c.Script.MemoryMax = memory
		c.Session.PlayerQueueBytes, c.Reconnect.QueueBytesAll = 1<<30, 1<<40
		c.Reconnect.Window = 5 * time.Minute
		c.Session.PingInterval = time.Minute // the one who does not read stays
	}, func(o *host.Options) {
		onSystem(o)
		failure(said)(o)
		o.NewHandler = func(*messages.Fleet) script.Handler { return other }
	})

	var games []string
	var players []*stock.Client
	for range 1 + relays {
		game, player := h.on("fleet-dev")
		games, players = append(games, game), append(players, player)
	}
	computing, answering := players[0], players[1:]
	game, sender := h.on("fleet-other")
	receivers := h.seats(game, 3)
	for i, id := range receivers {
		if c := h.join(id, stock.Options{NoUDP: true}); i == 0 {
			c.PauseReading()
		} else {
			c.Kill()
		}
	}
	h.detached(2)

	for ; ; length *= 2 {
		h.send(computing, stock.Message{OpCode: 11, TargetPlayer: stock.ServerID, Payload: []byte(strconv.Itoa(int(length.Milliseconds()))), Reliable: true})
		waits := 0
		for i := 0; waits < 5*memory/2; i++ {
			h.hears(sender, "well")
			h.hears(answering[i%relays], "well")
			waits += atOnce
		}
		meanwhile := computing.ExpectSilence(time.Millisecond, nil)
		if e := h.expect(computing, stock.Op(12)); string(e.Payload) != "well" {
			t.Errorf("it answered %q", e.Payload)
		}
		if meanwhile == nil {
			t.Logf("%d MiB more waited for players while a script that may hold %d computed for %v", waits>>20, memory>>20, length)
			break
		}
		if length > 10*time.Second {
			t.Fatalf("within %v not even %d MiB wait for players", length, waits>>20)
		}
	}
	for i, c := range players {
		if s := h.game(games[i]).Status; s != types.GameSessionStatusActive {
			t.Errorf("game %d is %s", i, s)
		}
		h.hears(c, "well")
	}
	c := h.host.Counters()
	if n := c.ScriptsStuck.Load() + c.Lost.Load() + c.Dropped.Get(counters.DropOutboxFull); n != 0 || len(said) > 0 {
		t.Errorf("%d calls are stuck or messages lost, and the host said %d times that it cannot go on", n, len(said))
	}
	if status, text := h.page("127.0.0.1", "/readyz"); status != http.StatusOK {
		t.Errorf("the host drains: %d %s", status, text)
	}
	back := h.join(receivers[2], stock.Options{NoUDP: true})
	h.expect(back, stock.Op(20))
}
