package acceptance_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/script"
	"troupe/messages"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// losses reports why players were lost.
type losses struct {
	script.Base
	why chan string
}

func (l *losses) OnPlayerDetached(_ messages.PeerID, reason string) script.Decision {
	l.why <- reason
	return script.Hold
}

// A client may close with any code, including codes that the host uses itself. Neither the game nor the log
// treats such a close as the host's.
func TestACloseCodeOfTheClientIsTheClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := make(chan string, 1)
		var log syncBuffer
		h := startHostWith(t, func(c *host.Config) { c.WebSocket.EmptyCloseIsLeave = false }, func(o *host.Options) {
			o.NewHandler = func(*messages.Fleet) script.Handler { return &losses{why: why} }
			o.Log = zerolog.New(&log).Level(zerolog.InfoLevel)
		})
		game := h.newGame(8)
		for _, c := range []struct {
			payload []byte
			want    string
		}{
			{stock.CloseFramePayload(1001, ""), "client_closed_1001"}, // sent by a browser when its tab is closed
			{stock.CloseFramePayload(4010, "bye"), "client_closed_4010"},
			{stock.CloseFramePayload(3000, ""), "client_closed_3000"},
			{nil, "client_closed"},
		} {
			p := h.join(h.seats(game, 1)[0], stock.Options{})
			if err := p.SendFrames(stock.Frame{Final: true, OpCode: 8, Masked: true, Payload: c.payload}.Encode()); err != nil {
				t.Fatal(err)
			}
			select {
			case got := <-why:
				if got != c.want {
					t.Errorf("close frame %q: the game is told %q, want %q", c.payload, got, c.want)
				}
			case <-time.After(patience):
				t.Fatalf("close frame %q: the game is told nothing", c.payload)
			}
		}
		if text := log.String(); strings.Contains(text, "host_draining") || strings.Contains(text, "inbound_rate") {
			t.Errorf("the log has the host's reasons:\n%s", text)
		}
	})
}
