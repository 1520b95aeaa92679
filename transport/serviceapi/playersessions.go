package serviceapi

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"troupe/messages"
	"troupe/transport/awswire"
)

func (s *Server) createPlayerSession(ctx context.Context, in *gamelift.CreatePlayerSessionInput) (*gamelift.CreatePlayerSessionOutput, error) {
	records, err := s.reserve(ctx, *in.GameSessionId, []messages.NewPlayer{{
		PlayerID: messages.PlayerID(*in.PlayerId), PlayerData: aws.ToString(in.PlayerData),
	}})
	if err != nil {
		return nil, err
	}
	return &gamelift.CreatePlayerSessionOutput{PlayerSession: s.playerSession(ctx, records[0])}, nil
}

func (s *Server) createPlayerSessions(ctx context.Context, in *gamelift.CreatePlayerSessionsInput) (*gamelift.CreatePlayerSessionsOutput, error) {
	players := make([]messages.NewPlayer, len(in.PlayerIds))
	for i, id := range in.PlayerIds {
		if slices.Contains(in.PlayerIds[:i], id) { // a linear search is fast enough for at most 25 ids
			return nil, invalid("PlayerIds holds %q twice", awswire.Clip(id))
		}
		players[i] = messages.NewPlayer{PlayerID: messages.PlayerID(id), PlayerData: in.PlayerDataMap[id]}
	}
	records, err := s.reserve(ctx, *in.GameSessionId, players)
	return &gamelift.CreatePlayerSessionsOutput{PlayerSessions: s.playerSessions(ctx, records)}, err
}

// reserve creates player sessions and returns one record per player.
func (s *Server) reserve(ctx context.Context, arn string, players []messages.NewPlayer) ([]*messages.PlayerSession, error) {
	id, err := s.arns.gameSession(arn)
	records, err := do(ctx, s, err, messages.CreatePlayerSessions{GameSessionID: id, Players: players})
	if err == nil && len(records) != len(players) {
		err = fmt.Errorf("backend returned %d player sessions for %d players", len(records), len(players))
	}
	return records, err
}

// describePlayerSessions lists player sessions, oldest first. The status filter applies only if a game
// session is given. With a player session id, paging is ignored (service-api.md 2.7).
func (s *Server) describePlayerSessions(ctx context.Context, in *gamelift.DescribePlayerSessionsInput) (*gamelift.DescribePlayerSessionsOutput, error) {
	query, err := s.playerSessionQuery(in)
	records, err := do(ctx, s, err, query)
	if err != nil {
		return nil, err
	}
	if in.PlayerSessionId != nil {
		if len(records) == 0 {
			return nil, messages.Errorf(messages.NotFound, "there is no player session that starts with %q", awswire.Clip(query.PlayerSessionID.Short()))
		}
		return &gamelift.DescribePlayerSessionsOutput{PlayerSessions: s.playerSessions(ctx, records)}, nil
	}
	page, token, err := cut(s.pager, pagingOf(in, pageMax), records, func(p *messages.PlayerSession) position { return at(p.Created, hiddenID(p.ID)) })
	return &gamelift.DescribePlayerSessionsOutput{PlayerSessions: s.playerSessions(ctx, page), NextToken: token}, err
}

func (s *Server) playerSessionQuery(in *gamelift.DescribePlayerSessionsInput) (q messages.PlayerSessionQuery, err error) {
	selectors := 0
	for _, selector := range []*string{in.GameSessionId, in.PlayerId, in.PlayerSessionId} {
		if selector != nil {
			selectors++
		}
	}
	switch {
	case selectors != 1:
		return q, invalid("give exactly one of GameSessionId, PlayerId and PlayerSessionId, not %d", selectors)
	case in.PlayerId != nil:
		q.PlayerID = messages.PlayerID(*in.PlayerId)
		return q, nil
	case in.PlayerSessionId != nil:
		q.PlayerSessionID = messages.PlayerSessionID(*in.PlayerSessionId)
		return q, nil
	}
	if filter := in.PlayerSessionStatusFilter; filter != nil {
		status, ok := messages.ParsePlayerSessionStatus(*filter)
		if !ok {
			return q, invalid("PlayerSessionStatusFilter must be one of %s", strings.Join(messages.PlayerSessionStatusNames(), ", "))
		}
		q.Status = status
	}
	q.GameSessionID, err = s.arns.gameSession(*in.GameSessionId)
	return q, err
}
