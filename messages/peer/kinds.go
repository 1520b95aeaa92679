package peer

import (
	"maps"
	"slices"

	"troupe/messages"
	"troupe/messages/coord"
)

// kinds contains all requests, by name. It also contains requests that concern only the node that answers them, because
// an operator may drain or inspect a node other than the one that receives the command.
var kinds = named(
	of[coord.Hello](), of[coord.Reach](), of[coord.Detour](), of[coord.AskConsole](), of[coord.FollowEvents](), of[coord.ReadLog](),

	of[messages.ReportFleets](), of[messages.ChargeCreator](),
	of[messages.StartMatchBackfill](), of[messages.FillGameSession](),
	of[messages.UpdateFleet](), of[messages.UpdateCapacity](), of[messages.UpdatePorts](), of[messages.AddFleetLocations](),
	of[messages.RemoveFleetLocations](), of[messages.FleetUseQuery](), of[messages.FleetRoomQuery](), of[messages.InstanceQuery](),
	of[messages.CreateAlias](), of[messages.UpdateAlias](), of[messages.DeleteAlias](), of[messages.AliasQuery](),
	of[messages.FleetQuery](), of[messages.DeleteFleet](), of[messages.FleetEventQuery](), of[messages.CheckDestinations](),
	of[messages.TagQuery](), of[messages.UpdateTags](),
	of[messages.Candidates](), of[messages.AwaitRoom](), of[messages.Launch](), of[messages.AwaitActivation](), of[messages.GiveUp](),
	of[messages.AwaitSeats](),
	of[messages.InspectGameSession](), of[messages.KickPlayer](), of[messages.PlacementList](),
	of[messages.CreateLocation](), of[messages.DeleteLocation](), of[messages.LocationQuery](),
	of[messages.RegisterCompute](), of[messages.DeregisterCompute](), of[messages.ComputeQuery](), of[messages.AuthorizeCompute](),
	of[messages.UpdateMatchmaker](), of[messages.StartMatchmaking](), of[messages.AcceptMatch](), of[messages.CheckRuleSet](),
	of[messages.CreateRuleSet](), of[messages.DeleteRuleSet](), of[messages.RuleSetQuery](), of[messages.CreateMatchmaker](),
	of[messages.DeleteMatchmaker](), of[messages.MatchmakerQuery](), of[messages.MatchmakerStateQuery](), of[messages.TicketQuery](),
	of[messages.StopMatchmaking](),
	of[messages.TicketList](), of[messages.WhyTicket](),
	of[messages.StartPlacement](), of[messages.UpdateQueue](), of[messages.CreateQueue](), of[messages.DeleteQueue](),
	of[messages.QueueQuery](), of[messages.PlacementQuery](), of[messages.StopPlacement](),
	of[messages.CreateGameSession](), of[messages.UpdateGameSession](), of[messages.CreatePlayerSessions](),
	of[messages.TerminateGameSession](), of[messages.GameSessionQuery](), of[messages.FindGameSessions](),
	of[messages.PlayerSessionQuery](), of[messages.Drain](), of[messages.CancelDrain](), of[messages.DepthQuery](),
	of[messages.CreateScript](), of[messages.UpdateScript](), of[messages.DeleteScript](), of[messages.ScriptQuery](),
	of[messages.CreateBuild](), of[messages.UpdateBuild](), of[messages.DeleteBuild](), of[messages.BuildQuery](), of[messages.BuildUnpacked](),
	of[messages.BuildUploaded](),
	of[messages.ScriptsLoaded](), of[messages.CreateFleet](), of[messages.UpdateRuntime](),
	of[messages.ReportFleets](), of[messages.ChargeCreator](),
)

func named(all ...*kind) map[string]*kind {
	kinds := make(map[string]*kind, len(all))
	for _, k := range all {
		kinds[k.typ.Name()] = k
	}
	return kinds
}

// Names returns the names of all requests, sorted.
func Names() []string { return slices.Sorted(maps.Keys(kinds)) }
