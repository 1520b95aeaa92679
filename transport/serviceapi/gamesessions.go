package serviceapi

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages"
	"troupe/transport/awswire"
)

// playersMax is the vendor's limit for MaximumPlayerSessionCount (service-api.md 2.6).
const playersMax = 200

func (s *Server) createGameSession(ctx context.Context, in *gamelift.CreateGameSessionInput) (*gameSessionOutput, error) {
	fleet, alias, err := s.fleetOrAlias(in.FleetId, in.AliasId)
	if err != nil {
		return nil, err
	}
	if *in.MaximumPlayerSessionCount > playersMax {
		return nil, invalid("MaximumPlayerSessionCount must be 0 to %d, it is %d", playersMax, *in.MaximumPlayerSessionCount)
	}
	properties, err := uniqueProperties(in.GameProperties)
	if err != nil {
		return nil, err
	}
	token := aws.ToString(in.IdempotencyToken)
	if deprecated := aws.ToString(in.GameSessionId); token == "" {
		token = deprecated
	} else if deprecated != "" && deprecated != token {
		return nil, invalid("IdempotencyToken and GameSessionId differ; give one of them")
	}
	created, err := ask(ctx, s, nil, messages.CreateGameSession{
		FleetID:          fleet,
		AliasID:          alias,
		Location:         aws.ToString(in.Location),
		Name:             aws.ToString(in.Name),
		CreatorID:        aws.ToString(in.CreatorId),
		Data:             aws.ToString(in.GameSessionData),
		Properties:       properties,
		MaxPlayers:       int(*in.MaximumPlayerSessionCount),
		IdempotencyToken: token,
	}, s.gameSession)
	return &gameSessionOutput{GameSession: created}, err
}

// describeGameSessions lists game sessions, newest first.
func (s *Server) describeGameSessions(ctx context.Context, in *gamelift.DescribeGameSessionsInput) (*gameSessionsOutput, error) {
	records, token, err := s.selectedGameSessions(ctx, in, pagingOf(in, pageMax))
	return &gameSessionsOutput{GameSessions: shownAll(records, s.gameSession), NextToken: token}, err
}

// selectedGameSessions returns one game session or a page of them. If a game session id is given, the
// location and the alias are ignored, and the result is empty if the id of another fleet is given (D-211).
func (s *Server) selectedGameSessions(ctx context.Context, in *gamelift.DescribeGameSessionsInput, how paging) ([]*messages.GameSession, *string, error) {
	switch {
	case in.FleetId != nil && in.AliasId != nil:
		return nil, nil, invalid("give FleetId or AliasId, not both")
	case in.FleetId == nil && in.AliasId == nil && in.GameSessionId == nil:
		return nil, nil, invalid("give one of FleetId, AliasId and GameSessionId")
	case in.Location != nil && in.FleetId == nil && in.AliasId == nil:
		return nil, nil, invalid("Location needs a FleetId or an AliasId")
	}
	fleet, err := s.arns.fleet(in.FleetId)
	if err != nil {
		return nil, nil, err
	}
	status, _ := messages.ParseGameSessionStatus(aws.ToString(in.StatusFilter)) // 0 (any status) if the filter is absent
	if in.GameSessionId != nil {
		found, err := s.oneGameSession(ctx, *in.GameSessionId, fleet, status)
		if err == nil && how.token != nil {
			err = how.badToken()
		}
		return found, nil, err
	}
	alias, err := s.arns.alias(in.AliasId)
	if err != nil {
		return nil, nil, err
	}
	return s.findGameSessions(ctx, messages.FindGameSessions{
		FleetID: fleet, AliasID: alias, Location: aws.ToString(in.Location), Status: status, Newest: true, All: true,
	}, how)
}

// oneGameSession finds a game session by its ARN. The list is empty if the game session does not have the
// given fleet or status.
func (s *Server) oneGameSession(ctx context.Context, arn string, fleet messages.FleetID, status messages.GameSessionStatus) ([]*messages.GameSession, error) {
	id, err := s.arns.gameSession(arn)
	g, err := do(ctx, s, err, messages.GameSessionQuery{ID: id})
	if err != nil || fleet != "" && g.FleetID != fleet || status != 0 && g.Status != status {
		return nil, err
	}
	return []*messages.GameSession{g}, nil
}

// fleetOrAlias converts a fleet id or an alias id. Exactly one of them must be given.
func (s *Server) fleetOrAlias(fleetID, aliasID *string) (messages.FleetID, messages.AliasID, error) {
	if (fleetID == nil) == (aliasID == nil) {
		return "", "", invalid("give exactly one of FleetId and AliasId")
	}
	fleet, err := s.arns.fleet(fleetID)
	if err != nil {
		return "", "", err
	}
	alias, err := s.arns.alias(aliasID)
	return fleet, alias, err
}

func uniqueProperties(given []types.GameProperty) ([]messages.Property, error) {
	properties := make([]messages.Property, 0, len(given))
	for _, p := range given {
		if slices.ContainsFunc(properties, func(q messages.Property) bool { return q.Key == *p.Key }) {
			return nil, invalid("GameProperties holds the key %q twice", awswire.Clip(*p.Key))
		}
		properties = append(properties, messages.Property{Key: *p.Key, Value: *p.Value})
	}
	return properties, nil
}
