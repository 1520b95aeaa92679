package serviceapi

import (
	"context"
	"errors"
	"math"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages"
	"troupe/transport/awswire"
)

// startPlacement starts a placement (service-api.md 2.9).
func (s *Server) startPlacement(ctx context.Context, in *gamelift.StartGameSessionPlacementInput) (*gamelift.StartGameSessionPlacementOutput, error) {
	req, err := s.placementRequest(in)
	shown, err := ask(ctx, s, err, req, placement(ctx))
	return &gamelift.StartGameSessionPlacementOutput{GameSessionPlacement: shown}, throttled(err)
}

func (s *Server) placementRequest(in *gamelift.StartGameSessionPlacementInput) (req messages.StartPlacement, err error) {
	most := int(*in.MaximumPlayerSessionCount)
	if most > playersMax {
		return req, invalid("MaximumPlayerSessionCount must be 0 to %d, it is %d", playersMax, most)
	}
	req = messages.StartPlacement{
		ID: messages.PlacementID(*in.PlacementId), MaxPlayers: most, Name: aws.ToString(in.GameSessionName), Data: aws.ToString(in.GameSessionData),
	}
	if req.Properties, err = uniqueProperties(in.GameProperties); err != nil {
		return req, err
	}
	if req.Latencies, err = latenciesOf(in.PlayerLatencies); err != nil {
		return req, err
	}
	if req.Players, err = desiredOf(in.DesiredPlayerSessions, most); err != nil {
		return req, err
	}
	if o := in.PriorityConfigurationOverride; o != nil {
		switch {
		case repeats(o.LocationOrder):
			return req, invalid("PriorityConfigurationOverride.LocationOrder names a location twice")
		case len(req.Latencies) > 0:
			return req, invalid("give PlayerLatencies or PriorityConfigurationOverride, not both")
		}
		req.LocationOrder, req.FallbackNone = o.LocationOrder, o.PlacementFallbackStrategy == types.PlacementFallbackStrategyNone
	}
	req.Queue, err = s.arns.queue(in.GameSessionQueueName)
	return req, err
}

// latenciesMax is the maximum length of PlayerLatencies: 200 players times 100 locations. The model sets no
// limit.
const latenciesMax = 20_000

// latenciesOf converts latencies. All members of each are required.
func latenciesOf(in []types.PlayerLatency) ([]messages.PlayerLatency, error) {
	if len(in) > latenciesMax {
		return nil, invalid("PlayerLatencies may have at most %d items, it has %d", latenciesMax, len(in))
	}
	all := make([]messages.PlayerLatency, len(in))
	for i, l := range in {
		if l.PlayerId == nil || l.RegionIdentifier == nil || l.LatencyInMilliseconds == nil {
			return nil, invalid("PlayerLatencies[%d] needs PlayerId, RegionIdentifier and LatencyInMilliseconds", i)
		}
		ms := *l.LatencyInMilliseconds
		if !(ms >= 0) || math.IsInf(float64(ms), 1) {
			return nil, invalid("PlayerLatencies[%d].LatencyInMilliseconds must be a number and not negative", i)
		}
		all[i] = messages.PlayerLatency{PlayerID: messages.PlayerID(*l.PlayerId), Location: *l.RegionIdentifier, Latency: ms}
	}
	return all, nil
}

// desiredOf converts the players for whom a placement reserves player sessions.
func desiredOf(in []types.DesiredPlayerSession, most int) ([]messages.NewPlayer, error) {
	if len(in) > most {
		return nil, invalid("DesiredPlayerSessions has %d players, MaximumPlayerSessionCount is %d", len(in), most)
	}
	all := make([]messages.NewPlayer, len(in))
	ids := make([]messages.PlayerID, len(in))
	for i, p := range in {
		if p.PlayerId == nil {
			return nil, invalid("DesiredPlayerSessions[%d].PlayerId is required", i)
		}
		ids[i] = messages.PlayerID(*p.PlayerId)
		all[i] = messages.NewPlayer{PlayerID: ids[i], PlayerData: aws.ToString(p.PlayerData)}
	}
	if repeats(ids) {
		return nil, invalid("DesiredPlayerSessions has a player twice")
	}
	return all, nil
}

