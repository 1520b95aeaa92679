package serviceapi

import (
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/transport/awswire"
)

// Limits of request bodies that may be larger than usual. GameSessionData may have 262,144
// characters, and a JSON client that escapes everything outside ASCII needs up to 12 bytes for
// each: 3 MiB. A script archive of 5,000,000 bytes is 6.7 MB in base64.
const (
	bodyDataMax   = 4 << 20
	bodyScriptMax = 8 << 20
)

// Rules that operations share.
var (
	anyFleet       = optionally("FleetId", fleetIDOrARN)
	theFleet       = required("FleetId", fleetIDOrARN)
	anyAlias       = optionally("AliasId", aliasIDOrARN)
	theAlias       = required("AliasId", aliasIDOrARN)
	theScript      = required("ScriptId", scriptIDOrARN)
	theGameSession = required("GameSessionId", arnString)
	thePlacement   = required("PlacementId", idString)
	anyName        = optionally("Name", nonZeroAndMaxString)
	description    = optionally("Description", nonZeroAndMaxString)
	anyLocation    = optionally("Location", locationString)
	properties     = optionally("GameProperties", gameProperties)
	tags           = optionally("Tags", tagList)
	limit          = optionally("Limit", positiveInteger)
	nextToken      = optionally("NextToken", nonZeroAndMaxString)

	fleetsInPages       = []rule{optionally("FleetIds", listOf(1, unbounded, fleetIDOrARN)), limit, nextToken}
	fleetAndLocation    = []rule{theFleet, required("Location", locationString)}
	gameSessionsInPages = []rule{
		anyFleet, optionally("GameSessionId", arnString), anyAlias, anyLocation, optionally("StatusFilter", gameSessionStatus), limit, nextToken,
	}
)

// matchmakerRules are those of the members that create and update have in common. Must is the rule of those that only create needs.
func matchmakerRules(must func(string, awswire.Check) rule) []rule {
	return []rule{
		description,
		optionally("GameSessionQueueArns", listOf(0, unbounded, arnString)),
		must("RequestTimeoutSeconds", number(1, 43200)),
		optionally("AcceptanceTimeoutSeconds", number(1, 600)),
		must("AcceptanceRequired", either),
		must("RuleSetName", ruleSetName),
		optionally("NotificationTarget", snsTarget),
		optionally("AdditionalPlayerCount", wholeNumber),
		optionally("CustomEventData", text(0, 256, "")),
		properties,
		optionally("GameSessionData", gameSessionData),
		optionally("BackfillMode", enum[types.BackfillMode]()),
		optionally("FlexMatchMode", enum[types.FlexMatchMode]()),
	}
}

// Operations are the names of all 120 operations of the service. Callers must not modify
// the slice.
var Operations = sync.OnceValue(func() []string {
	var names []string
	for _, o := range new(Server).operations() {
		names = append(names, o.Name)
	}
	return names
})

// operations is the table of the service: each operation with the modeled exceptions that it
// declares, in the letters of service-api.md 1.3 and the order of the service model, the
// function that answers it, and a rule for each member of its input in the order of the
// model.
func (s *Server) operations() []awswire.Operation {
	return slices.Concat(
		s.gameSessionOperations(), s.placementOperations(), s.scriptOperations(), s.fleetOperations(), s.aliasOperations(),
		s.matchmakingOperations(), s.tagAndLocationOperations(), s.partialOperations(), s.missingOperations(),
	)
}

