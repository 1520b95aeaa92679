package fleet

import (
	"slices"
	"strings"
	"sync"

	"troupe/actors/gamesession"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
)

// standbyProcess is a server process that has no game session: one that waits for its next, or
// that shows whether a new content runs at all.
type standbyProcess struct {
	ref           *stage.Ref
	processConfig *processConfig
	program       *program
	log           *standbyLog
	ready         bool
	over          bool // told to stop, or stopped
}

// standbyLog keeps the lines of a stand-by process, and knows its first error, which says
// why it is none for long.
type standbyLog struct {
	script.Held
	mu    sync.Mutex
	first string
}

// Write implements script.Sink.
func (l *standbyLog) Write(line script.Line) {
	if line.Level >= script.LevelError {
		l.mu.Lock()
		if l.first == "" {
			l.first = line.Text
		}
		l.mu.Unlock()
	}
	l.Held.Write(line)
}

// why returns a reason, with the first error.
func (l *standbyLog) why(reason string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.first == "":
		return reason
	case strings.Contains(reason, l.first), strings.Contains(l.first, reason):
		return l.first
	}
	return reason + "\n" + l.first
}

// silence is the log of a process that ends as the one before.
type silence struct{}

func (silence) Write(script.Line) {}
func (silence) Close()            {}

// without leaves out what is said elsewhere.
type without struct {
	script.Sink
	said string
}

// Write implements script.Sink.
func (w *without) Write(line script.Line) {
	if line.Level < script.LevelError || !strings.Contains(w.said, line.Text) {
		w.Sink.Write(line)
	}
}

// standby is how many stand-by processes of a program are kept ready.
func (p *processConfig) standby(of *program) int {
	n := p.fleet.record.Standby
	if s, ok := of.Program.(Standby); ok && n < 0 {
		n = s.Standby()
	}
	return max(0, min(n, p.free()))
}

// fill starts what is missing of stand-by processes: one for the next program, to
// see whether it runs, else those that the fleet wants of the current one. What
// could not be stopped once is not started again: each time costs a thread.
func (r *Registry) fill(c *stage.Context, p *processConfig) {
	if p.gone || p.leaving || r.drain.on || p.paused {
		return
	}
	if p.next != nil && p.next.hangs() {
		r.giveUp(c, p)
	}
	if p.next != nil {
		if p.count(p.next) == 0 && !r.starting(p.next) {
			r.startStandby(c, p, p.next)
		}
		return
	}
	if p.current == nil || p.current.hangs() {
		return
	}
	want := p.standby(p.current)
	for n := p.count(p.current); n < want; n++ {
		if !r.startStandby(c, p, p.current) {
			return
		}
	}
	surplus := p.count(p.current) - want
	r.stopStandby(p, func(i *standbyProcess) bool { surplus--; return surplus >= 0 })
}

// starting reports whether a process with a content is on its way to be ready.
// While it is, nobody else tries that content: if it hangs, it does so once.
func (r *Registry) starting(of *program) bool {
	for _, i := range r.standbys {
		if !i.ready && i.program.sameContent(of) {
			return true
		}
	}
	return false
}

// started lets others try a content, once one has shown what becomes of it.
func (r *Registry) started(c *stage.Context, of *program) {
	for _, f := range r.fleets {
		for _, p := range slices.Clone(f.processConfigs) {
			if p.next != nil && p.next.sameContent(of) {
				r.fill(c, p)
			}
		}
	}
}

// giveUp drops a next program that hangs; a new content is waited for.
func (r *Registry) giveUp(c *stage.Context, p *processConfig) {
	r.dropNext(c, p)
	r.cannotRun(c, p, eventCrashed, "a process with it could not be stopped before it had a game session: it is not tried again", true)
}

// dropNext gives up the program that is not proven yet.
func (r *Registry) dropNext(c *stage.Context, p *processConfig) {
	next := p.next
	if next == nil {
		return
	}
	p.next = nil
	p.carryOn()
	r.stopStandby(p, func(i *standbyProcess) bool { return i.program == next })
	r.unwant(next)
	if next.earlier {
		r.load(c, p)
	}
}

func (p *processConfig) count(of *program) (n int) {
	for _, i := range p.standbys {
		if i.program == of {
			n++
		}
	}
	return n
}

