package hosting

import (
	"fmt"

	"troupe/actors/fleet/catalog"
	"troupe/actors/gamesession"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
)

// Process is the server process of one game session.
type Process struct {
	config   *ProcessConfig
	program  *program
	location string
	handler  script.Handler // nil until the process is started
}

// Stop makes the current call of the process end soon, because its game session is ending.
func (p *Process) Stop(reason string) {
	if s, ok := p.handler.(script.Stopper); ok {
		s.Stop(reason)
	}
}

// Version returns the version of the script that the process runs.
func (p *Process) Version() string { return p.program.version }

// Config returns the process's configuration. The result is only for comparisons.
func (p *Process) Config() *ProcessConfig { return p.config }

// Outdated reports whether new game sessions run another content than this process.
func (p *Process) Outdated() bool {
	return p.config.current != nil && p.config.current.content != p.program.content
}

// Free returns a process, not started yet, of the fleet's first configuration that has room in the location. It returns
// nil if no configuration has room.
func (h *Hosting) Free(id messages.FleetID, location string) *Process {
	if f := h.fleets[id]; f != nil {
		for _, p := range f.configs {
			if p.current != nil && !h.refused(p.current) && p.live[location] < p.processes(location) {
				return &Process{config: p, program: p.current, location: location}
			}
		}
	}
	return nil
}

// HasFree reports whether Free would return a process.
func (h *Hosting) HasFree(id messages.FleetID, location string) bool {
	return h.Free(id, location) != nil
}

// Surplus returns, for each configuration, by how many the game sessions of a fleet in a location exceed the capacity.
// A negative number means that there is room.
func (h *Hosting) Surplus(id messages.FleetID, location string) map[*ProcessConfig]int {
	over := make(map[*ProcessConfig]int)
	if f := h.fleets[id]; f != nil {
		for _, p := range f.configs {
			over[p] = p.live[location] - p.processes(location)
		}
	}
	return over
}

// Occupy counts a game session that got its process (by is 1) or ended (by is -1). It also adjusts the number of
// stand-by processes.
func (h *Hosting) Occupy(p *Process, by int) {
	p.config.live[p.location] += by
	h.fill(p.config)
}

// Start gives a game session its process: a stand-by process if one is ready, otherwise a new one. log opens the game
// session's log.
func (h *Hosting) Start(p *Process, o gamesession.Options, log func() script.Sink) (*stage.Ref, error) {
	for _, i := range p.config.standbys {
		if i.state == ready && i.program == p.program {
			i.drop()
			delete(h.standbys, i.ref)
			p.handler = i.handler
			i.log.Pass(log()) // the game session now counts as the user of the program
			i.ref.Tell(gamesession.Assign{Record: o.Record, Publisher: o.Publisher})
			return i.ref, nil
		}
	}
	return h.StartNew(p, o, log)
}

// StartNew starts a new process for a game session.
func (h *Hosting) StartNew(p *Process, o gamesession.Options, sink func() script.Sink) (*stage.Ref, error) {
	log := script.NewLog(sink(), script.LevelOf(p.config.spec.Parameters), h.c.Stage().Now)
	ref, handler, err := h.spawn(p.config, p.program, o, log)
	if err != nil {
		log.Error("the script cannot be started:", err)
		log.Close()
		id := p.config.fleet.record.ID
		h.o.Catalog.FleetEvent(id, catalog.EventCrashed, "a process could not be started: "+err.Error())
		return nil, messages.Errorf(messages.Internal, "a process of fleet %s could not be started: %v", id, err)
	}
	p.handler = handler
	return ref, nil
}

// Again returns a process that replaces p, which has ended. It runs the current version. Occupy must not be called for
// it, because p is still counted. p must be released after the replacement has started, because both may have the same
// program.
func (p *Process) Again() *Process {
	again := *p
	again.handler = nil
	if p.config.current != nil {
		again.program = p.config.current
	}
	return &again
}

// Release must be called when a started process has stopped.
func (h *Hosting) Release(p *Process) {
	p.handler = nil // frees memory, because ended game sessions are kept
	h.release(p.program)
}

// Crashed adds a fleet event which says that a process with a game session failed.
func (h *Hosting) Crashed(p *Process, why string) {
	h.o.Catalog.FleetEvent(p.config.fleet.record.ID, catalog.EventCrashed, fmt.Sprintf("a game session of version %s ended: %s", p.program.version, why))
}
