package fleet

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"troupe/actors/gamesession"
	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/actors/stage"
	"troupe/messages"
)

// processConfig is one entry of a fleet's runtime configuration: processes that run
// the same thing. A content that is new goes through next: it becomes current,
// and what new game sessions run, once a process with it was ready. Until then,
// and if that never happens, the last good one goes on (realtime.md 19.1).
type processConfig struct {
	fleet    *fleetEntry
	spec     messages.ServerProcess
	current  *program // nil until the first is ready
	next     *program // loaded, and not proven yet
	loading  bool
	stale    bool           // what is being loaded is old already
	leaving  bool           // no longer configured; serves until what is configured runs
	gone     bool           // no longer configured, and retired
	live     map[string]int // game sessions, by location
	standbys []*standbyProcess
	failed   int    // processes in a row that did not become ready
	why      string // the last process did not become ready; empty since the last that did
	paused   bool   // until retry
	retry    *stage.Timer
	waiting  []*waiting
	revived  bool // has tried the earlier content
}

// program is a version of a script. It is closed when no entry of a runtime
// configuration wants it any more and nothing runs it.
type program struct {
	script.Program
	script   *scriptEntry
	contents int // which content of the script it is
	version  string
	earlier  bool // not the newest even when it was loaded
	wanted   int
	users    int
}

// sameContent reports whether two programs are of one content: what holds one up may
// well hold the other up.
func (p *program) sameContent(o *program) bool {
	return p.script == o.script && p.contents == o.contents
}

// hangs reports whether a process with this content could not be stopped.
func (p *program) hangs() bool { return slices.Contains(p.script.hung, p.contents) }

// busy reports whether a new content is on its way.
func (p *processConfig) busy() bool { return p.loading || p.next != nil && p.failed == 0 }

// outcome tells those who wait for one, unless what they wait for is still to come.
func (p *processConfig) outcome(refused string) {
	if !p.loading {
		p.answerWaiting(refused)
	}
}

// answerWaiting answers the callers that wait for this content, with the reason why the
// new version does not run; "" if it does.
func (p *processConfig) answerWaiting(refused string) {
	waiting := p.waiting
	p.waiting = nil
	for _, w := range waiting {
		w.less(refused)
	}
}

// Why a process says no more about what is new.
const (
	notConfigured = "it is not configured any more"
	shuttingDown  = "the host is shutting down"
)

// load makes a program of the newest content, in a goroutine: compiling takes
// time, and may be made to take long.
func (r *Registry) load(c *stage.Context, p *processConfig) {
	s := r.scripts[p.fleet.record.ScriptID]
	if p.gone || p.leaving || r.drain.on || s == nil {
		return
	}
	if p.loading {
		p.stale = true
		return
	}
	p.loading = true
	l := loader{
		registry: c.Self(), processConfig: p, script: s, contents: s.record.Contents, path: p.spec.LaunchPath, fleet: p.fleet.record, bundle: labelled(s),
		make: r.o.NewProgram, close: r.closeProgram, missing: s.missing,
	}
	l.withEarlier(p)
	r.work.Go(func() {
		r.loads <- struct{}{}
		defer func() { <-r.loads }()
		l.run()
	})
}

// versionShown is how many characters of the caller's name of a version are shown.
const versionShown = 64

// labelled is a script's newest content under the name of its version.
func labelled(s *scriptEntry) *bundle.Bundle {
	var b bundle.Bundle
	if s.bundle != nil {
		b = *s.bundle
	}
	b.Version, b.NodeVersion = s.label(), s.record.NodeVersion
	return &b
}

// label names the newest content: its number, which no other has, and what the caller
// calls it.
func (s *scriptEntry) label() string { return labelOf(s.record.Contents, s.record.Version) }

// Version is what ScriptVersion of a game session shows that runs a script's newest content.
func Version(s *messages.Script) string { return labelOf(s.Contents, s.Version) }

func labelOf(contents int, v string) string {
	number := strconv.Itoa(contents)
	if v == "" {
		return number
	}
	if short := []rune(v); len(short) > versionShown {
		v = string(short[:versionShown]) + "..."
	}
	return number + " (" + v + ")"
}

