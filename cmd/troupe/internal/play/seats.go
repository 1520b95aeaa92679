package play

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/cmd/troupe/internal/reach"
	"troupe/transport"
	"troupe/transport/client"
	"troupe/transport/dtls"
)

// Options defines where to play and as which player.
type Options struct {
	API          string // URL of the service API
	Region       string // region of the signature; any region without an access key
	AccessKey    string // key for signing; empty for a host with api.auth: none
	SecretKey    string
	SessionToken string
	Fleet        string // fleet id; empty if Alias is set
	Alias        string // alias id; empty if Fleet is set
	GameSession  string // ARN of a game session; empty: join one with free seats, or create one
	Player       string // player id, or its prefix with bots; empty: random
	Group        int32  // group to join; 0: none
	Fast         bool   // use the fast channel

	Transport client.Transport
	KCPAddr   string      // host:port; empty: the default port on the game session's machine
	TLS       *tls.Config // roots and server name for wss and kcp; nil: the system's roots and the dialled name

	Drop time.Duration // interval of simulated network failures; 0: none
	For  time.Duration // duration of each failure

	Quiet bool // print less

	Network transport.Network // nil: the network of the operating system
}

// connection returns the client options that all players share, without address and player session. Connections with
// the same options share DTLS sessions.
func (o *Options) connection() client.Options {
	c := client.Options{
		Transport: o.Transport, KCPAddr: o.KCPAddr, TLS: o.TLS, Sessions: dtls.NewSessions(), Fast: o.Fast,
	}
	if o.Network != nil {
		c.DialContext = func(ctx context.Context, network string, _ netip.Addr, address string) (net.Conn, error) {
			return o.Network.DialContext(ctx, network, address)
		}
	}
	return c
}

// outages returns the network failures that each player simulates.
func (o *Options) outages() outages { return outages{every: o.Drop, last: o.For} }

// check returns an error for invalid options.
func (o *Options) check() error {
	switch {
	case o.Drop < 0 || o.For < 0:
		return errors.New("--drop and --for must not be negative")
	case o.For > 0 && o.Drop == 0:
		return errors.New("--for needs --drop")
	case o.For > 0 && o.For >= o.Drop:
		return errors.New("--for must be less than --drop: otherwise the network would never be up")
	}
	return nil
}

// seat is a reserved player session.
type seat struct {
	addr, id, player string
}

// Limits of the service API.
const (
	seatsPerCall = 25
	seatsMax     = 200 // per game session
	seatsDefault = 16  // for a game session that is created for a few players
)

const (
	activePoll     = 20 * time.Millisecond
	activePatience = 10 * time.Second
	callPatience   = 30 * time.Second
)

// seats reserves a seat for each player through the service API, as the backend of a game does. It uses the named game
// session. If none is named, it uses a game session with enough free seats, or creates one.
func (o *Options) seats(ctx context.Context, players []string) (game string, seats []seat, err error) {
	api := o.Service()
	if game = o.GameSession; game == "" {
		game, err = o.find(ctx, api, len(players))
	}
	if err == nil && game == "" {
		game, err = o.create(ctx, api, len(players))
	}
	if err != nil {
		return "", nil, err
	}
	for len(players) > 0 {
		some := players[:min(len(players), seatsPerCall)]
		players = players[len(some):]
		out, err := api.CreatePlayerSessions(ctx, &gamelift.CreatePlayerSessionsInput{GameSessionId: &game, PlayerIds: some})
		if err != nil {
			return "", nil, fmt.Errorf("reserve seats: %w", reach.Explain(o.API, err))
		}
		for _, p := range out.PlayerSessions {
			seats = append(seats, seat{
				addr: net.JoinHostPort(o.host(&p), strconv.Itoa(int(aws.ToInt32(p.Port)))),
				id:   aws.ToString(p.PlayerSessionId), player: aws.ToString(p.PlayerId),
			})
		}
	}
	return game, seats, nil
}

// Service returns a client of the service API. It signs with the caller's key, or with a fixed dummy key; a host with
// api.auth: none checks only the format of the key. It does not keep connections alive, because there are only a few
// calls. It does not retry calls, so that an unreachable host is reported immediately.
func (o *Options) Service() *gamelift.Client {
	calls := &http.Transport{DisableKeepAlives: true, TLSClientConfig: o.TLS}
	if o.Network != nil {
		calls.DialContext = o.Network.DialContext
	}
	return gamelift.New(gamelift.Options{
		Region: o.Region, BaseEndpoint: &o.API, RetryMaxAttempts: 1,
		HTTPClient: &http.Client{Transport: calls, Timeout: callPatience},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: cmp.Or(o.AccessKey, "troupe-client"), SecretAccessKey: cmp.Or(o.SecretKey, "none"), SessionToken: o.SessionToken}, nil
		}),
	})
}

// destination returns the fleet or the alias to play on.
func (o *Options) destination() (fleet, alias *string) {
	if o.Alias != "" {
		return nil, &o.Alias
	}
	return &o.Fleet, nil
}

// find returns a game session with enough free seats, or "" if there is none.
func (o *Options) find(ctx context.Context, api *gamelift.Client, room int) (string, error) {
	fleet, alias := o.destination()
	out, err := api.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{FleetId: fleet, AliasId: alias, StatusFilter: aws.String("ACTIVE")})
	if err != nil {
		return "", fmt.Errorf("look for a game session: %w", reach.Explain(o.API, err))
	}
	for _, g := range out.GameSessions {
		free := aws.ToInt32(g.MaximumPlayerSessionCount) - aws.ToInt32(g.CurrentPlayerSessionCount)
		if g.PlayerSessionCreationPolicy != types.PlayerSessionCreationPolicyDenyAll && int(free) >= room {
			return aws.ToString(g.GameSessionId), nil
		}
	}
	return "", nil
}

// create creates a game session and waits until it is ACTIVE.
func (o *Options) create(ctx context.Context, api *gamelift.Client, room int) (string, error) {
	fleet, alias := o.destination()
	out, err := api.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{
		FleetId: fleet, AliasId: alias, Name: aws.String("troupe client"),
		MaximumPlayerSessionCount: aws.Int32(int32(max(room, seatsDefault))),
	})
	if err != nil {
		return "", fmt.Errorf("create a game session: %w", reach.Explain(o.API, err))
	}
	game := out.GameSession
	ctx, cancel := context.WithTimeout(ctx, activePatience)
	defer cancel()
	for game.Status == types.GameSessionStatusActivating {
		if err := sleep(ctx, activePoll); err != nil {
			return "", fmt.Errorf("game session %s does not become ACTIVE: %w", aws.ToString(game.GameSessionId), err)
		}
		described, err := api.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{GameSessionId: game.GameSessionId})
		if err != nil {
			return "", fmt.Errorf("describe the game session: %w", reach.Explain(o.API, err))
		}
		if len(described.GameSessions) == 1 {
			game = &described.GameSessions[0]
		}
	}
	if game.Status != types.GameSessionStatusActive {
		return "", fmt.Errorf("game session %s is %s", aws.ToString(game.GameSessionId), game.Status)
	}
	return aws.ToString(game.GameSessionId), nil
}

// host returns the address of a player session's host. It is the DNS name if there is one and the transport verifies a
// certificate, otherwise the IP address.
func (o *Options) host(p *types.PlayerSession) string {
	if name := aws.ToString(p.DnsName); name != "" && o.Transport > client.WS {
		return name
	}
	return aws.ToString(p.IpAddress)
}

// sleep waits for d. It returns an error if ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
