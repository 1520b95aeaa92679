package admin

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
)

// The records that are listed are those of the SDK.
type (
	GameSession   = types.GameSession      // a game session
	PlayerSession = types.PlayerSession    // a player session
	Queue         = types.GameSessionQueue // a game session queue
)

// Sessions filters game sessions. Empty fields do not filter.
type Sessions struct{ Fleet, Alias, GameSession, Location, Status string }

// GameSessions lists game sessions; without a fleet, alias or game session those of
// all fleets.
func (c *Client) GameSessions(ctx context.Context, s Sessions) ([]types.GameSession, error) {
	if s.Fleet != "" || s.Alias != "" || s.GameSession != "" {
		return c.gameSessions(ctx, s)
	}
	fleets, err := pages(ctx, gamelift.NewListFleetsPaginator(c.api, &gamelift.ListFleetsInput{}),
		func(o *gamelift.ListFleetsOutput) []string { return o.FleetIds })
	if err != nil {
		return nil, err
	}
	all := []types.GameSession{}
	for _, fleet := range fleets {
		s.Fleet = fleet
		some, err := c.gameSessions(ctx, s)
		var gone *types.NotFoundException // the fleet was deleted meanwhile
		if err != nil && !errors.As(err, &gone) {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

func (c *Client) gameSessions(ctx context.Context, s Sessions) ([]types.GameSession, error) {
	return pages(ctx, gamelift.NewDescribeGameSessionsPaginator(c.api, &gamelift.DescribeGameSessionsInput{
		FleetId: given(s.Fleet), AliasId: given(s.Alias), GameSessionId: given(s.GameSession), Location: given(s.Location), StatusFilter: given(s.Status),
	}), func(o *gamelift.DescribeGameSessionsOutput) []types.GameSession { return o.GameSessions })
}

// Players filters player sessions. Empty fields do not filter. Status has no effect with
// Player or PlayerSession.
type Players struct{ GameSession, Player, PlayerSession, Fleet, Status string }

// PlayerSessions lists player sessions; without a game session, player or player
// session those of all game sessions that are ACTIVE, on a fleet or on all.
func (c *Client) PlayerSessions(ctx context.Context, p Players) ([]types.PlayerSession, error) {
	if p.GameSession != "" || p.Player != "" || p.PlayerSession != "" {
		return c.playerSessions(ctx, p)
	}
	games, err := c.GameSessions(ctx, Sessions{Fleet: p.Fleet, Status: string(types.GameSessionStatusActive)})
	if err != nil {
		return nil, err
	}
	all := []types.PlayerSession{}
	for _, g := range games {
		some, err := c.playerSessions(ctx, Players{GameSession: aws.ToString(g.GameSessionId), Status: p.Status})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

func (c *Client) playerSessions(ctx context.Context, p Players) ([]types.PlayerSession, error) {
	return pages(ctx, gamelift.NewDescribePlayerSessionsPaginator(c.api, &gamelift.DescribePlayerSessionsInput{
		GameSessionId: given(p.GameSession), PlayerId: given(p.Player), PlayerSessionId: given(p.PlayerSession), PlayerSessionStatusFilter: given(p.Status),
	}), func(o *gamelift.DescribePlayerSessionsOutput) []types.PlayerSession { return o.PlayerSessions })
}

// Queues lists the named queues, or all without names.
func (c *Client) Queues(ctx context.Context, names []string) ([]types.GameSessionQueue, error) {
	return pages(ctx, gamelift.NewDescribeGameSessionQueuesPaginator(c.api, &gamelift.DescribeGameSessionQueuesInput{Names: names}),
		func(o *gamelift.DescribeGameSessionQueuesOutput) []types.GameSessionQueue { return o.GameSessionQueues })
}

// given returns nil for an empty text.
func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
