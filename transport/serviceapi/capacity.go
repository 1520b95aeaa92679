package serviceapi

import (
	"cmp"
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages"
	"troupe/transport/awswire"
)

// An instance of the service API is a process group on this host. Each group runs the whole runtime
// configuration of its fleet. A fleet has a desired number of groups in each location.

// fleetUses returns the capacity and use of fleets in their home locations: the given fleets in that order,
// without unknown ones, or a page of all fleets.
func (s *Server) fleetUses(ctx context.Context, given []string, in any) ([]messages.FleetUse, *string, error) {
	wanted, err := s.fleetIDs(given)
	uses, err := do(ctx, s, err, messages.FleetUseQuery{FleetIDs: wanted})
	if err != nil || given != nil {
		return uses, nil, err
	}
	return cut(s.pager, pagingOf(in, pageMax), uses, func(u messages.FleetUse) position { return fleetPosition(u.Fleet) })
}

// fleetIDs converts the fleet ids of a Describe call. It returns nil if there are none.
func (s *Server) fleetIDs(given []string) ([]messages.FleetID, error) {
	if len(given) > describeIDsMax {
		return nil, invalid("FleetIds may hold at most %d ids, it has %d", describeIDsMax, len(given))
	}
	var wanted []messages.FleetID
	for i := range given {
		id, err := s.arns.fleet(&given[i])
		if err != nil {
			return nil, err
		}
		wanted = append(wanted, id)
	}
	return wanted, nil
}

func (s *Server) describeFleetCapacity(ctx context.Context, in *gamelift.DescribeFleetCapacityInput) (*gamelift.DescribeFleetCapacityOutput, error) {
	uses, token, err := s.fleetUses(ctx, in.FleetIds, in)
	return &gamelift.DescribeFleetCapacityOutput{FleetCapacity: shownAll(uses, s.capacity), NextToken: token}, err
}

func (s *Server) describeFleetUtilization(ctx context.Context, in *gamelift.DescribeFleetUtilizationInput) (*gamelift.DescribeFleetUtilizationOutput, error) {
	uses, token, err := s.fleetUses(ctx, in.FleetIds, in)
	return &gamelift.DescribeFleetUtilizationOutput{FleetUtilization: shownAll(uses, s.utilization), NextToken: token}, err
}

// useAt returns the capacity and use of one fleet in one location, converted by show.
func useAt[S any](ctx context.Context, s *Server, fleet *string, location string, show func(messages.FleetUse) *S) (*S, error) {
	id, err := s.arns.fleet(fleet)
	uses, err := do(ctx, s, err, messages.FleetUseQuery{FleetIDs: []messages.FleetID{id}, Location: location})
	if err != nil {
		return nil, err
	}
	if len(uses) == 0 {
		return nil, messages.Errorf(messages.NotFound, "there is no fleet %q with a location %s", awswire.Clip(*fleet), location)
	}
	return show(uses[0]), nil
}

func (s *Server) describeFleetLocationCapacity(ctx context.Context, in *gamelift.DescribeFleetLocationCapacityInput) (*gamelift.DescribeFleetLocationCapacityOutput, error) {
	shown, err := useAt(ctx, s, in.FleetId, *in.Location, s.capacity)
	return &gamelift.DescribeFleetLocationCapacityOutput{FleetCapacity: shown}, err
}

func (s *Server) describeFleetLocationUtilization(ctx context.Context, in *gamelift.DescribeFleetLocationUtilizationInput) (*gamelift.DescribeFleetLocationUtilizationOutput, error) {
	shown, err := useAt(ctx, s, in.FleetId, *in.Location, s.utilization)
	return &gamelift.DescribeFleetLocationUtilizationOutput{FleetUtilization: shown}, err
}

