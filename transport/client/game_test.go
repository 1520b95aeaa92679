package client_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"net/http"
	"os"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"troupe/transport/client"
	"troupe/transport/host"
	"troupe/transport/transporttest/hosttest"
	"troupe/transport/transporttest/memnet"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The actor library's dead letters start a goroutine that lives for a second; the tests end
		// before it does.
		goleak.IgnoreTopFunction("github.com/asynkron/protoactor-go/actor.NewDeadLetter.NewThrottle.func4.1"))
}

// game is a host with one game session.
type game struct {
	host  *host.Host
	net   hosttest.Network
	api   *gamelift.Client
	id    string
	close func()
}

// startGame starts a host at addr, on a network, and a game session.
func startGame(ctx context.Context, network hosttest.Network, addr string, change func(*host.Config)) (g *game, err error) {
	c := host.Defaults()
	c.API.Addr, c.WebSocket.Addr, c.Fast.Addr = addr, addr, addr
	c.WSS.Addr, c.DTLS.Addr, c.KCP.Addr = "", "", ""
	c.Log.GameSessions.Dir = os.DevNull // no test reads the logs
	if change != nil {
		change(&c)
	}
	o := host.Options{Config: c, Log: zerolog.Nop()}
	if network != hosttest.System {
		o.Network = network
	}
	h, err := host.Start(o)
	if err != nil {
		return nil, err
	}
	pool := &http.Transport{DialContext: network.DialContext}
	g = &game{host: h, net: network, close: func() { h.Close(); pool.CloseIdleConnections() }, api: gamelift.New(gamelift.Options{
		Region: c.Region, BaseEndpoint: aws.String("http://" + h.Addrs().API), Credentials: aws.AnonymousCredentials{}, HTTPClient: &http.Client{Transport: pool},
	})}
	defer func() {
		if err != nil {
			g.close()
		}
	}()
	out, err := g.api.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{
		FleetId: aws.String("fleet-dev"), MaximumPlayerSessionCount: aws.Int32(8),
	})
	if err != nil {
		return nil, err
	}
	g.id = *out.GameSession.GameSessionId
	for out.GameSession.Status != types.GameSessionStatusActive {
		described, err := g.api.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{GameSessionId: &g.id})
		if err != nil {
			return nil, fmt.Errorf("the game session does not become active: %w", err)
		}
		out.GameSession = &described.GameSessions[0]
	}
	return g, nil
}

// secured enables all transports.
func secured(dir string) func(*host.Config) {
	return func(c *host.Config) {
		c.WSS.Addr, c.DTLS.Addr, c.KCP.Addr, c.TLS.Dir = c.WebSocket.Addr, c.WebSocket.Addr, c.WebSocket.Addr, dir
	}
}

// seat reserves a seat in the game session.
func (g *game) seat(ctx context.Context, player string) (id string, err error) {
	out, err := g.api.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{GameSessionId: &g.id, PlayerId: &player})
	if err != nil {
		return "", err
	}
	return *out.PlayerSession.PlayerSessionId, nil
}

// roots returns the trust anchors that the host has written to its CA file.
func (g *game) roots() *x509.CertPool {
	text, err := os.ReadFile(g.host.Addrs().CA)
	pool := x509.NewCertPool()
	if err != nil || !pool.AppendCertsFromPEM(text) {
		panic(fmt.Sprint("no certificate in the announced file: ", err))
	}
	return pool
}

// bench is a game in virtual time, for one test.
type bench struct {
	*testing.T
	*game
	ctx   context.Context
	seats int
}

// start starts a host with all transports. It disables the limits that would slow down a player that keeps reconnecting.
func start(t *testing.T, change func(*host.Config)) *bench {
	t.Helper()
	network := memnet.New(memnet.Seed(t))
	t.Cleanup(network.Close)
	g, err := startGame(t.Context(), network.Machine(), "127.0.0.1:0", func(c *host.Config) {
		secured(t.TempDir())(c)
		c.DTLS.HalfOpenPerIP, c.DTLS.HellosPerIP = 0, 0
		l := &c.Limits
		l.PlayerMessagesPerSecond, l.PlayerBytesPerSecond, l.DeliveriesPerGameSessionPerSecond = 0, 0, 0
		l.LoginsPerPlayerSessionPerMinute, l.ResumesPerPlayerSessionPerMinute = 0, 0
		l.ConnectionsPerIPPerSecond, l.UnauthenticatedPerIP = 0, 0
		if change != nil {
			change(c)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.close)
	return &bench{T: t, game: g, ctx: t.Context()}
}

// by returns options for one transport with a newly reserved seat.
func (b *bench) by(t client.Transport) client.Options {
	b.Helper()
	b.seats++
	id, err := b.seat(b.ctx, fmt.Sprint("player-", b.seats))
	if err != nil {
		b.Fatal(err)
	}
	a := b.host.Addrs()
	o := client.Options{
		Addr: a.WS, KCPAddr: a.KCP, PlayerSessionID: id, Transport: t, TLS: &tls.Config{RootCAs: b.roots(), ServerName: "localhost"},
		DialContext: b.net.Dial,
	}
	if t == client.WSS || t == client.Auto {
		o.Addr = a.WSS
	}
	return o
}

func (b *bench) enter(o client.Options) *client.Client {
	b.Helper()
	c, err := client.Dial(b.ctx, o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Abort)
	return c
}

func (b *bench) send(c *client.Client, m client.Message) {
	b.Helper()
	if err := c.Send(b.ctx, m); err != nil {
		b.Fatal(err)
	}
}

// next returns the next event of a kind. It skips other events.
func (b *bench) next(c *client.Client, kind client.EventKind) client.Event {
	b.Helper()
	for {
		if e := await(b.T, kind.String(), c.Events()); e.Kind == kind || e.Kind == 0 {
			return e
		}
	}
}

// status returns the status of a player session according to the host.
func (b *bench) status(id string) types.PlayerSessionStatus {
	b.Helper()
	synctest.Wait() // until the host has processed the clients' input
	out, err := b.api.DescribePlayerSessions(b.ctx, &gamelift.DescribePlayerSessionsInput{PlayerSessionId: &id})
	if err != nil {
		b.Fatal(err)
	}
	return out.PlayerSessions[0].Status
}

// numbered sends message n through the host to the client itself.
func (b *bench) numbered(c *client.Client, n int) {
	b.Helper()
	b.send(c, client.Message{OpCode: 3, TargetPlayer: c.PeerID(), Payload: binary.BigEndian.AppendUint32(nil, uint32(n))})
}