func (s *Server) gameSessionOperations() []awswire.Operation {
	return []awswire.Operation{
		awswire.Op("CreateGameSession", "CF IS UA FS TR IR NF FC LE IM UR", s.createGameSession,
			anyFleet, anyAlias,
			required("MaximumPlayerSessionCount", wholeNumber),
			anyName, properties,
			optionally("CreatorId", nonZeroAndMaxString),
			optionally("GameSessionId", idString),
			optionally("IdempotencyToken", idString),
			optionally("GameSessionData", largeGameSessionData),
			anyLocation,
		).WithBody(bodyDataMax),
		awswire.Op("DescribeGameSessions", "IS NF IR UA TR UR", s.describeGameSessions, gameSessionsInPages...),
		awswire.Op("DescribeGameSessionDetails", "IS NF IR UA TR UR", s.describeGameSessionDetails, gameSessionsInPages...),
		awswire.Op("UpdateGameSession", "NF CF IS UA GS IR NR", s.updateGameSession,
			theGameSession,
			optionally("MaximumPlayerSessionCount", wholeNumber),
			anyName,
			optionally("PlayerSessionCreationPolicy", enum[types.PlayerSessionCreationPolicy]()),
			optionally("ProtectionPolicy", enum[types.ProtectionPolicy]()),
			properties,
		),
		awswire.Op("SearchGameSessions", "IS NF IR UA TR UR", s.searchGameSessions,
			anyFleet, anyAlias, anyLocation,
			optionally("FilterExpression", nonZeroAndMaxString),
			optionally("SortExpression", nonZeroAndMaxString),
			limit, nextToken,
		),
		awswire.Op("TerminateGameSession", "IS IR NF UA GS NR", s.terminateGameSession, theGameSession, required("TerminationMode", terminationMode)),
		awswire.Op("GetGameSessionLogUrl", "IS NF UA IR", s.getGameSessionLogURL, theGameSession),
		awswire.Op("CreatePlayerSession", "IS UA GS GF TR IR NF", s.createPlayerSession,
			theGameSession,
			required("PlayerId", playerID),
			optionally("PlayerData", playerData),
		),
		awswire.Op("CreatePlayerSessions", "IS UA GS GF TR IR NF", s.createPlayerSessions,
			theGameSession,
			required("PlayerIds", listOf(1, 25, playerID)),
			optionally("PlayerDataMap", mapOf(nonZeroAndMaxString, playerData)),
		),
		awswire.Op("DescribePlayerSessions", "IS NF IR UA", s.describePlayerSessions,
			optionally("GameSessionId", arnString),
			optionally("PlayerId", playerID),
			optionally("PlayerSessionId", playerSessionID),
			optionally("PlayerSessionStatusFilter", nonZeroAndMaxString),
			limit, nextToken,
		),
	}
}

func (s *Server) placementOperations() []awswire.Operation {
	return []awswire.Operation{
		awswire.Op("StartGameSessionPlacement", "IS IR NF UA UR", s.startPlacement,
			thePlacement,
			required("GameSessionQueueName", queueNameOrARN),
			required("MaximumPlayerSessionCount", wholeNumber),
			properties,
			optionally("GameSessionName", nonZeroAndMaxString),
			optionally("PlayerLatencies", listOf(0, unbounded, structure[types.PlayerLatency](
				optionally("PlayerId", playerID),
				optionally("RegionIdentifier", nonZeroAndMaxString),
				optionally("LatencyInMilliseconds", either),
			))),
			optionally("DesiredPlayerSessions", listOf(0, unbounded, structure[types.DesiredPlayerSession](
				optionally("PlayerId", playerID),
				optionally("PlayerData", playerData),
			))),
			optionally("GameSessionData", largeGameSessionData),
			optionally("PriorityConfigurationOverride", structure[types.PriorityConfigurationOverride](
				required("LocationOrder", listOf(1, 10, locationString)),
				optionally("PlacementFallbackStrategy", enum[types.PlacementFallbackStrategy]()),
			)),
		).WithBody(bodyDataMax),
		awswire.Op("DescribeGameSessionPlacement", "IS IR NF UA", s.describePlacement, thePlacement),
		awswire.Op("StopGameSessionPlacement", "IS IR NF UA", s.stopPlacement, thePlacement),
		awswire.Op("CreateGameSessionQueue", "IS IR UA LE NF TF", s.createQueue,
			slices.Concat([]rule{required("Name", queueName)}, queueRules, []rule{tags})...,
		),
		awswire.Op("DescribeGameSessionQueues", "IS IR NF UA", s.describeQueues,
			optionally("Names", listOf(0, unbounded, queueNameOrARN)),
			limit, nextToken,
		),
		awswire.Op("UpdateGameSessionQueue", "IS IR NF UA", s.updateQueue, slices.Concat([]rule{required("Name", queueNameOrARN)}, queueRules)...),
		awswire.Op("DeleteGameSessionQueue", "IS IR NF UA TF", s.deleteQueue, required("Name", queueNameOrARN)),
	}
}

