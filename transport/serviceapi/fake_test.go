package serviceapi

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"troupe/messages"
	"troupe/messages/search"
)

// fakeBackend is an in-memory Backend for tests of the protocol. It stores records and runs no games.
type fakeBackend struct {
	fakeFleets
	fakeMatchmaking
	mu      sync.Mutex
	now     time.Time
	fleets  []*messages.Fleet
	games   []*messages.GameSession
	players []*messages.PlayerSession
	fail    error                           // if not nil, every call returns it
	hook    func(ctx context.Context) error // called first in every create
	created []messages.CreateGameSession    // requests as received
	seats   []messages.CreatePlayerSessions // requests as received
	asked   []messages.PlayerSessionQuery   // requests as received
	status  messages.GameSessionStatus      // status of new game sessions
	scripts []*messages.Script
	events  []messages.FleetEvent
	made    []messages.CreateScript  // requests as received
	changed []messages.UpdateScript  // requests as received
	founded []messages.CreateFleet   // requests as received
	runtime []messages.UpdateRuntime // requests as received
	fakeQueues
}

const (
	fleetOne = "fleet-one"
	fleetTwo = "fleet-two"
	aliasOne = "alias-one"
	aliasEnd = "alias-terminal"
	endText  = "closed for the season"
)

var epochStart = time.Date(2026, 3, 1, 12, 0, 0, 57_400_000, time.UTC)

func newFakeBackend() *fakeBackend {
	return &fakeBackend{
		now:    epochStart,
		status: messages.GameSessionActive,
		fleets: []*messages.Fleet{
			{ID: fleetOne, Name: "one", Status: messages.FleetActive, Created: epochStart, Locations: []string{"us-east-1"}, GameSessionsMax: 1000},
			{ID: fleetTwo, Name: "two", Description: "second", Status: messages.FleetErrored, Created: epochStart.Add(time.Second),
				Locations: []string{"us-east-1"}, Certificates: true, ScriptID: "script-1", LaunchPath: "/local/game/main.js", LaunchParams: "-v"},
		},
	}
}