// relabel gives a program of the newest content the name that this has by now.
func (s *scriptEntry) relabel(p *program) {
	if p != nil && p.script == s && p.contents == s.record.Contents {
		p.version = s.label()
	}
}

// loader is one load, outside of the actor.
type loader struct {
	registry      *stage.Ref
	processConfig *processConfig // not looked into
	script        *scriptEntry   // neither
	contents      int
	earlier       bool
	path          string
	fleet         *messages.Fleet
	bundle        *bundle.Bundle
	make          func(*bundle.Bundle, string, *messages.Fleet) (script.Program, error)
	close         func(*program)
	missing       error // why there is no bundle
}

func (l *loader) run() {
	result := loaded{processConfig: l.processConfig, close: l.close, earlier: l.earlier, code: eventNoLaunchPath}
	var entry string
	if l.missing != nil {
		result.code, result.err = eventNotRunnable, fmt.Errorf("the content of version %s %w: update the script", l.bundle.Version, l.missing)
	} else if entry, result.err = l.bundle.Entry(l.path); result.err == nil {
		result.code = eventNotRunnable
		result.program, result.err = l.compile(entry)
	}
	l.registry.Tell(result)
}

func (l *loader) compile(entry string) (p *program, err error) {
	defer func() {
		if text := recover(); text != nil {
			p, err = nil, fmt.Errorf("the engine failed on it: %v\n%s", text, debug.Stack())
		}
	}()
	if l.make == nil {
		return nil, errors.New("this host runs no scripts")
	}
	made, err := l.make(l.bundle, entry, l.fleet)
	if err != nil {
		return nil, err
	}
	return &program{Program: made, script: l.script, contents: l.contents, version: l.bundle.Version, earlier: l.earlier, wanted: 1}, nil
}

// onLoaded takes a program that was made, or why it was not.
func (r *Registry) onLoaded(c *stage.Context, m loaded) {
	p := m.processConfig
	p.loading = false
	switch {
	case p.gone || r.drain.on:
		if m.program != nil {
			r.closeProgram(m.program)
		}
		p.answerWaiting(notConfigured)
	case p.stale:
		p.stale = false
		if m.program != nil {
			r.closeProgram(m.program)
		}
		r.load(c, p)
	case m.err != nil:
		if m.earlier {
			r.load(c, p)
		}
		r.dropNext(c, p) // it is not the newest any more
		r.cannotRun(c, p, m.code, m.err.Error(), true)
		r.fill(c, p)
	default:
		if n, ok := m.program.Program.(Noted); ok {
			p.fleet.events.add(c.Now(), eventGeneric, n.Note())
		}
		r.unwant(p.next)
		p.next = m.program
		p.next.script.relabel(p.next)
		p.why = ""
		p.carryOn()
		r.stopStandby(p, func(i *standbyProcess) bool { return i.program != p.current })
		r.fill(c, p)
	}
}

// said reports whether a reason has been given for the last process that did not run.
func (p *processConfig) said(reason string) bool { return strings.HasSuffix(p.why, reason) }

// cannotRun writes down that a process does not run, and what goes on if it has a
// newer content.
func (r *Registry) cannotRun(c *stage.Context, p *processConfig, code, text string, newer bool) {
	f := p.fleet
	message := strings.TrimSpace(text)
	log := c.Log().Error()
	if message == p.why { // it has been tried again
		log = c.Log().Debug()
	}
	p.why = message
	log = log.Str("fleet_id", string(f.record.ID)).Str("launch_path", p.spec.LaunchPath).Str("error", message)
	if p.current != nil && newer {
		message += "; game sessions go on with version " + p.current.version
		log = log.Str("goes_on_with", p.current.version)
	}
	log.Msg("script does not run")
	f.events.add(c.Now(), code, message)
	if newer {
		p.outcome(message)
	}
	r.judge(c, f)
}