func (s *Server) scriptOperations() []awswire.Operation {
	return []awswire.Operation{
		awswire.Op("CreateScript", "UA IR CF TF IS", s.createScript,
			anyName,
			optionally("Version", nonZeroAndMaxString),
			optionally("StorageLocation", s3Location),
			optionally("ZipFile", zipBlob),
			tags,
			optionally("NodeJsVersion", nodeJSVersion),
		).WithBody(bodyScriptMax),
		awswire.Op("UpdateScript", "UA IR NF IS", s.updateScript,
			theScript, anyName,
			optionally("Version", nonZeroAndMaxString),
			optionally("StorageLocation", s3Location),
			optionally("ZipFile", zipBlob),
		).WithBody(bodyScriptMax),
		awswire.Op("DescribeScript", "UA IR IS NF", s.describeScript, theScript),
		awswire.Op("ListScripts", "UA IR IS", s.listScripts, limit, optionally("NextToken", nonEmptyString)),
		awswire.Op("DeleteScript", "IR UA NF TF IS", s.deleteScript, theScript),
	}
}

func (s *Server) fleetOperations() []awswire.Operation {
	return []awswire.Operation{
		awswire.Op("CreateFleet", "IS NF NR CF LE IR UA TF UR", s.createFleet,
			required("Name", nonZeroAndMaxString),
			description,
			optionally("BuildId", buildIDOrARN),
			optionally("ScriptId", scriptIDOrARN),
			optionally("ServerLaunchPath", launchPath),
			optionally("ServerLaunchParameters", launchParameters),
			optionally("LogPaths", listOf(0, unbounded, nonZeroAndMaxString)),
			optionally("EC2InstanceType", text(0, 64, "")), // free text (D-204)
			optionally("EC2InboundPermissions", ipPermissions),
			optionally("NewGameSessionProtectionPolicy", enum[types.ProtectionPolicy]()),
			optionally("RuntimeConfiguration", runtimeConfiguration),
			optionally("ResourceCreationLimitPolicy", creationLimitPolicy),
			optionally("MetricGroups", listOf(0, 1, metricGroup)),
			optionally("PeerVpcAwsAccountId", nonZeroAndMaxString),
			optionally("PeerVpcId", nonZeroAndMaxString),
			optionally("FleetType", enum[types.FleetType]()),
			optionally("InstanceRoleArn", nonEmptyString),
			optionally("CertificateConfiguration", certificateConfiguration),
			optionally("Locations", locationConfigurations),
			tags,
			optionally("ComputeType", enum[types.ComputeType]()),
			optionally("AnywhereConfiguration", anywhereConfiguration),
			optionally("InstanceRoleCredentialsProvider", enum[types.InstanceRoleCredentialsProvider]()),
			optionally("PlayerGatewayMode", enum[types.PlayerGatewayMode]()),
			optionally("PlayerGatewayConfiguration", playerGatewayConfiguration),
		),
		awswire.Op("DescribeFleetAttributes", "IS NF IR UA", s.describeFleetAttributes, fleetsInPages...),
		awswire.Op("UpdateFleetAttributes", "NF CF FS LE IS IR UA", s.updateFleetAttributes,
			theFleet, anyName, description,
			optionally("NewGameSessionProtectionPolicy", enum[types.ProtectionPolicy]()),
			optionally("ResourceCreationLimitPolicy", creationLimitPolicy),
			optionally("MetricGroups", listOf(0, 1, metricGroup)),
			optionally("AnywhereConfiguration", anywhereConfiguration),
		),
		awswire.Op("DeleteFleet", "NF IS FS UA IR TF", s.deleteFleet, theFleet),
		awswire.Op("ListFleets", "IS NF IR UA", s.listFleets,
			optionally("BuildId", buildIDOrARN),
			optionally("ScriptId", scriptIDOrARN),
			limit, nextToken,
		),
		awswire.Op("DescribeFleetUtilization", "IS NF IR UA", s.describeFleetUtilization, fleetsInPages...),
		awswire.Op("DescribeFleetCapacity", "IS NF IR UA UR", s.describeFleetCapacity, fleetsInPages...),
		awswire.Op("UpdateFleetCapacity", "NF CF LE FS IS IR UA UR", s.updateFleetCapacity,
			theFleet,
			optionally("DesiredInstances", wholeNumber),
			optionally("MinSize", wholeNumber),
			optionally("MaxSize", wholeNumber),
			anyLocation,
			optionally("ManagedCapacityConfiguration", managedCapacity),
		),
		awswire.Op("DescribeFleetEvents", "NF IS UA IR UR", s.describeFleetEvents,
			theFleet,
			optionally("StartTime", either),
			optionally("EndTime", either),
			limit, nextToken,
		),
		awswire.Op("DescribeFleetPortSettings", "IS NF IR UA UR", s.describeFleetPortSettings, theFleet, anyLocation),
		awswire.Op("UpdateFleetPortSettings", "NF CF FS LE IS IR UA", s.updateFleetPortSettings,
			theFleet,
			optionally("InboundPermissionAuthorizations", ipPermissions),
			optionally("InboundPermissionRevocations", ipPermissions),
		),
		awswire.Op("DescribeRuntimeConfiguration", "UA NF IS IR", s.describeRuntimeConfiguration, theFleet),
		awswire.Op("UpdateRuntimeConfiguration", "UA NF IS IR FS LE", s.updateRuntimeConfiguration,
			theFleet,
			required("RuntimeConfiguration", runtimeConfiguration),
		),
		awswire.Op("DescribeInstances", "UA IR NF IS UR", s.describeInstances,
			theFleet,
			optionally("InstanceId", text(0, unbounded, `[a-zA-Z0-9\.-]+`)),
			limit, nextToken, anyLocation,
		),
	}
}