// startStandby starts a process without a game session.
func (r *Registry) startStandby(c *stage.Context, p *processConfig, of *program) bool {
	i := &standbyProcess{ref: r.newScriptRef(c), processConfig: p, program: of, log: new(standbyLog)}
	log := script.NewLog(i.log, script.LevelOf(p.spec.Parameters), c.Stage().Now)
	handler, err := r.makeHandler(c, of, r.processOf(c, p, i.ref, log))
	if err != nil {
		r.cannotStart(c, p, of, err.Error())
		return false
	}
	of.users++
	p.standbys = append(p.standbys, i)
	r.standbys[i.ref] = i
	c.Spawn(i.ref, gamesession.New(gamesession.Options{
		Fleet: c.Self(), Handler: handler, Args: strings.Fields(p.spec.Parameters), Log: log, Settings: r.settings(p.fleet.record),
	}))
	return true
}

// onReady takes a process that may get a game session.
func (r *Registry) onReady(c *stage.Context, ref *stage.Ref) {
	i := r.standbys[ref]
	if i == nil || i.over {
		return
	}
	p := i.processConfig
	i.ready, p.failed, p.why = true, 0, ""
	if i.program == p.next {
		r.prove(c, p)
	}
	r.fill(c, p)
	r.started(c, i.program)
}

// onIdleOver handles the end of a process without a game session.
func (r *Registry) onIdleOver(c *stage.Context, i *standbyProcess, text string) {
	if i.over {
		return
	}
	r.drop(i)
	text = i.log.why(text)
	if i.processConfig.said(text) {
		i.log.Pass(silence{})
	} else {
		i.log.Pass(&without{gamesession.HostLog(c.Log(), ""), text})
	}
	if i.processConfig.gone || i.program != i.processConfig.next && i.program != i.processConfig.current {
		return
	}
	if i.program.hangs() {
		r.hung(c, i, text)
		return
	}
	r.cannotStart(c, i.processConfig, i.program, text)
}

// hung writes down that a process could not be stopped before it had a game session.
// No other is started with that program.
func (r *Registry) hung(c *stage.Context, i *standbyProcess, text string) {
	p, newer := i.processConfig, i.program == i.processConfig.next
	if newer {
		r.dropNext(c, p)
	}
	r.cannotRun(c, p, eventCrashed, "a process could not be stopped before it had a game session, and none is started with it again: "+text, newer)
	r.fill(c, p)
}

// cannotStart writes down that a process did not become ready, or did not stay,
// and has another one tried after a pause that grows.
func (r *Registry) cannotStart(c *stage.Context, p *processConfig, of *program, text string) {
	text = "a process ended before it had a game session:\n" + text // where its place begins a line

	if p.next != nil && of != p.next { // no more of the old one for now; of the new one it says nothing
		r.cannotRun(c, p, eventCrashed, text, false)
		return
	}
	if p.next != nil && of.earlier { // the newest one may do
		r.dropNext(c, p)
		r.cannotRun(c, p, eventCrashed, text, false)
		return
	}
	p.failed++
	p.paused = true
	if p.retry == nil {
		p.retry = c.After(pause(p.failed), retryDue{p})
	} else {
		p.retry.Reset(pause(p.failed))
	}
	r.cannotRun(c, p, eventCrashed, text, p.next != nil)
}

// stopStandby ends stand-by processes.
func (r *Registry) stopStandby(p *processConfig, which func(*standbyProcess) bool) {
	for _, i := range slices.Clone(p.standbys) {
		if which(i) {
			r.drop(i)
			// Without OnProcessTerminate: scripts expect to have had a game session there, and
			// such processes come and go more often here than in the original.
			i.ref.Tell(gamesession.Terminate{Reason: messages.CloseGoingAway, Text: "not needed any more", Force: true})
		}
	}
}

// drop takes a stand-by process from those that may be used; it may still run.
func (r *Registry) drop(i *standbyProcess) {
	i.over = true
	p := i.processConfig
	p.standbys = slices.DeleteFunc(p.standbys, func(o *standbyProcess) bool { return o == i })
}

// take returns a stand-by process that is ready for a game session, nil if there
// is none. It does not stand by any more.
func (r *Registry) take(p *processConfig) *standbyProcess {
	for _, i := range p.standbys {
		if i.ready && i.program == p.current {
			r.drop(i)
			delete(r.standbys, i.ref)
			return i
		}
	}
	return nil
}