func (s *Server) describePlacement(ctx context.Context, in *gamelift.DescribeGameSessionPlacementInput) (*gamelift.DescribeGameSessionPlacementOutput, error) {
	shown, err := ask(ctx, s, nil, messages.PlacementQuery{ID: messages.PlacementID(*in.PlacementId)}, placement(ctx))
	return &gamelift.DescribeGameSessionPlacementOutput{GameSessionPlacement: shown}, err
}

func (s *Server) stopPlacement(ctx context.Context, in *gamelift.StopGameSessionPlacementInput) (*gamelift.StopGameSessionPlacementOutput, error) {
	shown, err := ask(ctx, s, nil, messages.StopPlacement{ID: messages.PlacementID(*in.PlacementId)}, placement(ctx))
	return &gamelift.StopGameSessionPlacementOutput{GameSessionPlacement: shown}, err
}

// throttled converts a LimitExceeded error to a throttling fault, which SDKs retry.
func throttled(err error) error {
	if errors.Is(err, &messages.Error{Code: messages.LimitExceeded}) {
		return awswire.Throttled(err.Error())
	}
	return err
}

// placement returns a function that converts placements for the caller of ctx.
func placement(ctx context.Context) func(*messages.Placement) *types.GameSessionPlacement {
	return func(r *messages.Placement) *types.GameSessionPlacement { return shownPlacement(ctx, r) }
}

// shownPlacement converts a placement for the caller of ctx. GameSessionRegion is the location.
func shownPlacement(ctx context.Context, r *messages.Placement) *types.GameSessionPlacement {
	q := &r.Request
	p := &types.GameSessionPlacement{
		PlacementId:               filled(string(q.ID)),
		GameSessionQueueName:      filled(string(q.Queue)),
		Status:                    types.GameSessionPlacementState(r.Status.String()),
		MaximumPlayerSessionCount: count(q.MaxPlayers),
		GameSessionName:           filled(q.Name),
		GameSessionData:           filled(q.Data),
		MatchmakerData:            filled(q.MatchmakerData),
		StartTime:                 moment(r.Started),
		EndTime:                   moment(r.Ended),
		GameSessionId:             filled(string(r.GameSessionID)),
		GameSessionArn:            filled(string(r.GameSessionID)),
		GameSessionRegion:         filled(r.Location), // D-231
		IpAddress:                 filled(r.IPAddress),
		DnsName:                   filled(r.DNSName),
		Port:                      port(r.Port),
	}
	for _, property := range q.Properties {
		p.GameProperties = append(p.GameProperties, types.GameProperty{Key: aws.String(property.Key), Value: aws.String(property.Value)})
	}
	for _, l := range q.Latencies {
		p.PlayerLatencies = append(p.PlayerLatencies, types.PlayerLatency{
			PlayerId: aws.String(string(l.PlayerID)), RegionIdentifier: aws.String(l.Location), LatencyInMilliseconds: aws.Float32(l.Latency),
		})
	}
	for _, s := range r.Placed {
		p.PlacedPlayerSessions = append(p.PlacedPlayerSessions, types.PlacedPlayerSession{
			PlayerId: aws.String(string(s.PlayerID)), PlayerSessionId: aws.String(shownID(ctx, s.PlayerSessionID)),
		})
	}
	if len(q.LocationOrder) > 0 {
		p.PriorityConfigurationOverride = &types.PriorityConfigurationOverride{
			LocationOrder: q.LocationOrder, PlacementFallbackStrategy: types.PlacementFallbackStrategyDefaultAfterSinglePass,
		}
		if q.FallbackNone {
			p.PriorityConfigurationOverride.PlacementFallbackStrategy = types.PlacementFallbackStrategyNone
		}
	}
	if r.GameSessionID != "" {
		p.PlayerGatewayStatus = types.PlayerGatewayStatusDisabled
	}
	return p
}
