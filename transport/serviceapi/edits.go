package serviceapi

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages"
)

// updateGameSession changes the members that the request contains (service-api.md 2.6).
func (s *Server) updateGameSession(ctx context.Context, in *gamelift.UpdateGameSessionInput) (*gameSessionOutput, error) {
	id, err := s.arns.gameSession(*in.GameSessionId)
	if err != nil {
		return nil, err
	}
	properties, err := uniqueProperties(in.GameProperties)
	if err != nil {
		return nil, err
	}
	req := messages.UpdateGameSession{ID: id, Name: in.Name, Properties: properties}
	if n := in.MaximumPlayerSessionCount; n != nil {
		if *n > playersMax {
			return nil, invalid("MaximumPlayerSessionCount must be 0 to %d, it is %d", playersMax, *n)
		}
		req.MaxPlayers = aws.Int(int(*n))
	}
	if p := in.PlayerSessionCreationPolicy; p != "" {
		req.AcceptsPlayers = aws.Bool(p == types.PlayerSessionCreationPolicyAcceptAll)
	}
	if p := in.ProtectionPolicy; p != "" {
		req.Protected = aws.Bool(p == types.ProtectionPolicyFullProtection)
	}
	if req.Name == nil && req.MaxPlayers == nil && req.AcceptsPlayers == nil && req.Protected == nil && len(properties) == 0 {
		return nil, invalid("give something to change: MaximumPlayerSessionCount, Name, PlayerSessionCreationPolicy, ProtectionPolicy or GameProperties")
	}
	shown, err := ask(ctx, s, nil, req, s.gameSession)
	return &gameSessionOutput{GameSession: shown}, err
}

// Output structs of the service, whose game sessions have the host's additional member.
type (
	gameSessionDetail struct {
		GameSession      *gameSession
		ProtectionPolicy types.ProtectionPolicy
	}
	gameSessionDetailsOutput struct {
		GameSessionDetails []gameSessionDetail
		NextToken          *string
	}
)

// describeGameSessionDetails is DescribeGameSessions with protection policies added.
func (s *Server) describeGameSessionDetails(ctx context.Context, in *gamelift.DescribeGameSessionDetailsInput) (*gameSessionDetailsOutput, error) {
	page, token, err := s.selectedGameSessions(ctx, &gamelift.DescribeGameSessionsInput{
		FleetId: in.FleetId, AliasId: in.AliasId, GameSessionId: in.GameSessionId, Location: in.Location, StatusFilter: in.StatusFilter,
	}, pagingOf(in, pageMax))
	details := shownAll(page, func(r *messages.GameSession) *gameSessionDetail {
		return &gameSessionDetail{GameSession: s.gameSession(r), ProtectionPolicy: protectionPolicy(r.Protected)}
	})
	return &gameSessionDetailsOutput{GameSessionDetails: details, NextToken: token}, err
}

func protectionPolicy(protected bool) types.ProtectionPolicy {
	if protected {
		return types.ProtectionPolicyFullProtection
	}
	return types.ProtectionPolicyNoProtection
}