func (s *Server) aliasOperations() []awswire.Operation {
	return []awswire.Operation{
		awswire.Op("CreateAlias", "UA IR CF IS LE TF", s.createAlias,
			required("Name", nonBlank),
			description,
			required("RoutingStrategy", routingStrategy),
			tags,
		),
		awswire.Op("DescribeAlias", "UA IR NF IS", s.describeAlias, theAlias),
		awswire.Op("UpdateAlias", "UA IR NF IS", s.updateAlias,
			theAlias,
			optionally("Name", nonBlank),
			description,
			optionally("RoutingStrategy", routingStrategy),
		),
		awswire.Op("DeleteAlias", "UA NF IR TF IS", s.deleteAlias, theAlias),
		awswire.Op("ListAliases", "UA IR IS", s.listAliases,
			optionally("RoutingStrategyType", routingTypes),
			optionally("Name", nonEmptyString),
			limit,
			optionally("NextToken", nonEmptyString),
		),
		awswire.Op("ResolveAlias", "UA IR NF TR IS", s.resolveAlias, theAlias),
	}
}

func (s *Server) matchmakingOperations() []awswire.Operation {
	return []awswire.Operation{
		awswire.Op("StartMatchmaking", "IR NF IS UR", s.startMatchmaking,
			optionally("TicketId", matchmakingID),
			required("ConfigurationName", matchmakerName),
			required("Players", players),
		),
		awswire.Op("DescribeMatchmaking", "IR IS UR", s.describeMatchmaking, required("TicketIds", listOf(0, unbounded, matchmakingID))),
		awswire.Op("StopMatchmaking", "IR NF IS UR", s.stopMatchmaking, required("TicketId", matchmakingID)),
		awswire.Op("AcceptMatch", "IR NF IS UR", s.acceptMatch,
			required("TicketId", matchmakingID),
			required("PlayerIds", listOf(0, unbounded, playerID)),
			required("AcceptanceType", enum[types.AcceptanceType]()),
		),
		awswire.Op("StartMatchBackfill", "IR NF IS UR", s.startMatchBackfill,
			optionally("TicketId", matchmakingID),
			required("ConfigurationName", matchmakerName),
			optionally("GameSessionArn", arnString),
			required("Players", players),
		),
		awswire.Op("CreateMatchmakingConfiguration", "IR LE NF IS UR TF", s.createMatchmaker,
			slices.Concat([]rule{required("Name", matchmakingID)}, matchmakerRules(required), []rule{tags})...,
		),
		awswire.Op("DescribeMatchmakingConfigurations", "IR IS UR", s.describeMatchmakers,
			optionally("Names", listOf(0, unbounded, matchmakerName)),
			optionally("RuleSetName", ruleSetName),
			limit, nextToken,
		),
		awswire.Op("UpdateMatchmakingConfiguration", "IR NF IS UR", s.updateMatchmaker,
			slices.Concat([]rule{required("Name", matchmakerName)}, matchmakerRules(optionally))...,
		),
		awswire.Op("DeleteMatchmakingConfiguration", "IR NF IS UR TF", s.deleteMatchmaker, required("Name", matchmakerName)),
		awswire.Op("CreateMatchmakingRuleSet", "IR LE IS UR TF", s.createRuleSet,
			required("Name", matchmakingID),
			required("RuleSetBody", ruleSetBody),
			tags,
		),
		awswire.Op("DescribeMatchmakingRuleSets", "IR IS NF UR", s.describeRuleSets,
			optionally("Names", listOf(1, 10, ruleSetName)),
			optionally("Limit", number(1, 10)),
			nextToken,
		),
		awswire.Op("DeleteMatchmakingRuleSet", "IR IS UR NF TF", s.deleteRuleSet, required("Name", ruleSetName)),
		awswire.Op("ValidateMatchmakingRuleSet", "IS UR IR", s.validateRuleSet, required("RuleSetBody", ruleSetBody)),
	}
}