func (s *Server) capacity(u messages.FleetUse) *types.FleetCapacity {
	id := string(u.Fleet.ID)
	shown := &types.FleetCapacity{
		FleetId: aws.String(id), FleetArn: aws.String(s.arns.mint("fleet", id)), Location: aws.String(u.Location),
		InstanceCounts: &types.EC2InstanceCounts{
			DESIRED: count(u.Groups.Desired), MINIMUM: count(u.Groups.Min), MAXIMUM: count(u.Groups.Max),
			PENDING: count(u.Pending), ACTIVE: count(u.Active), IDLE: count(u.Idle), TERMINATING: count(u.Terminating),
		},
	}
	if !u.Fleet.Anywhere {
		shown.InstanceType = cmp.Or(types.EC2InstanceType(u.Fleet.Shown.InstanceType), instanceTypeLocal)
	}
	return shown
}

func (s *Server) utilization(u messages.FleetUse) *types.FleetUtilization {
	id := string(u.Fleet.ID)
	return &types.FleetUtilization{
		FleetId: aws.String(id), FleetArn: aws.String(s.arns.mint("fleet", id)), Location: aws.String(u.Location),
		ActiveServerProcessCount: count(u.Processes), ActiveGameSessionCount: count(u.GameSessions),
		CurrentPlayerSessionCount: count(u.Players), MaximumPlayerSessionCount: count(u.PlayersMax),
	}
}

func (s *Server) updateFleetCapacity(ctx context.Context, in *gamelift.UpdateFleetCapacityInput) (*gamelift.UpdateFleetCapacityOutput, error) {
	managed := in.ManagedCapacityConfiguration
	switch {
	case in.DesiredInstances == nil && in.MinSize == nil && in.MaxSize == nil && managed == nil:
		return nil, invalid("give at least one of DesiredInstances, MinSize and MaxSize")
	case managed != nil && (managed.ZeroCapacityStrategy == types.ZeroCapacityStrategyScaleToAndFromZero || managed.ScaleInAfterInactivityMinutes != nil):
		return nil, invalid("ManagedCapacityConfiguration: this host does not scale by itself; ZeroCapacityStrategy must be MANUAL")
	}
	id, err := s.arns.fleet(in.FleetId)
	_, err = do(ctx, s, err, messages.UpdateCapacity{
		FleetID: id, Location: aws.ToString(in.Location), Desired: whole(in.DesiredInstances), Min: whole(in.MinSize), Max: whole(in.MaxSize),
	})
	if err != nil {
		return nil, err
	}
	return &gamelift.UpdateFleetCapacityOutput{
		FleetId: aws.String(string(id)), FleetArn: aws.String(s.arns.mint("fleet", string(id))), Location: in.Location,
		ManagedCapacityConfiguration: managed,
	}, nil
}

func whole(n *int32) *int {
	if n == nil {
		return nil
	}
	return aws.Int(int(*n))
}

// describeInstances lists the process groups of a fleet in one location.
func (s *Server) describeInstances(ctx context.Context, in *gamelift.DescribeInstancesInput) (*gamelift.DescribeInstancesOutput, error) {
	id, err := s.arns.fleet(in.FleetId)
	all, err := do(ctx, s, err, messages.InstanceQuery{FleetID: id, Location: aws.ToString(in.Location)})
	if err != nil {
		return nil, err
	}
	if in.InstanceId != nil {
		all = slices.DeleteFunc(slices.Clone(all), func(i messages.Instance) bool { return i.ID != *in.InstanceId })
		if len(all) == 0 {
			return nil, messages.Errorf(messages.NotFound, "fleet %s has no instance %q there", id, awswire.Clip(*in.InstanceId))
		}
	}
	created := func(i messages.Instance) position { return at(i.Created, i.ID) }
	shown, token, err := page(s, nil, pagingOf(in, pageMax), all, created, func(n messages.Instance) *types.Instance {
		return &types.Instance{
			FleetId: aws.String(string(id)), FleetArn: aws.String(s.arns.mint("fleet", string(id))), InstanceId: aws.String(n.ID),
			IpAddress: filled(n.IPAddress), DnsName: filled(n.DNSName), Type: cmp.Or(types.EC2InstanceType(n.Type), instanceTypeLocal),
			Status: types.InstanceStatus(n.Status), CreationTime: moment(n.Created), Location: aws.String(n.Location),
		}
	})
	return &gamelift.DescribeInstancesOutput{Instances: shown, NextToken: token}, err
}