// Do implements Backend.
func (b *fakeBackend) Do(ctx context.Context, q messages.Request) (any, error) {
	switch q := q.(type) {
	case messages.UpdateFleet:
		return b.updateFleet(ctx, q)
	case messages.UpdateCapacity:
		return b.updateCapacity(ctx, q)
	case messages.UpdatePorts:
		return b.updatePorts(ctx, q)
	case messages.AddFleetLocations:
		return b.addFleetLocations(ctx, q)
	case messages.RemoveFleetLocations:
		return b.removeFleetLocations(ctx, q)
	case messages.FleetUseQuery:
		return b.fleetUse(ctx, q)
	case messages.InstanceQuery:
		return b.readInstances(ctx, q)
	case messages.CreateAlias:
		return b.createAlias(ctx, q)
	case messages.UpdateAlias:
		return b.updateAlias(ctx, q)
	case messages.DeleteAlias:
		return messages.None{}, b.deleteAlias(ctx, q.ID)
	case messages.AliasQuery:
		return b.readAliases(ctx, q.ID)
	case messages.CreateLocation:
		return b.createLocation(ctx, q.Location)
	case messages.DeleteLocation:
		return messages.None{}, b.deleteLocation(ctx, q.Name)
	case messages.LocationQuery:
		return b.readLocations(ctx)
	case messages.RegisterCompute:
		return b.registerCompute(ctx, q.Compute)
	case messages.DeregisterCompute:
		return messages.None{}, b.deregisterCompute(ctx, q)
	case messages.ComputeQuery:
		return b.readComputes(ctx, q)
	case messages.AuthorizeCompute:
		return b.authorizeCompute(ctx, q)
	case messages.TagQuery:
		return b.readTags(ctx, q.Resource)
	case messages.UpdateTags:
		return b.updateTags(ctx, q)
	case messages.CheckRuleSet:
		return messages.None{}, b.checkRuleSet(q.Body)
	case messages.CreateRuleSet:
		return b.createRuleSet(ctx, q.RuleSet)
	case messages.RuleSetQuery:
		return b.readRuleSets(ctx)
	case messages.DeleteRuleSet:
		return messages.None{}, b.deleteRuleSet(ctx, q.Name)
	case messages.CreateMatchmaker:
		return b.createMatchmaker(ctx, q.Matchmaker)
	case messages.UpdateMatchmaker:
		return b.updateMatchmaker(ctx, q)
	case messages.MatchmakerQuery:
		return b.readMatchmakers(ctx)
	case messages.DeleteMatchmaker:
		return messages.None{}, b.deleteMatchmaker(ctx, q.Name)
	case messages.StartMatchmaking:
		return b.startMatchmaking(ctx, q)
	case messages.StartMatchBackfill:
		return b.startMatchBackfill(ctx, q)
	case messages.TicketQuery:
		return b.readTickets(ctx, q.IDs)
	case messages.StopMatchmaking:
		return messages.None{}, b.stopMatchmaking(ctx, q.ID)
	case messages.AcceptMatch:
		return messages.None{}, b.acceptMatch(ctx, q)
	case messages.CreateQueue:
		return b.createQueue(ctx, q.Queue)
	case messages.UpdateQueue:
		return b.updateQueue(ctx, q)
	case messages.DeleteQueue:
		return messages.None{}, b.deleteQueue(ctx, q.Name)
	case messages.QueueQuery:
		return b.readQueues(ctx)
	case messages.StartPlacement:
		return b.startPlacement(ctx, q)
	case messages.PlacementQuery:
		return b.placement(ctx, q.ID)
	case messages.StopPlacement:
		return b.stopPlacement(ctx, q.ID)
	case messages.CreateGameSession:
		return b.createGameSession(ctx, q)
	case messages.TerminateGameSession:
		return b.terminateGameSession(ctx, q)
	case messages.GameSessionQuery:
		return b.gameSession(ctx, q)
	case messages.FindGameSessions:
		return b.findGameSessions(ctx, q)
	case messages.CreatePlayerSessions:
		return b.createPlayerSessions(ctx, q)
	case messages.PlayerSessionQuery:
		return b.playerSessions(ctx, q)
	case messages.FleetQuery:
		return b.allFleets(ctx)
	case messages.CreateScript:
		return b.createScript(ctx, q)
	case messages.UpdateScript:
		s, err := b.updateScript(ctx, q)
		return messages.UpdatedScript{Script: s}, err
	case messages.ScriptQuery:
		return b.readScripts(ctx, q.ID)
	case messages.DeleteScript:
		return messages.None{}, b.deleteScript(ctx, q.ID)
	case messages.CreateBuild:
		return b.createBuild(ctx, q)
	case messages.UpdateBuild:
		return b.updateBuild(ctx, q)
	case messages.BuildQuery:
		return b.readBuilds(ctx, q.ID)
	case messages.DeleteBuild:
		return messages.None{}, b.deleteBuild(ctx, q.ID)
	case messages.CreateFleet:
		return b.createFleet(ctx, q)
	case messages.DeleteFleet:
		return messages.None{}, b.deleteFleet(ctx, q.ID)
	case messages.UpdateRuntime:
		return b.updateRuntime(ctx, q)
	case messages.FleetEventQuery:
		return b.fleetEvents(ctx, q.ID)
	case messages.UpdateGameSession:
		return b.updateGameSession(ctx, q)
	}
	return nil, fmt.Errorf("the fake does not answer a %T", q)
}

// enter locks the fake and returns the error of the call. The caller must unlock mu, also on an error.
func (b *fakeBackend) enter(ctx context.Context, hooked bool) (err error) {
	if hooked && b.hook != nil {
		err = b.hook(ctx)
	}
	b.mu.Lock()
	return cmp.Or(err, b.fail)
}

