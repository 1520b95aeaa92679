package serviceapi

import (
	"context"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/transport/awswire"
)

// Maximum sizes of request bodies above the usual limit. GameSessionData may have 262,144 characters. A JSON
// client that escapes everything outside ASCII needs up to 12 bytes for each, which is 3 MiB. A script
// archive of 5,000,000 bytes is 6.7 MB in base64.
const (
	bodyDataMax   = 4 << 20
	bodyScriptMax = 8 << 20
)

// Operations returns the names of all 120 operations of the service. Callers must not modify the slice.
func Operations() []string { return theModel().names }

// operations returns the table of the service: handlers for the operations that the host offers, and an error
// for all other operations of the model.
func (s *Server) operations() []awswire.Operation {
	all := []awswire.Operation{
		op(s.createGameSession).WithBody(bodyDataMax),
		op(s.describeGameSessions), op(s.describeGameSessionDetails), op(s.updateGameSession), op(s.searchGameSessions),
		op(s.terminateGameSession), op(s.getGameSessionLogURL),
		op(s.createPlayerSession), op(s.createPlayerSessions), op(s.describePlayerSessions),

		op(s.startPlacement).WithBody(bodyDataMax),
		op(s.describePlacement), op(s.stopPlacement),
		op(s.createQueue), op(s.describeQueues), op(s.updateQueue), op(s.deleteQueue),

		op(s.createScript).WithBody(bodyScriptMax), op(s.updateScript).WithBody(bodyScriptMax),
		op(s.describeScript), op(s.listScripts), op(s.deleteScript),

		op(s.createFleet), op(s.updateFleetAttributes), op(s.deleteFleet), op(s.listFleets), op(s.describeFleetAttributes),
		op(s.describeFleetUtilization), op(s.describeFleetCapacity), op(s.updateFleetCapacity), op(s.describeFleetEvents),
		op(s.describeFleetPortSettings), op(s.updateFleetPortSettings), op(s.describeInstances),
		op(s.describeRuntimeConfiguration), op(s.updateRuntimeConfiguration),

		op(s.createAlias), op(s.describeAlias), op(s.updateAlias), op(s.deleteAlias), op(s.listAliases), op(s.resolveAlias),

		op(s.startMatchmaking), op(s.describeMatchmaking), op(s.stopMatchmaking), op(s.acceptMatch), op(s.startMatchBackfill),
		op(s.createMatchmaker), op(s.describeMatchmakers), op(s.updateMatchmaker), op(s.deleteMatchmaker),
		op(s.createRuleSet), op(s.describeRuleSets), op(s.deleteRuleSet), op(s.validateRuleSet),

		op(s.tagResource), op(s.untagResource), op(s.listTagsForResource),
		op(s.createFleetLocations), op(s.deleteFleetLocations), op(s.describeFleetLocationAttributes),
		op(s.describeFleetLocationCapacity), op(s.describeFleetLocationUtilization),
		op(s.createLocation), op(s.deleteLocation), op(s.listLocations),

		op(s.registerCompute), op(s.deregisterCompute), op(s.describeCompute), op(s.listCompute), op(s.getComputeAuthToken),

		op(s.createBuild), op(s.describeBuild), op(s.updateBuild), op(s.listBuilds), op(s.deleteBuild), op(s.requestUploadCredentials),

		op(s.describeScalingPolicies),
		op(always[gamelift.DescribeVpcPeeringAuthorizationsInput](gamelift.DescribeVpcPeeringAuthorizationsOutput{
			VpcPeeringAuthorizations: []types.VpcPeeringAuthorization{},
		})),
		op(always[gamelift.DescribeVpcPeeringConnectionsInput](gamelift.DescribeVpcPeeringConnectionsOutput{
			VpcPeeringConnections: []types.VpcPeeringConnection{},
		})),
		op(always[gamelift.ListContainerFleetsInput](gamelift.ListContainerFleetsOutput{ContainerFleets: []types.ContainerFleet{}})),
		op(always[gamelift.ListContainerGroupDefinitionsInput](gamelift.ListContainerGroupDefinitionsOutput{
			ContainerGroupDefinitions: []types.ContainerGroupDefinition{},
		})),
		op(always[gamelift.ListGameServerGroupsInput](gamelift.ListGameServerGroupsOutput{GameServerGroups: []types.GameServerGroup{}})),
	}
	offered := make(map[string]bool, len(all))
	for _, o := range all {
		offered[o.Name] = true
	}
	for _, name := range theModel().names {
		if !offered[name] {
			all = append(all, unavailable(name, theModel().operations[name].errors))
		}
	}
	return all
}

// op returns the operation whose input type handle takes, with the rules and errors of the model.
func op[In, Out any](handle func(context.Context, *In) (*Out, error)) awswire.Operation {
	in := reflect.TypeFor[In]()
	name := strings.TrimSuffix(in.Name(), "Input")
	known := theModel().operations[name]
	return awswire.Op(name, known.errors, handle, theModel().rules(known.members, in)...)
}
