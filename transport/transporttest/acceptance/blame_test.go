package acceptance_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/actors/script"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// The messages that wait for the players of one game, some away and one who does not read,
// are not the memory of the scripts of other games: those go on while the host comes to
// hold more than twice what a script may.
func TestWhatWaitsForPlayersEndsNoScript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const memory, relays = 16 << 20, 3
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
			c.Fleets[0].Script = scriptFile(t, says("well"))
			c.Fleets = append(c.Fleets, host.Fleet{ID: "fleet-other", Name: "other", GameSessionsMax: 1, Certificates: "DISABLED"})
			c.Script.MemoryMax = memory
			c.Session.PlayerQueueBytes, c.Reconnect.QueueBytesAll = 1<<30, 1<<40
			c.Reconnect.Window = 5 * time.Minute
			c.Session.PingInterval = time.Minute // the one who does not read stays
		}, func(o *host.Options) {
			failure(said)(o)
			o.NewHandler = func(*messages.Fleet) script.Handler { return other }
		})

		var games []string
		var answering []*stock.Client
		for range relays {
			game, player := h.on("fleet-dev")
			games, answering = append(games, game), append(answering, player)
		}
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

		for i := range 5 * memory / 2 / atOnce {
			h.hears(sender, "well")
			h.hears(answering[i%relays], "well")
			time.Sleep(100 * time.Millisecond) // who measures has its time
		}
		for i, c := range answering {
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
	})
}
