package hosting

import (
	"errors"
	"fmt"
	"runtime/debug"

	"troupe/actors/fleet/catalog"
	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/messages"
)

type content struct {
	script messages.ScriptID
	number int
}

// program is a loaded version of a script. It is closed when no process configuration needs it and no process runs it.
type program struct {
	script.Program
	content // identifies the content, because all programs of a content may hang in the same way
	version string
	key     string // key of its files
	earlier bool   // the content was not the newest when it was loaded
	wanted  int    // number of process configurations that need the program
	users   int    // number of processes that run the program
	trial   trialState
}

type trialState uint8

const (
	noTrial trialState = iota
	asked              // another trial has been requested
	onTrial
)

// load loads the newest content as a program. It does so in a goroutine, because compiling may take long.
func (h *Hosting) load(p *ProcessConfig) {
	f := p.fleet.record
	newest, earlier := h.o.Catalog.Contents(f.ScriptID)
	switch {
	case p.state != configured || h.draining || newest == nil:
		return
	case p.loads != idle:
		p.loads = outdated
		return
	}
	p.loads = loading
	l := &loader{config: p, script: f.ScriptID, content: *newest, path: p.spec.LaunchPath, fleet: f, make: h.o.NewProgram, close: h.close}
	if earlier != nil && earlier.Bundle != nil && p.current == nil && !p.triedEarlier { // the earlier content has run before, so it is tried first
		p.triedEarlier, l.content, l.earlier = true, *earlier, true
	}
	h.goLoad(l.find)
}

// goLoad runs one step of a load in a goroutine.
func (h *Hosting) goLoad(step func() any) {
	h.work.Go(func() {
		h.loading <- struct{}{}
		defer func() { <-h.loading }()
		h.c.Self().Tell(step())
	})
}

// onFound continues a load after the entry file has been found. The content is loaded once its mark is stored.
func (h *Hosting) onFound(l *loader) {
	if l.config.asked == l.content.Number {
		delete(h.trials.refused, l.key) // this trial's mark replaces the stored refusal
	}
	if why := h.trials.refused[l.key]; why != "" {
		h.onLoaded(l.failed(catalog.EventNotRunnable, fmt.Errorf("version %s: %s", l.content.Version, why)))
		return
	}
	h.trials.begin(l.key, func() { h.goLoad(l.run) })
}

// loader is one load. It runs outside the actor.
type loader struct {
	config  *ProcessConfig // only passed back to the actor, which owns it
	script  messages.ScriptID
	content catalog.Content
	key     string // key of the files, set by find
	entry   string
	earlier bool
	path    string
	fleet   *messages.Fleet
	make    func(*bundle.Bundle, string, *messages.Fleet) (script.Program, error)
	close   func(*program)
}

// find looks for the file to run. It returns the loader, or a failed loaded message if the file is missing.
func (l *loader) find() any {
	if l.content.Missing != nil {
		return l.failed(catalog.EventNotRunnable, fmt.Errorf("the content of version %s %w: update the script", l.content.Version, l.content.Missing))
	}
	var err error
	if l.entry, err = l.content.Bundle.Entry(l.path); err != nil {
		return l.failed(catalog.EventNoLaunchPath, err)
	}
	l.key = contentKey(l.content.Bundle, l.entry)
	return l
}

// run loads the content, which is on trial.
func (l *loader) run() any {
	p, err := l.compile()
	if err != nil {
		m := l.failed(catalog.EventNotRunnable, err)
		m.key = l.key
		return m
	}
	return loaded{config: l.config, close: l.close, earlier: l.earlier, program: p}
}

func (l *loader) failed(code string, err error) loaded {
	return loaded{config: l.config, close: l.close, earlier: l.earlier, code: code, err: err}
}

func (l *loader) compile() (p *program, err error) {
	defer func() {
		if text := recover(); text != nil {
			p, err = nil, fmt.Errorf("the engine failed on it: %v\n%s", text, debug.Stack())
		}
	}()
	if l.make == nil {
		return nil, errors.New("this host runs no scripts")
	}
	made, err := l.make(l.content.Bundle, l.entry, l.fleet)
	if err != nil {
		return nil, err
	}
	return &program{
		Program: made, content: content{l.script, l.content.Number}, version: l.content.Version, key: l.key, earlier: l.earlier, wanted: 1, trial: onTrial,
	}, nil
}

func (h *Hosting) onLoaded(m loaded) {
	p, was := m.config, m.config.loads
	p.loads = idle
	if m.key != "" {
		h.trials.end(m.key)
	}
	if m.program != nil {
		h.programs[m.program] = true
	}
	switch {
	case p.state == retired || h.draining:
		h.unwant(m.program)
		p.answerWaiting(notConfigured)
	case was == outdated:
		h.unwant(m.program)
		h.load(p)
	case m.err != nil:
		if m.earlier {
			h.load(p)
		}
		h.dropNext(p) // the old next program is no longer the newest
		h.cannotRun(p, m.code, m.err.Error(), true)
		h.fill(p)
		h.forgetSuspects()
	default:
		if n, ok := m.program.Program.(Noted); ok {
			h.o.Catalog.FleetEvent(p.fleet.record.ID, catalog.EventGeneric, n.Note())
		}
		h.unwant(p.next)
		p.next = m.program
		h.relabel(p.next)
		p.why = ""
		p.forgetFailures()
		h.stopStandby(p, func(i *standbyProcess) bool { return i.program != p.current })
		h.fill(p)
	}
}

// Relabel updates the version name of the programs that run a script's newest content.
func (h *Hosting) Relabel(id messages.ScriptID) {
	h.each(func(p *ProcessConfig) {
		if p.fleet.record.ScriptID == id {
			h.relabel(p.current)
			h.relabel(p.next)
		}
	})
}

func (h *Hosting) relabel(p *program) {
	if p == nil {
		return
	}
	if newest, _ := h.o.Catalog.Contents(p.script); newest != nil && newest.Number == p.number {
		p.version = newest.Version
	}
}

// unwant records that a process configuration no longer needs a program.
func (h *Hosting) unwant(p *program) {
	if p != nil {
		p.wanted--
		h.closeUnused(p)
	}
}

func (h *Hosting) release(p *program) {
	p.users--
	h.closeUnused(p)
}

// tried ends the trial of a program, because a process became ready with it or failed.
func (h *Hosting) tried(p *program) {
	if p.trial == onTrial {
		h.trials.end(p.key)
	}
	p.trial = noTrial
	h.forgetSuspects()
}

// forgetSuspects ends the special handling after a crash of the previous process, once no load is pending.
func (h *Hosting) forgetSuspects() {
	loads := false
	h.each(func(p *ProcessConfig) { loads = loads || p.loads != idle })
	if !loads {
		h.trials.forget()
	}
}

// tryAgain starts another trial of a configuration's next program.
func (h *Hosting) tryAgain(p *ProcessConfig) {
	next := p.next
	if next.trial == asked {
		return
	}
	next.trial = asked
	h.trials.begin(next.key, func() {
		if next.trial != asked { // the program was closed in the meantime
			h.trials.end(next.key)
			return
		}
		next.trial = onTrial
		h.fill(p)
	})
}

func (h *Hosting) closeUnused(p *program) {
	if p.users == 0 && p.wanted == 0 {
		delete(h.programs, p)
		h.tried(p)
		h.close(p)
	}
}

// close closes a program in a goroutine, because closing may write to the disk. Any goroutine may call it.
func (h *Hosting) close(p *program) {
	h.work.Go(func() {
		defer func() { _ = recover() }() // a panic is harmless here, because the program is no longer used
		p.Close()
	})
}