func (s *Server) tagAndLocationOperations() []awswire.Operation {
	return []awswire.Operation{
		awswire.Op("TagResource", "NF IR TF IS UR", s.tagResource, required("ResourceARN", amazonResourceName), required("Tags", tagList)),
		awswire.Op("UntagResource", "NF IR TF IS UR", s.untagResource,
			required("ResourceARN", amazonResourceName),
			required("TagKeys", listOf(0, 200, text(1, 128, ""))),
		),
		awswire.Op("ListTagsForResource", "NF IR TF IS UR", s.listTagsForResource, required("ResourceARN", amazonResourceName)),
		awswire.Op("CreateFleetLocations", "IS IR UA NF NR FS UR CF LE", s.createFleetLocations,
			theFleet,
			required("Locations", locationConfigurations),
		),
		awswire.Op("DeleteFleetLocations", "IS IR UA NF UR", s.deleteFleetLocations, theFleet, required("Locations", listOf(1, 100, locationString))),
		awswire.Op("DescribeFleetLocationAttributes", "IS IR UA NF UR", s.describeFleetLocationAttributes,
			theFleet,
			optionally("Locations", listOf(1, 100, locationString)),
			limit, nextToken,
		),
		awswire.Op("DescribeFleetLocationCapacity", "IS IR UA NF UR", s.describeFleetLocationCapacity, fleetAndLocation...),
		awswire.Op("DescribeFleetLocationUtilization", "IS IR UA NF UR", s.describeFleetLocationUtilization, fleetAndLocation...),
	}
}

// partialOperations are those of computes, builds, scaling and locations.
func (s *Server) partialOperations() []awswire.Operation {
	return []awswire.Operation{
		unavailable("RegisterCompute", "UA IR CF IS NR LE"),
		unavailable("DeregisterCompute", "UA IR NF IS"),
		unavailable("DescribeCompute", "UA IR NF IS UR"),
		unavailable("ListCompute", "UA IR IS UR"),
		unavailable("GetComputeAuthToken", "UA IR NF IS UR"),
		awswire.Op("CreateLocation", "UA IR LE CF TF IS", s.createLocation, required("LocationName", text(8, 64, `^custom-[A-Za-z0-9\-]+`)), tags),
		awswire.Op("DeleteLocation", "UA IR NF IS", s.deleteLocation,
			required("LocationName", text(1, 128, `^custom-[A-Za-z0-9\-]+|^arn:.*:location\/custom-\S+`)),
		),
		awswire.Op("ListLocations", "UA IR IS", s.listLocations,
			optionally("Filters", listOf(1, 2, enum[types.LocationFilter]())),
			optionally("Limit", number(1, 200)),
			nextToken,
		),
		unavailable("GetPlayerConnectionDetails", "UA NF GS IR IS LE UR"),
		unavailable("PutScalingPolicy", "IS IR UA NF UR"),
		awswire.Op("DescribeScalingPolicies", "IS IR UA NF UR", s.describeScalingPolicies,
			theFleet,
			optionally("StatusFilter", enum[types.ScalingStatusType]()),
			limit, nextToken, anyLocation,
		),
		unavailable("DeleteScalingPolicy", "IS IR UA NF UR"),
		unavailable("StartFleetActions", "IS IR UA NF UR"),
		unavailable("StopFleetActions", "IS IR UA NF UR"),
		unavailable("DescribeEC2InstanceLimits", "IR IS UA UR"),
		unavailable("CreateBuild", "UA IR CF TF IS"),
		unavailable("DescribeBuild", "UA IR NF IS"),
		awswire.Op("ListBuilds", "UA IR IS", s.listBuilds,
			optionally("Status", enum[types.BuildStatus]()),
			limit,
			optionally("NextToken", nonEmptyString),
		),
		unavailable("UpdateBuild", "UA IR NF IS"),
		unavailable("DeleteBuild", "UA NF IS TF IR"),
		unavailable("RequestUploadCredentials", "UA IR NF IS"),
	}
}

