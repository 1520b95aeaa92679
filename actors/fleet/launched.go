package fleet

import (
	"troupe/actors/fleet/catalog"
	"troupe/actors/serverprocess/builds"
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

// launchServers tells the Launcher how many processes of a fleet this host runs.
func (gs *games) launchServers(f *messages.Fleet) {
	if f.Server == nil || gs.launcher == nil {
		return
	}
	ends := f.Status == messages.FleetDeleting || f.Status == messages.FleetTerminated || gs.drain.on
	of := gs.gameServer(f)
	switch {
	case of == nil && !ends:
		return
	case of == nil: // what runs may be of a time when this host could run it
		of = f.Server
	}
	processes := make(map[string]int, len(f.Locations))
	if !ends {
		for _, l := range f.Locations {
			processes[l] = catalog.Capacity(f, l)
		}
	}
	gs.launcher.Configure(f.ID, of, f.Locations[0], processes)
}

// launchAll is launchServers for all fleets, because a drain has begun or ended.
func (gs *games) launchAll() {
	for _, f := range gs.catalog.Fleets() {
		gs.launchServers(f)
	}
}

// onLaunched handles what the Launcher and the folder of builds tell. It returns false for other messages.
func (gs *games) onLaunched(msg any) bool {
	switch m := msg.(type) {
	case launch.Starts:
		gs.servers.launched[m.Process] = true
		gs.countLaunched()
	case launch.Exited: // the Launcher has added the event
		delete(gs.servers.launched, m.Process)
		gs.countLaunched()
		if p := gs.servers.of[m.Process]; p != nil {
			gs.carryOut(p, p.machine.Kill(""))
		}
		gs.dropBuilds()
		gs.forgetRuns()
		gs.finishDrain()
	case launch.Ask:
		gs.onServerEnds(serverEnds{m.Process})
	case builds.Unpacked:
		gs.onUnpacked(m)
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

func (gs *games) countLaunched() {
	gs.context.Counters().ServersLaunched.Store(int64(len(gs.servers.launched)))
}

// tellLauncher reports the state of a process that the Launcher has started. dropped says that it was ended by force.
func (gs *games) tellLauncher(p *server, dropped bool) {
	if gs.launcher != nil && p.compute.Host && p.told != p.machine.State {
		p.told = p.machine.State
		gs.launcher.Report(p.id, p.told, dropped)
	}
}

// logServer makes the output of a process that the Launcher has started the log of its game session.
func (gs *games) logServer(p *server, e *entry) {
	if f := gs.catalog.Fleet(e.fleet.id); gs.launcher != nil && p.compute.Host && f != nil {
		gs.launcher.Hosts(p.id, gs.logOf(f, e.id)())
	}
}

// outlives reports whether a game session goes on when this host ends, because its process does. A cluster ends the game
// sessions of a node that leaves.
func (gs *games) outlives(e *entry) bool {
	return e.server != nil && !e.server.compute.Host && gs.o.Directory == nil
}
