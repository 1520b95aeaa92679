package hosting

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"troupe/actors/fleet/catalog"
	"troupe/actors/gamesession"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
)

// standbyProcess is a server process without a game session. It either waits for a game session or tests whether new
// content runs.
type standbyProcess struct {
	ref     *stage.Ref
	config  *ProcessConfig
	program *program
	log     *standbyLog
	state   standbyState
	handler script.Handler
}

type standbyState uint8

const (
	starting standbyState = iota
	ready
	over // told to stop, or already stopped
)

// standbyLog buffers the log lines of a stand-by process. It also keeps the first error, which is often the reason why
// the process ends.
type standbyLog struct {
	script.Held
	mu    sync.Mutex
	first string // guarded by mu
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

// why returns reason combined with the first error.
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

// discardLog is the log of a process that ended for the same reason as the one before it.
type discardLog struct{}

func (discardLog) Write(script.Line) {}
func (discardLog) Close()            {}

// filteredLog omits errors that are part of a reason that is logged elsewhere.
type filteredLog struct {
	script.Sink
	logged string
}

// Write implements script.Sink.
func (l *filteredLog) Write(line script.Line) {
	if line.Level < script.LevelError || !strings.Contains(l.logged, line.Text) {
		l.Sink.Write(line)
	}
}

// standby returns the number of stand-by processes that a program should have.
func (p *ProcessConfig) standby(of *program) int {
	n := p.fleet.record.Standby
	if s, ok := of.Program.(Standby); ok && n < 0 {
		n = s.Standby()
	}
	return max(0, min(n, p.free()))
}

// fill adjusts the number of stand-by processes. If there is a next program, it starts one process of it in order to
// test it. Otherwise it keeps as many of the current program as are needed. A content of which a process could not be
// stopped is not started again, because each such process costs a thread.
func (h *Hosting) fill(p *ProcessConfig) {
	if p.state != configured || h.draining || p.retry != nil {
		return
	}
	switch {
	case p.next == nil:
	case h.hung[p.next.content]:
		h.giveUp(p, "a process with it could not be stopped before it had a game session: it is not tried again")
	case h.refused(p.next) && p.current != nil && !h.refused(p.current):
		h.giveUp(p, "two of its calls could not be ended: it is not tried again")
	}
	if p.next != nil {
		switch {
		case p.count(p.next) > 0 || h.starting(p.next):
		case p.next.trial == onTrial:
			h.startStandby(p, p.next)
		default:
			h.tryAgain(p)
		}
		return
	}
	if p.current == nil || h.hung[p.current.content] || h.refused(p.current) {
		return
	}
	want := p.standby(p.current)
	for n := p.count(p.current); n < want; n++ {
		if !h.startStandby(p, p.current) {
			return
		}
	}
	surplus := p.count(p.current) - want
	h.stopStandby(p, func(*standbyProcess) bool { surplus--; return surplus >= 0 })
}

// starting reports whether a process with the same content is starting. Other configurations wait for it, so that a
// content that hangs costs only one thread.
func (h *Hosting) starting(of *program) bool {
	for _, i := range h.standbys {
		if i.state == starting && i.program.content == of.content {
			return true
		}
	}
	return false
}

// started lets other configurations try a content after a process with it became ready or ended.
func (h *Hosting) started(of *program) {
	h.each(func(p *ProcessConfig) {
		if p.next != nil && p.next.content == of.content {
			h.fill(p)
		}
	})
}

// giveUp drops a next program that cannot run. The next attempt is made with new content.
func (h *Hosting) giveUp(p *ProcessConfig, why string) {
	h.dropNext(p)
	h.cannotRun(p, catalog.EventCrashed, why, true)
}

func (p *ProcessConfig) count(of *program) (n int) {
	for _, i := range p.standbys {
		if i.program == of {
			n++
		}
	}
	return n
}

func (h *Hosting) startStandby(p *ProcessConfig, of *program) bool {
	i := &standbyProcess{config: p, program: of, log: new(standbyLog)}
	var err error
	if i.ref, i.handler, err = h.spawn(p, of, gamesession.Options{}, script.NewLog(i.log, script.LevelOf(p.spec.Parameters), h.c.Stage().Now)); err != nil {
		h.tried(of)
		h.cannotStart(p, of, err.Error())
		return false
	}
	p.standbys = append(p.standbys, i)
	h.standbys[i.ref] = i
	return true
}

// spawn starts a process. It fills in the remaining options of the game session.
func (h *Hosting) spawn(p *ProcessConfig, of *program, o gamesession.Options, log *script.Log) (*stage.Ref, script.Handler, error) {
	f := p.fleet.record
	o.Fleet, o.Args, o.Log, o.Settings = h.c.Self(), strings.Fields(p.spec.Parameters), log, h.o.Settings(f)
	limits := o.Settings.Mailbox
	limits.LongRunning = true
	ref := h.c.Stage().NewRef(counters.ActorGameSession, limits)
	var err error
	if o.Handler, err = h.newHandler(of, script.Process{
		Fleet: f, Args: o.Args, Log: log, Counters: h.c.Counters(), HandOver: ref.HandOver,
		Stuck: func(reason string) { o.Fleet.Tell(Stuck{Ref: ref, Reason: reason}) },
	}); err != nil {
		return nil, nil, err
	}
	of.users++
	h.c.Spawn(ref, gamesession.New(o))
	return ref, o.Handler, nil
}

// newHandler returns the handler of one process. It recovers a panic of the engine, which would otherwise crash the
// fleet actor.
func (h *Hosting) newHandler(of *program, p script.Process) (handler script.Handler, err error) {
	defer func() {
		if text := recover(); text != nil {
			h.c.Counters().HandlerErrors.Add(1)
			handler, err = nil, fmt.Errorf("the engine failed on it: %v", text)
		}
	}()
	return of.NewHandler(p)
}

func (h *Hosting) onReady(ref *stage.Ref) {
	i := h.standbys[ref]
	if i == nil || i.state == over {
		return
	}
	p := i.config
	i.state, p.failed, p.why = ready, 0, ""
	h.tried(i.program)
	if i.program == p.next {
		h.prove(p)
	}
	h.fill(p)
	h.started(i.program)
}

// Over handles the end of a stand-by process, whose actor stops soon. It returns false if the actor is not a stand-by
// process.
func (h *Hosting) Over(ref *stage.Ref, text string) bool {
	i := h.standbys[ref]
	if i != nil {
		h.onOver(i, text)
	}
	return i != nil
}

// Exited handles the end of a stand-by process's actor. It returns false if the actor is not a stand-by process.
func (h *Hosting) Exited(ref *stage.Ref, crash string) bool {
	i := h.standbys[ref]
	if i == nil {
		return false
	}
	h.onOver(i, crash)
	delete(h.standbys, ref)
	h.release(i.program)
	h.started(i.program)
	return true
}

func (h *Hosting) onOver(i *standbyProcess, text string) {
	if i.state == over {
		return
	}
	i.drop()
	h.tried(i.program)
	p := i.config
	text = i.log.why(text)
	if strings.HasSuffix(p.why, text) { // the same reason as for the last process that did not run
		i.log.Pass(discardLog{})
	} else {
		i.log.Pass(&filteredLog{gamesession.HostLog(h.c.Log(), ""), text})
	}
	if p.state == retired || i.program != p.next && i.program != p.current {
		return
	}
	if !h.hung[i.program.content] {
		h.cannotStart(p, i.program, text)
		return
	}
	newer := i.program == p.next
	if newer {
		h.dropNext(p)
	}
	h.cannotRun(p, catalog.EventCrashed, "a process could not be stopped before it had a game session, and none is started with it again: "+text, newer)
	h.fill(p)
}

// cannotStart records that a stand-by process did not become ready or has ended. It schedules the next attempt after a
// growing pause.
func (h *Hosting) cannotStart(p *ProcessConfig, of *program, text string) {
	text = "a process ended before it had a game session:\n" + text // on its own line, because it may begin with a file position
	if p.next != nil && of != p.next {                              // the old program is not retried now, and the next one is not affected
		h.cannotRun(p, catalog.EventCrashed, text, false)
		return
	}
	if p.next != nil && of.earlier { // try the newest content instead
		h.dropNext(p)
		h.cannotRun(p, catalog.EventCrashed, text, false)
		return
	}
	p.failed++
	p.retry.Stop()
	p.retry = h.c.After(min(retryMin<<min(p.failed-1, 20), retryMax), retryDue{p})
	h.cannotRun(p, catalog.EventCrashed, text, p.next != nil)
}

func (h *Hosting) stopStandby(p *ProcessConfig, which func(*standbyProcess) bool) {
	for _, i := range slices.Clone(p.standbys) {
		if which(i) {
			i.drop()
			// Force skips OnProcessTerminate. Scripts expect to have had a game session when it is called, and such
			// processes come and go more often here than in GameLift.
			i.ref.Tell(gamesession.Terminate{Reason: messages.CloseGoingAway, Text: "not needed any more", Force: true})
		}
	}
}

// drop removes a stand-by process from those that can get a game session. The process may still be running.
func (i *standbyProcess) drop() {
	i.state = over
	i.config.standbys = slices.DeleteFunc(i.config.standbys, func(o *standbyProcess) bool { return o == i })
}
