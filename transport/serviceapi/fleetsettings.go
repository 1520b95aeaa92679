package serviceapi

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages"
	"troupe/transport/awswire"
)

func (s *Server) updateFleetAttributes(ctx context.Context, in *gamelift.UpdateFleetAttributesInput) (*gamelift.UpdateFleetAttributesOutput, error) {
	req := messages.UpdateFleet{Name: in.Name, Description: in.Description, MetricGroups: in.MetricGroups}
	if p := in.NewGameSessionProtectionPolicy; p != "" {
		req.Protection = aws.Bool(p == types.ProtectionPolicyFullProtection)
	}
	if in.AnywhereConfiguration != nil {
		req.Cost = in.AnywhereConfiguration.Cost
	}
	var err error
	if req.CreatorLimit, err = creatorLimitOf(in.ResourceCreationLimitPolicy); err != nil {
		return nil, err
	}
	req.FleetID, err = s.arns.fleet(in.FleetId)
	if _, err := do(ctx, s, err, req); err != nil {
		return nil, err
	}
	id := string(req.FleetID)
	return &gamelift.UpdateFleetAttributesOutput{FleetId: aws.String(id), FleetArn: aws.String(s.arns.mint("fleet", id))}, nil
}

// oneFleet returns the fleet that a member names.
func (s *Server) oneFleet(ctx context.Context, member *string) (*messages.Fleet, error) {
	id, err := s.arns.fleet(member)
	fleets, err := do(ctx, s, err, messages.FleetQuery{With: []messages.FleetID{id}})
	if err != nil {
		return nil, err
	}
	found := pick(fleets, []messages.FleetID{id})
	if len(found) == 0 {
		return nil, messages.Errorf(messages.NotFound, "there is no fleet %q", awswire.Clip(*member))
	}
	return found[0], nil
}

func (s *Server) describeFleetPortSettings(ctx context.Context, in *gamelift.DescribeFleetPortSettingsInput) (*gamelift.DescribeFleetPortSettingsOutput, error) {
	f, err := s.oneFleet(ctx, in.FleetId)
	if err != nil {
		return nil, err
	}
	location := f.Locations[0]
	if in.Location != nil {
		if location, err = locationOf(f, *in.Location); err != nil {
			return nil, err
		}
	}
	shown := make([]types.IpPermission, len(f.Ports))
	for i, p := range f.Ports {
		shown[i] = types.IpPermission{FromPort: count(p.From), ToPort: count(p.To), IpRange: aws.String(p.Range), Protocol: types.IpProtocol(p.Protocol)}
	}
	return &gamelift.DescribeFleetPortSettingsOutput{
		FleetId: aws.String(string(f.ID)), FleetArn: aws.String(s.arns.mint("fleet", string(f.ID))),
		InboundPermissions: shown, Location: aws.String(location),
	}, nil
}

func (s *Server) updateFleetPortSettings(ctx context.Context, in *gamelift.UpdateFleetPortSettingsInput) (*gamelift.UpdateFleetPortSettingsOutput, error) {
	add, err := portsOf("InboundPermissionAuthorizations", in.InboundPermissionAuthorizations)
	if err != nil {
		return nil, err
	}
	remove, err := portsOf("InboundPermissionRevocations", in.InboundPermissionRevocations)
	if err != nil {
		return nil, err
	}
	id, err := s.arns.fleet(in.FleetId)
	if _, err := do(ctx, s, err, messages.UpdatePorts{FleetID: id, Add: add, Remove: remove}); err != nil {
		return nil, err
	}
	return &gamelift.UpdateFleetPortSettingsOutput{FleetId: aws.String(string(id)), FleetArn: aws.String(s.arns.mint("fleet", string(id)))}, nil
}

// portsOf converts port ranges. Their members have already passed the model's rules.
func portsOf(member string, given []types.IpPermission) ([]messages.Port, error) {
	var ports []messages.Port
	for _, p := range given {
		if *p.FromPort > *p.ToPort {
			return nil, invalid("%s has a range from %d to %d", member, *p.FromPort, *p.ToPort)
		}
		ports = append(ports, messages.Port{From: int(*p.FromPort), To: int(*p.ToPort), Range: *p.IpRange, Protocol: string(p.Protocol)})
	}
	return ports, nil
}

// creatorPeriodMax is the maximum of PolicyPeriodInMinutes: 100 years. The model sets no limit.
const creatorPeriodMax = 100 * 365 * 24 * 60

// creatorLimitOf converts a policy. An absent member is 0, which means no limit.
func creatorLimitOf(in *types.ResourceCreationLimitPolicy) (*messages.CreatorLimit, error) {
	if in == nil {
		return nil, nil
	}
	minutes := aws.ToInt32(in.PolicyPeriodInMinutes)
	if minutes > creatorPeriodMax {
		return nil, invalid("ResourceCreationLimitPolicy.PolicyPeriodInMinutes may be at most %d, it is %d", creatorPeriodMax, minutes)
	}
	return &messages.CreatorLimit{PerPeriod: int(aws.ToInt32(in.NewGameSessionsPerCreator)), Period: time.Duration(minutes) * time.Minute}, nil
}

func shownCreatorLimit(l *messages.CreatorLimit) *types.ResourceCreationLimitPolicy {
	if l == nil {
		return nil
	}
	return &types.ResourceCreationLimitPolicy{NewGameSessionsPerCreator: count(l.PerPeriod), PolicyPeriodInMinutes: count(int(l.Period / time.Minute))}
}