// missingOperations are those of container fleets, FleetIQ game servers, VPC peering and remote access, which the host does not offer.
func (s *Server) missingOperations() []awswire.Operation {
	return []awswire.Operation{
		unavailable("ClaimGameServer", "CF IR IS NF OC UA"),
		unavailable("CreateContainerFleet", "CF IR IS LE TF UA UR"),
		unavailable("CreateContainerGroupDefinition", "CF IR IS LE TF UA UR"),
		unavailable("CreateGameServerGroup", "CF IR IS LE UA"),
		unavailable("CreateVpcPeeringAuthorization", "IR IS NF UA"),
		unavailable("CreateVpcPeeringConnection", "IR IS NF UA"),
		unavailable("DeleteContainerFleet", "IR IS NF TF UA UR"),
		unavailable("DeleteContainerGroupDefinition", "IR IS NF TF UA UR"),
		unavailable("DeleteGameServerGroup", "IR IS NF UA"),
		unavailable("DeleteVpcPeeringAuthorization", "IR IS NF UA"),
		unavailable("DeleteVpcPeeringConnection", "IR IS NF UA"),
		unavailable("DeregisterGameServer", "IR IS NF UA"),
		unavailable("DescribeContainerFleet", "IR IS NF UA UR"),
		unavailable("DescribeContainerGroupDefinition", "IR IS NF UA UR"),
		unavailable("DescribeContainerGroupPortMappings", "IR IS LE NF UA UR"),
		unavailable("DescribeFleetDeployment", "IR IS NF UA UR"),
		unavailable("DescribeGameServer", "IR IS NF UA"),
		unavailable("DescribeGameServerGroup", "IR IS NF UA"),
		unavailable("DescribeGameServerInstances", "IR IS NF UA"),
		awswire.Op("DescribeVpcPeeringAuthorizations", "IR IS UA", always[gamelift.DescribeVpcPeeringAuthorizationsInput](gamelift.DescribeVpcPeeringAuthorizationsOutput{VpcPeeringAuthorizations: []types.VpcPeeringAuthorization{}})),
		awswire.Op("DescribeVpcPeeringConnections", "IR IS NF UA", always[gamelift.DescribeVpcPeeringConnectionsInput](gamelift.DescribeVpcPeeringConnectionsOutput{VpcPeeringConnections: []types.VpcPeeringConnection{}})),
		unavailable("GetComputeAccess", "IR IS NF UA UR"),
		unavailable("GetInstanceAccess", "IR IS NF UA"),
		awswire.Op("ListContainerFleets", "IR IS UA UR", always[gamelift.ListContainerFleetsInput](gamelift.ListContainerFleetsOutput{ContainerFleets: []types.ContainerFleet{}})),
		unavailable("ListContainerGroupDefinitionVersions", "IR IS NF UA UR"),
		awswire.Op("ListContainerGroupDefinitions", "IR IS UA UR", always[gamelift.ListContainerGroupDefinitionsInput](gamelift.ListContainerGroupDefinitionsOutput{ContainerGroupDefinitions: []types.ContainerGroupDefinition{}})),
		unavailable("ListFleetDeployments", "IR IS NF UA UR"),
		awswire.Op("ListGameServerGroups", "IR IS UA", always[gamelift.ListGameServerGroupsInput](gamelift.ListGameServerGroupsOutput{GameServerGroups: []types.GameServerGroup{}})),
		unavailable("ListGameServers", "IR IS UA"),
		unavailable("RegisterGameServer", "CF IR IS LE UA"),
		unavailable("ResumeGameServerGroup", "IR IS NF UA"),
		unavailable("SuspendGameServerGroup", "IR IS NF UA"),
		unavailable("UpdateContainerFleet", "IR IS LE NF NR UA UR"),
		unavailable("UpdateContainerGroupDefinition", "IR IS LE NF UA UR"),
		unavailable("UpdateGameServer", "IR IS NF UA"),
		unavailable("UpdateGameServerGroup", "IR IS NF UA"),
	}
}
