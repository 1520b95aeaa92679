package storm

import (
	"context"
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
)

// Limits of the service API.
const (
	seatsPerCall = 25
	seatsMax     = 200
)

// seat is a reserved player session.
type seat struct{ addr, id string }

// seats creates game sessions and calls enter with the seats of each, before their
// reservations expire.
func (o *Options) seats(ctx context.Context, enter func(room int, seats []seat) error) error {
	api := gamelift.New(gamelift.Options{
		Region: o.Region, BaseEndpoint: &o.API, HTTPClient: &http.Client{Timeout: 30 * time.Second},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "troupe-bench", SecretAccessKey: "none"}, nil
		}),
	})
	for room, left := 0, o.Players; left > 0; room++ {
		game, err := api.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{
			FleetId: &o.Fleet, MaximumPlayerSessionCount: aws.Int32(int32(o.Room)),
		})
		if err != nil {
			return fmt.Errorf("create a game session: %w", reach.Explain(o.API, err))
		}
		var all []seat
		for n := min(o.Room, left); n > 0; {
			some := min(n, seatsPerCall)
			seats, err := reserve(ctx, api, game.GameSession.GameSessionId, some)
			if err != nil {
				return fmt.Errorf("reserve %d seats: %w", some, reach.Explain(o.API, err))
			}
			all = append(all, seats...)
			n, left = n-some, left-some
		}
		if err := enter(room, all); err != nil {
			return err
		}
	}
	return nil
}

func reserve(ctx context.Context, api *gamelift.Client, game *string, n int) (seats []seat, err error) {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = "player-" + strconv.Itoa(i)
	}
	for attempt := 0; ; attempt++ {
		out, err := api.CreatePlayerSessions(ctx, &gamelift.CreatePlayerSessionsInput{GameSessionId: game, PlayerIds: ids})
		if err == nil {
			for _, p := range out.PlayerSessions {
				seats = append(seats, seatOf(&p))
			}
			return seats, nil
		}
		var activating *types.InvalidGameSessionStatusException // it becomes ACTIVE soon
		if !errors.As(err, &activating) || attempt == 50 || sleep(ctx, 20*time.Millisecond) != nil {
			return nil, err
		}
	}
}

func seatOf(p *types.PlayerSession) seat {
	host := aws.ToString(p.IpAddress)
	return seat{addr: net.JoinHostPort(host, strconv.Itoa(int(aws.ToInt32(p.Port)))), id: aws.ToString(p.PlayerSessionId)}
}
