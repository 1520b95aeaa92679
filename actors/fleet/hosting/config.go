package hosting

import (
	"slices"
	"strings"
	"time"

	"troupe/actors/fleet/catalog"
	"troupe/actors/stage"
	"troupe/messages"
)

// ProcessConfig is one entry of a fleet's runtime configuration: a number of processes with the same launch path and
// parameters. New content is first loaded as the program next. It becomes current as soon as a process is ready with it
// (realtime.md 19.1). New game sessions run current.
type ProcessConfig struct {
	fleet        *fleet
	spec         messages.ServerProcess
	state        configState
	loads        loadState
	current      *program       // nil until a process is ready with the first program
	next         *program       // loaded, but no process has been ready with it yet
	live         map[string]int // number of game sessions, by location
	standbys     []*standbyProcess
	failed       int          // number of consecutive processes that did not become ready
	why          string       // reason why the last process did not become ready; empty if it did
	retry        *stage.Timer // while it is not nil, no process is started
	waiting      []*waiting
	triedEarlier bool // the content before the newest one has been tried
	asked        int  // number of the content given by the last update, which is tried even if its files were refused; 0 if there is none
}

// configState says whether a process configuration is in use.
type configState uint8

const (
	configured configState = iota
	leaving                // no longer configured, but used until a configured one runs
	retired                // no longer configured and no longer used
)

type loadState uint8

const (
	idle loadState = iota
	loading
	outdated // a content that is no longer the newest is being loaded; the newest is loaded next
)

// busy reports whether new content is being loaded or tried.
func (p *ProcessConfig) busy() bool { return p.loads != idle || p.next != nil && p.failed == 0 }

// answerWaiting answers the callers that wait for this configuration's new content. refused is the reason why the
// content does not run, or "" if it runs.
func (p *ProcessConfig) answerWaiting(refused string) {
	waiting := p.waiting
	p.waiting = nil
	for _, w := range waiting {
		w.less(refused)
	}
}

// Reasons why a process configuration will not run new content.
const (
	notConfigured = "it is not configured any more"
	shuttingDown  = "the host is shutting down"
)

// inherit takes over the current program of an old configuration with the same launch path. The program stays in use if
// the newest content does not run.
func (p *ProcessConfig) inherit(from []*ProcessConfig) {
	for _, o := range from {
		if o.spec.LaunchPath == p.spec.LaunchPath && o.current != nil {
			p.current = o.current
			p.current.wanted++
			return
		}
	}
}

// newest reports whether a configuration runs the newest content of its script or is about to.
func (p *ProcessConfig) newest(c *catalog.Content) bool {
	runs := func(o *program) bool { return o != nil && o.content.number == c.Number }
	return runs(p.next) || p.next == nil && runs(p.current)
}

// behind reports whether a configuration runs an earlier content of the script than newest.
func (p *ProcessConfig) behind(newest content) bool {
	return p.current != nil && p.current.script == newest.script && p.current.number != newest.number
}

func (p *ProcessConfig) processes(location string) int {
	return p.spec.Concurrent * p.fleet.record.GroupsIn(location).Desired
}

// free returns how many more game sessions a configuration can run, in all locations together.
func (p *ProcessConfig) free() (n int) {
	for _, l := range p.fleet.record.Locations {
		n += max(0, p.processes(l)-p.live[l])
	}
	return n
}

// forgetFailures ends the pause before the next start of a process and resets the count of failures.
func (p *ProcessConfig) forgetFailures() {
	p.failed = 0
	p.retry.Stop()
	p.retry = nil
}

// cannotRun records in the log and in the fleet's events why a process does not run. newer says that the process's
// content is newer than the current one.
func (h *Hosting) cannotRun(p *ProcessConfig, code, text string, newer bool) {
	record := p.fleet.record
	message := strings.TrimSpace(text)
	log := h.c.Log().Error()
	if message == p.why { // a retry has failed for the same reason
		log = h.c.Log().Debug()
	}
	p.why = message
	log = log.Str("fleet_id", string(record.ID)).Str("launch_path", p.spec.LaunchPath).Str("error", message)
	if p.current != nil && newer {
		message += "; game sessions go on with version " + p.current.version
		log = log.Str("goes_on_with", p.current.version)
	}
	log.Msg("script does not run")
	h.o.Catalog.FleetEvent(record.ID, code, message)
	if newer && p.loads == idle {
		p.answerWaiting(message)
	}
	h.judge(p.fleet)
}

