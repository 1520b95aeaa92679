package fleet

import (
	"troupe/actors/fleet/catalog"
	"troupe/actors/serverprocess/launch"
	"troupe/messages"
)

// startLauncher makes the Launcher of this host.
func (gs *games) startLauncher() {
	if gs.o.Launch == nil {
		return
	}
	o, self := *gs.o.Launch, gs.context.Self()
	o.Log, o.Counters, o.Tell = *gs.context.Log(), gs.context.Counters(), func(msg any) { self.Tell(msg) }
	gs.launcher = launch.New(o)
}

// runServers tells the Launcher how many processes of a fleet this host runs.
func (gs *games) runServers(f *messages.Fleet) {
	if f.Server == nil || gs.launcher == nil {
		return
	}
	processes := make(map[string]int, len(f.Locations))
	if f.Status != messages.FleetDeleting && f.Status != messages.FleetTerminated && !gs.drain.on {
		for _, l := range f.Locations {
			processes[l] = catalog.Capacity(f, l)
		}
	}
	gs.launcher.Configure(f.ID, f.Server, f.Locations[0], processes)
}

// runAllServers is runServers for all fleets, because a drain has begun or ended.
func (gs *games) runAllServers() {
	for _, f := range gs.catalog.Fleets() {
		gs.runServers(f)
	}
}

// launched handles what the Launcher tells.
func (gs *games) launched(msg any) bool {
	switch m := msg.(type) {
	case launch.Event:
		gs.catalog.FleetEvent(m.Fleet, m.Code, m.Text)
	case launch.Runs:
		gs.catalog.FleetRuns(m.Fleet)
	case launch.Fails:
		gs.catalog.FleetFails(m.Fleet)
	default:
		return false
	}
	return true
}
