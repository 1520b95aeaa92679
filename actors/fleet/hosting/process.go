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
	handler  script.Handler // once started
}

// Stop ends a call that the process is in soon: its game session is to end.
func (p *Process) Stop(reason string) {
	if s, ok := p.handler.(script.Stopper); ok {
		s.Stop(reason)
	}
}

// Version is the version of the script that the process runs.
func (p *Process) Version() string { return p.program.version }

// Config is the configuration that the process counts for. It is for comparing only.
func (p *Process) Config() *ProcessConfig { return p.config }

// Outdated reports whether new game sessions run another content.
func (p *Process) Outdated() bool {
	return p.config.current != nil && p.config.current.content != p.program.content
}

// Free returns a process for a game session of a fleet with a script, not started yet; nil if
// none is free in that location.
func (h *Hosting) Free(id messages.FleetID, location string) *Process {
	if p := h.vacant(id, location); p != nil {
		return &Process{config: p, program: p.current, location: location}
	}
	return nil
}

// HasFree reports whether Free would find a process.
func (h *Hosting) HasFree(id messages.FleetID, location string) bool {
	return h.vacant(id, location) != nil
}

// vacant returns the first configuration that can take a game session in a location.
func (h *Hosting) vacant(id messages.FleetID, location string) *ProcessConfig {
	if f := h.fleets[id]; f != nil {
		for _, p := range f.configs {
			if p.current != nil && !h.refused(p.current) && p.live[location] < p.processes(location) {
				return p
			}
		}
	}
	return nil
}

// Surplus is how many game sessions in a location each configuration of a fleet has over its
// capacity; below zero, how many more it may have.
func (h *Hosting) Surplus(id messages.FleetID, location string) map[*ProcessConfig]int {
	over := make(map[*ProcessConfig]int)
	if f := h.fleets[id]; f != nil {
		for _, p := range f.configs {
			over[p] = p.live[location] - p.processes(location)
		}
	}
	return over
}

// Occupy counts a game session that has got its process, and Vacate one that has ended, whose
// process may still run. Both keep stand-by processes as many as they should be.
func (h *Hosting) Occupy(p *Process) { h.occupy(p, 1) }

// Vacate is the opposite of Occupy.
func (h *Hosting) Vacate(p *Process) { h.occupy(p, -1) }

func (h *Hosting) occupy(p *Process, by int) {
	p.config.live[p.location] += by
	h.fill(p.config)
}

// Start gives a game session its process: one that stands by, or a new one. Log opens the game
// session's log.
func (h *Hosting) Start(p *Process, o gamesession.Options, log func() script.Sink) (*stage.Ref, error) {
	for _, i := range p.config.standbys {
		if i.state == ready && i.program == p.program {
			i.drop()
			delete(h.standbys, i.ref)
			p.handler = i.handler
			i.log.Pass(log()) // and its use of the program is the game session's
			i.ref.Tell(gamesession.Assign{Record: o.Record, Publisher: o.Publisher})
			return i.ref, nil
		}
	}
	return h.StartNew(p, o, log)
}

// StartNew gives a game session a process that is started for it.
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

// Again returns the process that a game session gets instead of one that has ended: of the version that
// new game sessions run. It counts as the first did. Release the first after the second is started: they
// may have the same program.
func (p *Process) Again() *Process {
	again := *p
	again.handler = nil
	if p.config.current != nil {
		again.program = p.config.current
	}
	return &again
}

// Release says that a process that was started has stopped.
func (h *Hosting) Release(p *Process) {
	p.handler = nil // an ended game session is kept for long
	h.release(p.program)
}

// Crashed writes down that a process ended by its own fault while it had a game session.
func (h *Hosting) Crashed(p *Process, why string) {
	h.o.Catalog.FleetEvent(p.config.fleet.record.ID, catalog.EventCrashed, fmt.Sprintf("a game session of version %s ended: %s", p.program.version, why))
}