func (b *fakeBackend) resolve(fleet messages.FleetID, alias messages.AliasID) (messages.FleetID, error) {
	switch {
	case alias == aliasEnd:
		return "", messages.Errorf(messages.TerminalRouting, endText)
	case alias == aliasOne:
		return fleetOne, nil
	case slices.ContainsFunc(b.fleets, func(f *messages.Fleet) bool { return f.ID == fleet }):
		return fleet, nil
	}
	return "", messages.Errorf(messages.NotFound, "no fleet %q or alias %q", fleet, alias)
}

func (b *fakeBackend) createGameSession(ctx context.Context, req messages.CreateGameSession) (*messages.GameSession, error) {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	b.created = append(b.created, req)
	fleet, err := b.resolve(req.FleetID, req.AliasID)
	if err != nil {
		return nil, err
	}
	b.now = b.now.Add(time.Millisecond)
	tail := cmp.Or(req.IdempotencyToken, fmt.Sprintf("gsess-%04d", len(b.games)))
	g := &messages.GameSession{
		ID:      messages.GameSessionID("arn:aws:gamelift:us-east-1::gamesession/" + string(fleet) + "/" + tail),
		FleetID: fleet, Location: "us-east-1", Name: req.Name, CreatorID: req.CreatorID, Data: req.Data,
		Properties: req.Properties, MaxPlayers: req.MaxPlayers, Status: b.status, AcceptsPlayers: true,
		IdempotencyToken: req.IdempotencyToken, Created: b.now, IPAddress: "127.0.0.1", DNSName: "localhost", Port: 7000,
	}
	b.games = append(b.games, g)
	return g, nil
}

func (b *fakeBackend) terminateGameSession(ctx context.Context, q messages.TerminateGameSession) (*messages.GameSession, error) {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(b.games, func(g *messages.GameSession) bool { return g.ID == q.GameSessionID })
	switch {
	case i < 0:
		return nil, messages.Errorf(messages.NotFound, "no game session %q", q.GameSessionID)
	case b.games[i].Status == messages.GameSessionTerminated:
		return nil, messages.Errorf(messages.InvalidGameSessionStatus, "game session %q has ended", q.GameSessionID)
	}
	g := *b.games[i]
	g.Status, g.StatusReason = messages.GameSessionTerminated, "TRIGGERED_ON_PROCESS_TERMINATE"
	if q.Force {
		g.StatusReason = "FORCE_TERMINATED"
	}
	g.Terminated = b.now
	b.games[i] = &g
	shown := g
	shown.Status, shown.StatusReason, shown.Terminated = messages.GameSessionTerminating, "", time.Time{}
	return &shown, nil
}

func (b *fakeBackend) gameSession(ctx context.Context, q messages.GameSessionQuery) (*messages.GameSession, error) {
	err := b.enter(ctx, false)
	defer b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	for _, g := range b.games {
		if g.ID == q.ID {
			return g, nil
		}
	}
	return nil, messages.Errorf(messages.NotFound, "no game session %q", q.ID)
}

func (b *fakeBackend) createPlayerSessions(ctx context.Context, req messages.CreatePlayerSessions) ([]*messages.PlayerSession, error) {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	b.seats = append(b.seats, req)
	i := slices.IndexFunc(b.games, func(g *messages.GameSession) bool { return g.ID == req.GameSessionID })
	if i < 0 {
		return nil, messages.Errorf(messages.NotFound, "no game session %q", req.GameSessionID)
	}
	g := *b.games[i]
	if g.CurrentPlayers+len(req.Players) > g.MaxPlayers {
		return nil, messages.Errorf(messages.GameSessionFull, "%d seats wanted, %d free", len(req.Players), g.MaxPlayers-g.CurrentPlayers)
	}
	g.CurrentPlayers += len(req.Players)
	b.games[i] = &g
	made := make([]*messages.PlayerSession, len(req.Players))
	for j, p := range req.Players {
		b.now = b.now.Add(time.Millisecond)
		made[j] = &messages.PlayerSession{
			ID:       messages.PlayerSessionID(fmt.Sprintf("psess-%04d", len(b.players))),
			PlayerID: p.PlayerID, PlayerData: p.PlayerData, GameSessionID: g.ID, FleetID: g.FleetID,
			Status: messages.PlayerSessionReserved, Created: b.now, IPAddress: g.IPAddress, DNSName: g.DNSName, Port: g.Port,
		}
		b.players = append(b.players, made[j])
	}
	return made, nil
}

