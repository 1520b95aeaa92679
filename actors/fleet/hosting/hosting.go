package hosting

import (
	"slices"
	"sync"
	"time"

	"troupe/actors/fleet/catalog"
	"troupe/actors/gamesession"
	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// Options configure a Hosting. They must not change.
type Options struct {
	// NewProgram loads a program for processes of f from a script's files. entry is the file to run. The call may be
	// slow. Any goroutine may make it.
	NewProgram func(b *bundle.Bundle, entry string, f *messages.Fleet) (script.Program, error)
	// Settings returns the settings of a fleet's game sessions.
	Settings func(f *messages.Fleet) gamesession.Settings
	// Catalog provides the contents of scripts and receives the results of processes.
	Catalog Catalog
	// Listener receives changes that affect game sessions.
	Listener Listener
	// Store holds the marks of contents on trial.
	Store store.Store
	// Crash is the crash report of the previous process of the host, or "" if that process did not crash.
	Crash string
}

// Catalog is the part of catalog.Catalog that hosting uses. It is called in the fleet actor.
type Catalog interface {
	Contents(id messages.ScriptID) (newest, earlier *catalog.Content)
	FleetEvent(id messages.FleetID, code, message string)
	FleetRuns(id messages.FleetID)
	FleetFails(id messages.FleetID)
	ContentRuns(id messages.ScriptID, everywhere bool)
}

// Listener receives changes that affect game sessions. It is called in the fleet actor and may call Hosting.
type Listener interface {
	// VersionReplaced says that new game sessions of a fleet run another version than before.
	VersionReplaced(id messages.FleetID)
	// RoomFound says that a fleet may have room for more game sessions.
	RoomFound(id messages.FleetID)
}

// Standby is implemented by programs that start slowly. It returns the default number of stand-by processes.
type Standby interface {
	script.Program
	Standby() int
}

// Noted is implemented by programs that may run differently from what was configured. The note is added to the fleet's
// events.
type Noted interface {
	script.Program
	Note() string
}

const (
	// loadsMax limits the number of scripts that are compiled at the same time.
	loadsMax = 2
	// retryMin and retryMax are the first and the longest pause before the next start after a process did not become
	// ready.
	retryMin = time.Second
	retryMax = 5 * time.Minute
)

// Hosting owns the programs, process configurations and stand-by processes. Only the fleet actor may call its methods,
// except Wait.
type Hosting struct {
	o         Options
	c         *stage.Context // the fleet actor's context; nil until the actor has started
	fleets    map[messages.FleetID]*fleet
	standbys  map[*stage.Ref]*standbyProcess // stand-by processes whose actors have not stopped
	programs  map[*program]bool              // programs that are not closed
	hung      map[content]bool               // contents of which a process could not be stopped before it was ready
	stuck     map[content]int                // per content, the number of calls that could not be ended
	lastStuck lastStuck
	draining  bool
	trials    *trials

	// work counts the goroutines that Hosting has started. loading limits the number of those that compile.
	work    sync.WaitGroup
	loading chan struct{}
}

// fleet is a fleet with a script.
type fleet struct {
	record  *messages.Fleet // the current record
	configs []*ProcessConfig
}

// New returns a Hosting without fleets. It returns an error if the store cannot be read.
func New(o Options) (h *Hosting, err error) {
	h = &Hosting{
		o: o, fleets: make(map[messages.FleetID]*fleet), standbys: make(map[*stage.Ref]*standbyProcess),
		programs: make(map[*program]bool), hung: make(map[content]bool), stuck: make(map[content]int), loading: make(chan struct{}, loadsMax),
	}
	h.trials, err = newTrials(o.Store, o.Crash, func(m proceed) { h.c.Self().Tell(m) })
	return h, err
}

// Started must be called after the actor has started and before all other methods.
func (h *Hosting) Started(c *stage.Context) {
	h.c = c
	h.trials.started()
}

// Unread returns the stored marks of contents on trial that are ignored because they are damaged.
func (h *Hosting) Unread() *store.Unread { return &h.trials.unread }

// Receive handles the messages that Hosting sends to its actor. It returns false for others.
func (h *Hosting) Receive(msg any) bool {
	switch m := msg.(type) {
	case loaded:
		h.onLoaded(m)
	case *loader:
		h.onFound(m)
	case proceed:
		h.trials.proceed(m)
	case updateDue:
		h.onUpdateDue(m.w)
	case retryDue:
		m.p.retry = nil
		h.fill(m.p)
	case gamesession.Ready:
		h.onReady(m.Ref)
	default:
		return false
	}
	return true
}

// Messages that Hosting sends to its actor.
type (
	updateDue struct{ w *waiting }
	retryDue  struct{ p *ProcessConfig }
	loaded    struct {
		config  *ProcessConfig
		program *program
		key     string // key of the content; set only if the content was on trial and failed
		earlier bool   // the content was not the newest when the load began
		code    string // code of the event about a failure
		err     error
		close   func(*program)
	}
)

// OnDeadLetter implements stage.DeadLetter.
func (m loaded) OnDeadLetter() {
	if m.program != nil {
		m.close(m.program)
	}
}

// Configure applies a runtime configuration. Entries with the same launch path and parameters as before are kept.
// Entries that are no longer configured are used until a configured one runs.
func (h *Hosting) Configure(record *messages.Fleet) {
	f := h.fleets[record.ID]
	if f == nil {
		f = new(fleet)
		h.fleets[record.ID] = f
	}
	f.record = record
	old := f.configs
	f.configs = nil
	for _, spec := range record.Runtime.Processes {
		same := func(p *ProcessConfig) bool {
			return p.spec.LaunchPath == spec.LaunchPath && p.spec.Parameters == spec.Parameters
		}
		if i := slices.IndexFunc(old, same); i >= 0 {
			p := old[i]
			old = slices.Delete(old, i, i+1)
			p.spec, p.state = spec, configured
			f.configs = append(f.configs, p)
			h.fill(p)
			continue
		}
		p := &ProcessConfig{fleet: f, spec: spec, live: make(map[string]int)}
		f.configs = append(f.configs, p)
		p.inherit(old)
		h.load(p)
	}
	for _, p := range old {
		p.state = leaving
	}
	f.configs = append(f.configs, old...)
	h.judge(f)
}

// Changed replaces the record of a fleet. It does not apply the runtime configuration; Configure does.
func (h *Hosting) Changed(record *messages.Fleet) {
	if f := h.fleets[record.ID]; f != nil {
		f.record = record
	}
}

// Refill starts or stops stand-by processes of a fleet whose capacity has changed.
func (h *Hosting) Refill(id messages.FleetID) {
	if f := h.fleets[id]; f != nil {
		for _, p := range slices.Clone(f.configs) {
			h.fill(p)
		}
	}
}

// Remove retires all configurations of a fleet. Processes with a game session continue.
func (h *Hosting) Remove(id messages.FleetID) {
	if f := h.fleets[id]; f != nil {
		for _, p := range f.configs {
			h.retire(p)
		}
		f.configs = nil
		delete(h.fleets, id)
	}
}

// judge retires the configurations in the state leaving once a configured one runs. It also tells the catalog whether
// the fleet runs.
func (h *Hosting) judge(f *fleet) {
	serves := func(p *ProcessConfig) bool { return p.state != leaving && p.current != nil }
	busy := slices.ContainsFunc(f.configs, (*ProcessConfig).busy)
	if !busy && slices.ContainsFunc(f.configs, serves) {
		f.configs = slices.DeleteFunc(f.configs, func(p *ProcessConfig) bool {
			if p.state == leaving {
				h.retire(p)
			}
			return p.state == retired
		})
	}
	switch {
	case slices.ContainsFunc(f.configs, func(p *ProcessConfig) bool { return p.current != nil }):
		h.o.Catalog.FleetRuns(f.record.ID)
	case !busy:
		h.o.Catalog.FleetFails(f.record.ID)
	}
}

// each calls f with all process configurations.
func (h *Hosting) each(f func(*ProcessConfig)) {
	for _, fl := range h.fleets {
		for _, p := range slices.Clone(fl.configs) {
			f(p)
		}
	}
}

// Drain ends all stand-by processes. Nothing is started until Resume.
func (h *Hosting) Drain() {
	h.draining = true
	h.each(func(p *ProcessConfig) {
		h.stopStandby(p, func(*standbyProcess) bool { return true })
		p.answerWaiting(shuttingDown)
	})
}

// Resume ends a drain. It loads the scripts that were updated during the drain.
func (h *Hosting) Resume() {
	h.draining = false
	h.each(func(p *ProcessConfig) {
		if newest, _ := h.o.Catalog.Contents(p.fleet.record.ScriptID); newest != nil && !p.newest(newest) {
			h.load(p)
		}
		h.fill(p)
	})
}

// Standbys returns the number of stand-by processes that have not stopped.
func (h *Hosting) Standbys() int { return len(h.standbys) }

// Stopped closes all programs. It is called when no process is running any more.
func (h *Hosting) Stopped() {
	h.each(func(p *ProcessConfig) {
		p.state = retired
		p.answerWaiting(shuttingDown)
	})
	for p := range h.programs {
		h.close(p)
	}
	h.trials.stopped()
}

// Wait returns when all goroutines of Hosting have ended. It must be called after the actor has stopped. Any goroutine
// may call it.
func (h *Hosting) Wait() { h.work.Wait() }
