package serviceapi

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
)

// operations builds the dispatch table: every operation of the service as a
// stub, and over that the ones that the host offers.
func (s *Server) operations() table {
	t := make(table, len(declarations))
	for _, d := range declarations {
		t[d.name] = stub(d.name, d.declared)
	}
	s.registerGameSessions(t)
	s.registerSearch(t)
	s.registerEdits(t)
	s.registerEnds(t)
	s.registerPlayerSessions(t)
	s.registerFleets(t)
	s.registerFleetLives(t)
	s.registerFleetSettings(t)
	s.registerCapacity(t)
	s.registerFleetLocations(t)
	s.registerScripts(t)
	s.registerAliases(t)
	s.registerLocations(t)
	s.registerTags(t)
	s.registerQueues(t)
	s.registerPlacements(t)
	s.registerEmptyLists(t)
	for name, op := range t {
		op.replayed = !isRead(name)
	}
	return t
}

// registerEmptyLists makes the lists of things that the host never has answer
// with nothing, so that inventory scripts do not break (service-api.md 2.1).
func (s *Server) registerEmptyLists(t table) {
	register(t, "ListContainerFleets", always[gamelift.ListContainerFleetsInput](func() *gamelift.ListContainerFleetsOutput {
		return &gamelift.ListContainerFleetsOutput{ContainerFleets: []types.ContainerFleet{}}
	}))
	register(t, "ListContainerGroupDefinitions", always[gamelift.ListContainerGroupDefinitionsInput](func() *gamelift.ListContainerGroupDefinitionsOutput {
		return &gamelift.ListContainerGroupDefinitionsOutput{ContainerGroupDefinitions: []types.ContainerGroupDefinition{}}
	}))
	register(t, "ListGameServerGroups", always[gamelift.ListGameServerGroupsInput](func() *gamelift.ListGameServerGroupsOutput {
		return &gamelift.ListGameServerGroupsOutput{GameServerGroups: []types.GameServerGroup{}}
	}))
	register(t, "DescribeVpcPeeringAuthorizations", always[gamelift.DescribeVpcPeeringAuthorizationsInput](func() *gamelift.DescribeVpcPeeringAuthorizationsOutput {
		return &gamelift.DescribeVpcPeeringAuthorizationsOutput{VpcPeeringAuthorizations: []types.VpcPeeringAuthorization{}}
	}))
	register(t, "DescribeVpcPeeringConnections", always[gamelift.DescribeVpcPeeringConnectionsInput](func() *gamelift.DescribeVpcPeeringConnectionsOutput {
		return &gamelift.DescribeVpcPeeringConnectionsOutput{VpcPeeringConnections: []types.VpcPeeringConnection{}}
	}))
	register(t, "ListBuilds", s.listBuilds,
		optionally("Status", enum(types.BuildStatus("").Values())),
		optionally("Limit", positiveInteger),
		optionally("NextToken", nonEmptyString),
	)
	register(t, "DescribeScalingPolicies", s.describeScalingPolicies,
		required("FleetId", fleetIDOrARN),
		optionally("StatusFilter", enum(types.ScalingStatusType("").Values())),
		optionally("Limit", positiveInteger),
		optionally("NextToken", nonZeroAndMaxString),
		optionally("Location", locationString),
	)
}

// listBuilds lists no builds: the host runs scripts.
func (s *Server) listBuilds(_ context.Context, in *gamelift.ListBuildsInput) (*gamelift.ListBuildsOutput, error) {
	none, err := emptyPage[types.Build](s.pager, "ListBuilds", in, in.NextToken)
	if err != nil {
		return nil, err
	}
	return &gamelift.ListBuildsOutput{Builds: none}, nil
}

// describeScalingPolicies lists no policies: a fleet here does not scale by itself.
func (s *Server) describeScalingPolicies(ctx context.Context, in *gamelift.DescribeScalingPoliciesInput) (*gamelift.DescribeScalingPoliciesOutput, error) {
	f, err := s.oneFleet(ctx, in.FleetId)
	if err != nil {
		return nil, err
	}
	if in.Location != nil {
		if _, err := locationOf(f, *in.Location); err != nil {
			return nil, err
		}
	}
	none, err := emptyPage[types.ScalingPolicy](s.pager, "DescribeScalingPolicies", in, in.NextToken)
	if err != nil {
		return nil, err
	}
	return &gamelift.DescribeScalingPoliciesOutput{ScalingPolicies: none}, nil
}

// emptyPage is the only page of a list of nothing, which no token leads behind.
func emptyPage[T any](p *pager, operation string, input any, token *string) ([]T, error) {
	none, _, err := cut(p, paging{operation: operation, input: input, token: token, max: pageMax, order: oldestFirst}, []T{}, func(T) position { return position{} })
	return none, err
}

// always is a handler whose output does not depend on the input.
func always[In, Out any](out func() *Out) func(context.Context, *In) (*Out, error) {
	return func(context.Context, *In) (*Out, error) { return out(), nil }
}