// prove makes the next program the one that new game sessions run.
func (r *Registry) prove(c *stage.Context, p *processConfig) {
	old := p.current
	p.current, p.next = p.next, nil
	r.stopStandby(p, func(i *standbyProcess) bool { return i.program != p.current })
	r.unwant(old)
	c.Log().Info().Str("fleet_id", string(p.fleet.record.ID)).Str("launch_path", p.spec.LaunchPath).Str("version", p.current.version).Msg("script runs")
	if old != nil {
		p.fleet.events.add(c.Now(), eventGeneric, "new game sessions run version "+p.current.version+" of the script")
		r.endEarlier(c, p)
	}
	r.proven(c, p)
	p.outcome("")
	r.judge(c, p.fleet)
	r.tellRoom(p.fleet, "")
}

// endEarlier has game sessions of what a process ran before end when they are empty
// (Options.EndEarlier).
func (r *Registry) endEarlier(c *stage.Context, p *processConfig) {
	if !r.o.EndEarlier {
		return
	}
	for _, e := range r.order {
		if e.processConfig != p || e.ref == nil || e.over || e.program.sameContent(p.current) {
			continue
		}
		e.earlier = true
		g := e.published.Session()
		e.published.Edit(gamesession.Edits{Name: g.Name, Properties: g.Properties, MaxPlayers: g.MaxPlayers, Protected: g.Protected})
		e.ref.Tell(gamesession.EndWhenEmpty{On: true})
		c.Log().Info().Str("game_session_id", string(e.id)).Str("version", e.program.version).Int("players", g.CurrentPlayers).
			Msg("a game session of an earlier version of the script takes no new players, and ends without any")
	}
}

// judge retires what is not configured any more, once something that is runs, and
// brings a fleet that is being made to the status that its processes deserve.
func (r *Registry) judge(c *stage.Context, f *fleetEntry) {
	serves := func(p *processConfig) bool { return !p.leaving && p.current != nil }
	if slices.ContainsFunc(f.processConfigs, serves) && !slices.ContainsFunc(f.processConfigs, (*processConfig).busy) {
		f.processConfigs = slices.DeleteFunc(f.processConfigs, func(p *processConfig) bool {
			if p.leaving {
				r.retire(p)
			}
			return p.leaving
		})
	}
	switch f.record.Status {
	case messages.FleetActive, messages.FleetDeleting, messages.FleetTerminated:
		return
	}
	if slices.ContainsFunc(f.processConfigs, func(p *processConfig) bool { return p.current != nil }) {
		for _, s := range []messages.FleetStatus{messages.FleetBuilding, messages.FleetActivating, messages.FleetActive} {
			r.setFleetStatus(c, f, s)
		}
		return
	}
	if !slices.ContainsFunc(f.processConfigs, (*processConfig).busy) && f.record.Status != messages.FleetErrored {
		r.setFleetStatus(c, f, messages.FleetErrored)
	}
}

// unwant gives up a program.
func (r *Registry) unwant(p *program) {
	if p != nil {
		p.wanted--
		r.closeIfUnused(p)
	}
}

// release ends one use of a program.
func (r *Registry) release(p *program) {
	if p != nil {
		p.users--
		r.closeIfUnused(p)
	}
}

func (r *Registry) closeIfUnused(p *program) {
	if p.users == 0 && p.wanted == 0 {
		r.closeProgram(p)
	}
}

// closeProgram closes a program beside the actor: that may touch the disk.
func (r *Registry) closeProgram(p *program) {
	r.work.Go(func() {
		defer func() { _ = recover() }() // nothing is left that it could harm
		p.Close()
	})
}

// retire takes a process out of use; game sessions in it go on.
func (r *Registry) retire(p *processConfig) {
	p.gone = true
	p.carryOn()
	r.stopStandby(p, func(*standbyProcess) bool { return true })
	r.unwant(p.next)
	r.unwant(p.current)
	p.next, p.current = nil, nil
	p.answerWaiting(notConfigured)
}

// carryOn forgets failures.
func (p *processConfig) carryOn() {
	p.failed, p.paused = 0, false
	p.retry.Stop()
}

// pause is how long to wait after so many failures in a row.
func pause(failed int) time.Duration {
	return min(retryMin<<min(failed-1, 20), retryMax)
}
