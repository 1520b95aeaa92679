// Command gohost is a host whose game is written in Go: guess a number. To use it in your own module,
// run `go mod edit -replace troupe=FOLDER`, where FOLDER contains this repository, and then `go mod tidy`.
package main

import (
	"flag"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"

	"github.com/rs/zerolog"
	"troupe/actors/script"
	"troupe/messages"
	"troupe/transport/host"
)

// game is one game session. Its methods are never called concurrently, so it needs no locks.
type game struct {
	script.Base // has default implementations of all other callbacks
	session     script.Session
	number      int
}

func newGame(*messages.Fleet) script.Handler { return &game{number: 1 + rand.IntN(100)} }
func (g *game) Init(s script.Session) error  { g.session = s; return nil }

func (g *game) OnMessage(m *script.Message) {
	answer := script.Outgoing{OpCode: 1, Sender: m.Sender, Payload: []byte("found")}
	switch n, err := strconv.Atoi(m.Text()); {
	case err != nil || n < g.number:
		answer.Payload = []byte("more")
	case n > g.number:
		answer.Payload = []byte("less")
	default:
		g.session.ProcessEnding()
		defer g.session.Exit(0)
	}
	g.session.Send(answer, script.ToGroup(messages.AllPlayers).Reliably())
}

func main() {
	c := host.Defaults()
	flag.StringVar(&c.API.Addr, "api", c.API.Addr, "address of the service API")
	flag.StringVar(&c.WebSocket.Addr, "ws", c.WebSocket.Addr, "address of the WebSocket")
	flag.StringVar(&c.Fast.Addr, "fast", c.Fast.Addr, "address of the fast channel")
	flag.Parse()
	c.WSS.Addr, c.DTLS.Addr, c.KCP.Addr = "", "", "" // no secured listeners
	log := zerolog.New(os.Stderr)
	h, err := host.Start(host.Options{Config: c, Log: log, NewHandler: newGame})
	if err != nil {
		log.Fatal().Err(err).Send()
	}
	log.Info().Any("addresses", h.Addrs()).Msg("listening")
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	<-stop
	h.Close()
}
