package play

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/cmd/troupe/internal/reach"
	"troupe/transport/client"
	"troupe/transport/dtls"
)

// Options say where to play and as whom.
type Options struct {
	API          string // URL of the service API
	Region       string // for the signature; any, without keys
	AccessKey    string // to sign with; empty for a host in auth mode none
	SecretKey    string
	SessionToken string
	Fleet        string // a fleet id, or empty with Alias
	Alias        string // an alias id, or empty
	GameSession  string // ARN of a game session; empty: join one with room, or create one
	Player       string // player id, or its beginning with bots; empty: made up
	Group        int32  // group to join; 0 for none
	Fast         bool   // use the fast channel

	Transport client.Transport
	KCPAddr   string      // host:port; empty: the default port of the game session's machine
	TLS       *tls.Config // roots and server name of wss and kcp; nil: the system's, and the name dialled

	Drop time.Duration // each player cuts its own network so often; 0 for never
	For  time.Duration // and for so long

	Quiet bool // print less
}

// connection is how each player gets to its seat. DTLS sessions are shared by all
// connections made of one result.
func (o *Options) connection() client.Options {
	return client.Options{
		Transport: o.Transport, KCPAddr: o.KCPAddr, TLS: o.TLS, Sessions: dtls.NewSessions(), Fast: o.Fast,
	}
}

// outages are what each player does to its own network.
func (o *Options) outages() outages { return outages{every: o.Drop, last: o.For} }

// check says what of the options cannot be.
func (o *Options) check() error {
	switch {
	case o.Drop < 0 || o.For < 0:
		return errors.New("--drop and --for must not be negative")
	case o.For > 0 && o.Drop == 0:
		return errors.New("--for goes with --drop")
	case o.For > 0 && o.For >= o.Drop:
		return errors.New("--for must be less than --drop: the network would never be back")
	}
	return nil
}

// seat is a reserved place in a game session.
type seat struct {
	addr, id, player string
}

// Limits of the service API.
const (
	seatsPerCall = 25
	seatsMax     = 200 // per game session
	seatsDefault = 16  // of a game session made for a player who is alone
)

const (
	activePoll     = 20 * time.Millisecond
	activePatience = 10 * time.Second
	callPatience   = 30 * time.Second
)

// lobby is the service API as a player's backend uses it.
type lobby struct {
	o        Options
	api      *gamelift.Client
	versions versions
}

// newLobby takes the caller's keys, or a fixed one: a host in auth mode none reads
// no more of it than its form. There are only a few calls, so none leaves a
// connection behind; and somebody waits for each, so that there is no host is said
// at once.
func newLobby(o Options) *lobby {
	l := &lobby{o: o, versions: versions{
		next: &http.Transport{DisableKeepAlives: true, TLSClientConfig: o.TLS}, of: make(map[string]string),
	}}
	l.api = gamelift.New(gamelift.Options{
		Region: o.Region, BaseEndpoint: &o.API, RetryMaxAttempts: 1,
		HTTPClient: &http.Client{Transport: &l.versions, Timeout: callPatience},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: cmp.Or(o.AccessKey, "troupe-client"), SecretAccessKey: cmp.Or(o.SecretKey, "none"), SessionToken: o.SessionToken}, nil
		}),
	})
	return l
}

// enter reserves a seat for each player, all in one game session.
func (l *lobby) enter(ctx context.Context, players []string) (game string, seats []seat, err error) {
	if l.o.GameSession != "" {
		if seats, err = l.reserve(ctx, l.o.GameSession, players); err == nil { // for its version only
			_, _ = l.api.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{GameSessionId: &l.o.GameSession})
		}
		return l.o.GameSession, seats, err
	}
	game, err = l.find(ctx, len(players))
	if err != nil {
		return "", nil, err
	}
	if game != "" {
		seats, err = l.reserve(ctx, game, players)
		var full *types.GameSessionFullException
		var status *types.InvalidGameSessionStatusException
		if !errors.As(err, &full) && !errors.As(err, &status) {
			return game, seats, err
		} // somebody was faster: make one
	}
	if game, err = l.create(ctx, len(players)); err != nil {
		return "", nil, err
	}
	seats, err = l.reserve(ctx, game, players)
	return game, seats, err
}

func (l *lobby) place() (fleet, alias *string) {
	if l.o.Alias != "" {
		return nil, &l.o.Alias
	}
	return &l.o.Fleet, nil
}

// find returns a game session with room, or nothing.
func (l *lobby) find(ctx context.Context, room int) (string, error) {
	fleet, alias := l.place()
	in := &gamelift.DescribeGameSessionsInput{FleetId: fleet, AliasId: alias, StatusFilter: aws.String("ACTIVE")}
	for pages := gamelift.NewDescribeGameSessionsPaginator(l.api, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", fmt.Errorf("look for a game session: %w", reach.Explain(l.o.API, err))
		}
		for _, g := range page.GameSessions {
			free := aws.ToInt32(g.MaximumPlayerSessionCount) - aws.ToInt32(g.CurrentPlayerSessionCount)
			if g.PlayerSessionCreationPolicy != types.PlayerSessionCreationPolicyDenyAll && int(free) >= room {
				return aws.ToString(g.GameSessionId), nil
			}
		}
	}
	return "", nil
}

// create makes a game session and waits until it is ACTIVE.
func (l *lobby) create(ctx context.Context, room int) (string, error) {
	fleet, alias := l.place()
	out, err := l.api.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{
		FleetId: fleet, AliasId: alias, Name: aws.String("troupe client"),
		MaximumPlayerSessionCount: aws.Int32(int32(max(room, seatsDefault))),
	})
	if err != nil {
		return "", fmt.Errorf("create a game session: %w", reach.Explain(l.o.API, err))
	}
	game := out.GameSession
	ctx, cancel := context.WithTimeout(ctx, activePatience)
	defer cancel()
	for game.Status == types.GameSessionStatusActivating {
		if err := sleep(ctx, activePoll); err != nil {
			return "", fmt.Errorf("game session %s does not become ACTIVE: %w", aws.ToString(game.GameSessionId), err)
		}
		described, err := l.api.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{GameSessionId: game.GameSessionId})
		if err != nil {
			return "", fmt.Errorf("describe the game session: %w", reach.Explain(l.o.API, err))
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

// reserve takes a seat for each player.
func (l *lobby) reserve(ctx context.Context, game string, players []string) ([]seat, error) {
	var seats []seat
	for len(players) > 0 {
		some := players[:min(len(players), seatsPerCall)]
		players = players[len(some):]
		out, err := l.api.CreatePlayerSessions(ctx, &gamelift.CreatePlayerSessionsInput{GameSessionId: &game, PlayerIds: some})
		if err != nil {
			return nil, fmt.Errorf("reserve seats: %w", reach.Explain(l.o.API, err))
		}
		for _, p := range out.PlayerSessions {
			seats = append(seats, seat{
				addr: net.JoinHostPort(l.host(&p), strconv.Itoa(int(aws.ToInt32(p.Port)))),
				id:   aws.ToString(p.PlayerSessionId), player: aws.ToString(p.PlayerId),
			})
		}
	}
	return seats, nil
}

// host is where a player session says to connect to: a certificate carries the
// name, so that is taken where there is one.
func (l *lobby) host(p *types.PlayerSession) string {
	if name := aws.ToString(p.DnsName); name != "" && l.o.Transport > client.WS {
		return name
	}
	return aws.ToString(p.IpAddress)
}

// sleep waits, or returns why ctx ended before.
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
