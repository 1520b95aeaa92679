package fleet

import (
	"troupe/actors/fleet/catalog"
	"troupe/actors/serverprocess/builds"
	"troupe/messages"
)

// buildFiles are the builds on this host.
type buildFiles struct {
	folder *builds.Folder // nil: this host has none; set when the actor has started
	of     map[messages.BuildID]*buildState
	gone   map[messages.BuildID]bool             // deleted, but some process may still run from them
	runs   map[messages.FleetID]messages.BuildID // what processes of fleets run, until the fleet is forgotten and they have ended
}

type buildState struct {
	unpacked bool
	failed   string // why it is not unpacked on this host
}

const eventNoBuild = "FLEET_BINARY_DOWNLOAD_FAILED"

// startBuilds makes the folder of builds and unpacks those that are not there.
func (gs *games) startBuilds() {
	gs.builds = buildFiles{of: make(map[messages.BuildID]*buildState), gone: make(map[messages.BuildID]bool), runs: make(map[messages.FleetID]messages.BuildID)}
	if gs.o.Builds == nil {
		return
	}
	o, self := *gs.o.Builds, gs.context.Self()
	o.Log, o.Tell = *gs.context.Log(), func(msg any) { self.Tell(msg) }
	gs.builds.folder = builds.New(o)
	if gs.o.Follow != nil { // the records follow
		return
	}
	for _, b := range gs.catalog.Builds() {
		gs.buildChanged(b)
	}
}

// buildChanged unpacks a build that is new to this host.
func (gs *games) buildChanged(b *messages.Build) {
	if gs.builds.folder == nil || gs.builds.of[b.ID] != nil || b.Status == messages.BuildFailed || b.Awaits {
		return
	}
	gs.builds.of[b.ID] = new(buildState)
	gs.builds.folder.Want(b)
}

func (gs *games) buildDeleted(id messages.BuildID) {
	if gs.builds.folder == nil {
		return
	}
	delete(gs.builds.of, id)
	gs.builds.gone[id] = true
	gs.dropBuilds()
}

// dropBuilds deletes the files of deleted builds from which no process runs.
func (gs *games) dropBuilds() {
	if len(gs.builds.gone) == 0 {
		return
	}
	used := make(map[messages.BuildID]bool)
	for id := range gs.servers.launched {
		used[gs.builds.runs[id.FleetID]] = true
	}
	for id := range gs.builds.gone {
		if !used[id] {
			delete(gs.builds.gone, id)
			gs.builds.folder.Drop(id)
		}
	}
}

// onUnpacked starts the fleets of a build, or says why they cannot run on this host.
func (gs *games) onUnpacked(m builds.Unpacked) {
	s := gs.builds.of[m.Build]
	if s == nil {
		return
	}
	s.unpacked, s.failed = m.Failed == "", m.Failed
	for _, f := range gs.catalog.Fleets() {
		if f.BuildID == m.Build && f.Status != messages.FleetDeleting && f.Status != messages.FleetTerminated {
			gs.launchServers(f)
			gs.tellUnable(f)
		}
	}
}

// unable returns why this host cannot run a fleet of a build, as a fleet event. It returns "" if it can, or may be able to
// when the build is unpacked.
func (gs *games) unable(f *messages.Fleet) (code, why string) {
	rules := gs.o.BuildRules
	ports := rules.Allow(f.Ports)
	switch s := gs.builds.of[f.BuildID]; {
	case rules.FleetsRefused != "":
		return catalog.EventGeneric, rules.FleetsRefused
	case ports != nil:
		return catalog.EventGeneric, ports.Error()
	case s != nil && s.failed != "":
		return eventNoBuild, "the build is not on a host: " + s.failed
	case gs.builds.folder == nil:
		return eventNoBuild, "a host has no folder for builds (builds.storage)"
	}
	return "", ""
}

// tellUnable says why this host cannot run a fleet of a build, if it cannot.
func (gs *games) tellUnable(f *messages.Fleet) {
	if code, why := gs.unable(f); code != "" {
		gs.catalog.FleetEvent(f.ID, code, why)
		gs.catalog.FleetFails(f.ID)
	}
}

// gameServer returns what this host starts for a fleet with a Server, or nil if it cannot, or cannot yet.
func (gs *games) gameServer(f *messages.Fleet) *messages.GameServer {
	if f.BuildID == "" {
		return f.Server
	}
	code, _ := gs.unable(f)
	if s := gs.builds.of[f.BuildID]; s == nil || !s.unpacked || code != "" {
		return nil
	}
	gs.builds.runs[f.ID] = f.BuildID
	return gs.builds.folder.Server(f.BuildID, f.Server)
}

// forgetRuns forgets what fleets have run that do not exist any more, once their processes have ended.
func (gs *games) forgetRuns() {
	if len(gs.builds.runs) == 0 {
		return
	}
	launched := make(map[messages.FleetID]bool)
	for id := range gs.servers.launched {
		launched[id.FleetID] = true
	}
	for id := range gs.builds.runs {
		if gs.catalog.Fleet(id) == nil && !launched[id] {
			delete(gs.builds.runs, id)
		}
	}
}