func (b *fakeBackend) playerSessions(ctx context.Context, q messages.PlayerSessionQuery) ([]*messages.PlayerSession, error) {
	err := b.enter(ctx, false)
	defer b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	b.asked = append(b.asked, q)
	if q.GameSessionID != "" && !slices.ContainsFunc(b.games, func(g *messages.GameSession) bool { return g.ID == q.GameSessionID }) {
		return nil, messages.Errorf(messages.NotFound, "no game session %q", q.GameSessionID)
	}
	var found []*messages.PlayerSession
	for _, p := range b.players {
		if p.ID == q.PlayerSessionID || p.PlayerID == q.PlayerID ||
			(p.GameSessionID == q.GameSessionID && (q.Status == 0 || q.Status == p.Status)) {
			found = append(found, p)
		}
	}
	if q.PlayerSessionID != "" && found == nil {
		return nil, messages.Errorf(messages.NotFound, "no player session %q", q.PlayerSessionID.Short())
	}
	return found, nil
}

func (b *fakeBackend) allFleets(ctx context.Context) ([]*messages.Fleet, error) {
	err := b.enter(ctx, false)
	defer b.mu.Unlock()
	return b.fleets, err
}

func (b *fakeBackend) createScript(ctx context.Context, req messages.CreateScript) (*messages.Script, error) {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	b.made = append(b.made, req)
	b.now = b.now.Add(time.Millisecond)
	s := &messages.Script{ID: messages.ScriptID(fmt.Sprintf("script-%04d", len(b.scripts))), Name: req.Name, Version: req.Version,
		NodeVersion: cmp.Or(req.NodeVersion, messages.NodeVersion10), Size: int64(len(req.Zip)), Created: b.now, Contents: 1}
	b.scripts = append(b.scripts, s)
	return s, nil
}

func (b *fakeBackend) updateScript(ctx context.Context, req messages.UpdateScript) (*messages.Script, error) {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	b.changed = append(b.changed, req)
	i := b.script(req.ID)
	if i < 0 {
		return nil, messages.Errorf(messages.NotFound, "no script %q", req.ID)
	}
	s := *b.scripts[i]
	s.Name, s.Version = cmp.Or(req.Name, s.Name), cmp.Or(req.Version, s.Version)
	if req.Zip != nil {
		s.Size, s.Contents = int64(len(req.Zip)), s.Contents+1
	}
	b.scripts[i] = &s
	return &s, nil
}

func (b *fakeBackend) script(id messages.ScriptID) int {
	return slices.IndexFunc(b.scripts, func(s *messages.Script) bool { return s.ID == id })
}

func (b *fakeBackend) readScripts(ctx context.Context, id messages.ScriptID) ([]*messages.Script, error) {
	err := b.enter(ctx, false)
	defer b.mu.Unlock()
	switch i := b.script(id); {
	case err != nil:
		return nil, err
	case id == "":
		return b.scripts, nil
	case i < 0:
		return nil, messages.Errorf(messages.NotFound, "no script %q", id)
	default:
		return b.scripts[i : i+1], nil
	}
}

func (b *fakeBackend) deleteScript(ctx context.Context, id messages.ScriptID) error {
	err := b.enter(ctx, false)
	defer b.mu.Unlock()
	i := b.script(id)
	switch {
	case err != nil:
		return err
	case i < 0:
		return messages.Errorf(messages.NotFound, "no script %q", id)
	}
	b.scripts = slices.Delete(b.scripts, i, i+1)
	return nil
}