func (h *Hosting) prove(p *ProcessConfig) {
	id, old, now := p.fleet.record.ID, p.current, p.next
	p.current, p.next = now, nil
	h.stopStandby(p, func(i *standbyProcess) bool { return i.program != now })
	h.unwant(old)
	h.c.Log().Info().Str("fleet_id", string(id)).Str("launch_path", p.spec.LaunchPath).Str("version", now.version).Msg("script runs")
	if old != nil {
		h.o.Catalog.FleetEvent(id, catalog.EventGeneric, "new game sessions run version "+now.version+" of the script")
		h.o.Listener.VersionReplaced(id)
	}
	if now.earlier { // try the newest content next
		h.load(p)
	}
	if p.loads == idle {
		p.answerWaiting("")
	}
	h.judge(p.fleet)
	h.tellRuns(now)
	h.o.Listener.RoomFound(id)
}

// tellRuns tells the catalog that a process runs the newest content of a script. It ignores other contents.
func (h *Hosting) tellRuns(p *program) {
	if newest, _ := h.o.Catalog.Contents(p.script); newest == nil || newest.Number != p.number {
		return
	}
	everywhere := true
	h.each(func(o *ProcessConfig) { everywhere = everywhere && !o.behind(p.content) })
	h.o.Catalog.ContentRuns(p.script, everywhere)
}

// retire takes a configuration out of use. Game sessions in its processes continue.
func (h *Hosting) retire(p *ProcessConfig) {
	p.state = retired
	p.forgetFailures()
	h.stopStandby(p, func(*standbyProcess) bool { return true })
	h.unwant(p.next)
	h.unwant(p.current)
	p.next, p.current = nil, nil
	p.answerWaiting(notConfigured)
}

func (h *Hosting) dropNext(p *ProcessConfig) {
	next := p.next
	if next == nil {
		return
	}
	p.next = nil
	p.forgetFailures()
	h.stopStandby(p, func(i *standbyProcess) bool { return i.program == next })
	h.unwant(next)
	if next.earlier {
		h.load(p)
	}
}

// waiting waits until all its process configurations run the new content or have refused it. It then calls done once.
type waiting struct {
	left    int
	refused []string
	done    func()
}

// on adds a configuration to wait for if it is busy.
func (w *waiting) on(p *ProcessConfig) {
	if p.busy() {
		w.left++
		p.waiting = append(p.waiting, w)
	}
}

// less records the outcome of one configuration. refused is the reason why the configuration does not run the new
// content, or "".
func (w *waiting) less(refused string) {
	if refused != "" && !slices.Contains(w.refused, refused) {
		w.refused = append(w.refused, refused)
	}
	if w.left--; w.left == 0 {
		w.end()
	}
}

// end stops waiting and calls done, unless done has been called.
func (w *waiting) end() {
	if done := w.done; done != nil {
		w.done = nil
		done()
	}
}

// Reload makes the fleets of a script run its newest content, which an update has just given. The content is tried even
// if its files were refused at the start. done is called when each configuration runs the content or has refused it,
// with the reasons. If that takes longer than limit, done is called with pending set.
func (h *Hosting) Reload(id messages.ScriptID, limit time.Duration, done func(refused []string, pending bool)) {
	w := &waiting{left: 1} // 1 for this function, until it has added all configurations
	w.done = func() { done(w.refused, w.left > 0) }
	newest, _ := h.o.Catalog.Contents(id)
	h.each(func(p *ProcessConfig) {
		if p.fleet.record.ScriptID == id {
			if newest != nil {
				p.asked = newest.Number
			}
			h.load(p)
			w.on(p)
		}
	})
	w.less("")
	h.c.After(limit, updateDue{w})
}

// onUpdateDue answers an update whose time limit has passed while a configuration is still busy.
func (h *Hosting) onUpdateDue(w *waiting) {
	if w.done != nil {
		h.each(func(p *ProcessConfig) {
			p.waiting = slices.DeleteFunc(p.waiting, func(o *waiting) bool { return o == w })
		})
		w.end()
	}
}

// AwaitLoaded calls done when no configuration is busy.
func (h *Hosting) AwaitLoaded(done func()) {
	w := &waiting{left: 1, done: done}
	h.each(w.on)
	w.less("")
}