func (b *fakeBackend) createFleet(ctx context.Context, req messages.CreateFleet) (*messages.Fleet, error) {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case req.BuildID != "" && !slices.ContainsFunc(b.builds, func(o *messages.Build) bool { return o.ID == req.BuildID }):
		return nil, messages.Errorf(messages.NotFound, "no build %q", req.BuildID)
	case !req.Anywhere && req.BuildID == "" && b.script(req.ScriptID) < 0:
		return nil, messages.Errorf(messages.NotFound, "no script %q", req.ScriptID)
	}
	b.founded = append(b.founded, req)
	b.now = b.now.Add(time.Millisecond)
	f := &messages.Fleet{ID: messages.FleetID(fmt.Sprintf("fleet-%04d", len(b.fleets))), Name: req.Name, Description: req.Description,
		Status: messages.FleetNew, Created: b.now, Locations: req.Locations, Certificates: req.Certificates, Anywhere: req.Anywhere,
		ScriptID: req.ScriptID, BuildID: req.BuildID, Runtime: req.Runtime, LaunchPath: req.LaunchPath, LaunchParams: req.LaunchParams, Shown: req.Shown}
	b.fleets = append(b.fleets, f)
	return f, nil
}

func (b *fakeBackend) deleteFleet(ctx context.Context, id messages.FleetID) error {
	err := b.enter(ctx, false)
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.fleets, func(f *messages.Fleet) bool { return f.ID == id })
	switch {
	case err != nil:
		return err
	case i < 0:
		return messages.Errorf(messages.NotFound, "no fleet %q", id)
	case b.fleets[i].Status == messages.FleetTerminated:
		return messages.Errorf(messages.InvalidFleetStatus, "fleet %q is TERMINATED", id)
	}
	f := *b.fleets[i]
	f.Status, f.Terminated = messages.FleetTerminated, b.now
	b.fleets[i] = &f
	return nil
}

func (b *fakeBackend) updateRuntime(ctx context.Context, req messages.UpdateRuntime) (*messages.Fleet, error) {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.fleets, func(f *messages.Fleet) bool { return f.ID == req.FleetID })
	switch {
	case err != nil:
		return nil, err
	case i < 0:
		return nil, messages.Errorf(messages.NotFound, "no fleet %q", req.FleetID)
	}
	b.runtime = append(b.runtime, req)
	f := *b.fleets[i]
	f.Runtime = req.Runtime
	b.fleets[i] = &f
	return &f, nil
}

func (b *fakeBackend) fleetEvents(ctx context.Context, id messages.FleetID) ([]messages.FleetEvent, error) {
	err := b.enter(ctx, false)
	defer b.mu.Unlock()
	if err == nil {
		_, err = b.resolve(id, "")
	}
	return b.events, err
}

// happened sets the events that FleetEvents returns.
func (b *fakeBackend) happened(events ...messages.FleetEvent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = events
}

// updateGameSession applies an update without checking the registry's rules.
func (b *fakeBackend) updateGameSession(ctx context.Context, req messages.UpdateGameSession) (*messages.GameSession, error) {
	err := b.enter(ctx, true)
	defer b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(b.games, func(g *messages.GameSession) bool { return g.ID == req.ID })
	if i < 0 {
		return nil, messages.Errorf(messages.NotFound, "no game session %q", req.ID)
	}
	g := *b.games[i]
	if req.Name != nil {
		g.Name = *req.Name
	}
	if req.MaxPlayers != nil {
		g.MaxPlayers = *req.MaxPlayers
	}
	if req.AcceptsPlayers != nil {
		g.AcceptsPlayers = *req.AcceptsPlayers
	}
	if req.Protected != nil {
		g.Protected = *req.Protected
	}
	g.Properties = append(slices.Clone(g.Properties), req.Properties...)
	b.games[i] = &g
	return &g, nil
}

// findGameSessions selects game sessions like the host.
func (b *fakeBackend) findGameSessions(ctx context.Context, q messages.FindGameSessions) (out messages.FoundGameSessions, err error) {
	err = b.enter(ctx, false)
	defer b.mu.Unlock()
	if err != nil {
		return out, err
	}
	fleet, err := b.resolve(q.FleetID, q.AliasID)
	if err != nil {
		return out, err
	}
	return search.Find(&q, func(yield func(*messages.GameSession, int) bool) {
		for _, g := range b.games {
			if g.FleetID == fleet && !yield(g, g.CurrentPlayers) {
				return
			}
		}
	})
}
