package fleet

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"troupe/actors/script/bundle"
	"troupe/actors/stage"
	"troupe/messages"
)

// scriptEntry is a script and its newest content.
type scriptEntry struct {
	record *messages.Script
	bundle *bundle.Bundle
	hung   []int // contents of which a process could not be stopped before it was ready
}

func (r *Registry) createScript(c *stage.Context, m NewScript) (*messages.Script, error) {
	if err := r.roomForScript(nil, m.Bundle); err != nil {
		return nil, err
	}
	q := m.Request
	s := &scriptEntry{bundle: m.Bundle, record: &messages.Script{
		ID: messages.ScriptID("script-" + uuid.NewString()), Name: q.Name, Version: q.Version,
		NodeVersion: cmp.Or(q.NodeVersion, messages.NodeVersion10), Size: int64(len(q.Zip)), Created: c.Now(), Contents: 1, Tags: q.Tags,
	}}
	r.scripts[s.record.ID] = s
	c.Log().Info().Str("script_id", string(s.record.ID)).Str("version", s.record.Version).Int("files", len(m.Bundle.Files)).Msg("script created")
	return s.record, nil
}

// roomForScript bounds what scripts hold; old is a script whose content goes.
func (r *Registry) roomForScript(old *scriptEntry, b *bundle.Bundle) error {
	if old == nil && len(r.scripts) >= scriptsMax {
		return messages.Errorf(messages.LimitExceeded, "there are %d scripts already", scriptsMax)
	}
	total := size(b)
	for _, s := range r.scripts {
		if s != old {
			total += size(s.bundle)
		}
	}
	if total > scriptBytesMax {
		return messages.Errorf(messages.LimitExceeded, "all scripts together are larger than %d bytes", scriptBytesMax)
	}
	return nil
}

func size(b *bundle.Bundle) (n int) {
	for name, content := range b.Files {
		n += len(name) + len(content)
	}
	return n
}

// onUpdateScript changes a script. Processes that are to run a new content load
// it first: one that does not load changes nothing but what events say.
func (r *Registry) onUpdateScript(c *stage.Context, m Request[ChangeScript, Changed]) {
	q := m.Request.Request
	s := r.scripts[q.ID]
	if s == nil {
		m.Reply(Changed{}, noScript(q.ID))
		return
	}
	changed := *s.record
	changed.Name, changed.Version = cmp.Or(q.Name, changed.Name), cmp.Or(q.Version, changed.Version)
	if m.Request.Bundle == nil {
		s.record = &changed
		for _, f := range r.fleets {
			for _, p := range f.processes {
				s.relabel(p.current)
				s.relabel(p.next)
			}
		}
		m.Reply(Changed{Script: s.record}, nil)
		return
	}
	if err := r.roomForScript(s, m.Request.Bundle); err != nil {
		m.Reply(Changed{}, err)
		return
	}
	if changed.Size = int64(len(q.Zip)); q.Zip == nil {
		changed.Size = int64(size(m.Request.Bundle))
	}
	changed.Contents++
	s.record, s.bundle = &changed, m.Request.Bundle
	c.Log().Info().Str("script_id", string(changed.ID)).Str("version", changed.Version).Int("contents", changed.Contents).Msg("script updated")
	w := new(waiting)
	w.done = func() { m.Reply(Changed{Script: &changed, Refused: w.refused, Loading: w.left > 0}, nil) }
	for _, f := range r.fleets {
		if f.record.ScriptID != q.ID {
			continue
		}
		for _, p := range f.processes {
			r.load(c, p)
			w.on(p)
		}
	}
	w.begin()
	c.After(cmp.Or(m.Request.Wait, updateWait), updateDue{w})
}

// describeScripts reads one script, or all.
func (r *Registry) describeScripts(id messages.ScriptID) ([]*messages.Script, error) {
	if id != "" {
		s := r.scripts[id]
		if s == nil {
			return nil, noScript(id)
		}
		return []*messages.Script{s.record}, nil
	}
	all := make([]*messages.Script, 0, len(r.scripts))
	for _, s := range r.scripts {
		all = append(all, s.record)
	}
	slices.SortFunc(all, func(a, b *messages.Script) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

func (r *Registry) deleteScript(c *stage.Context, id messages.ScriptID) error {
	if r.scripts[id] == nil {
		return noScript(id)
	}
	for _, f := range r.fleets {
		if f.record.ScriptID == id && f.record.Status != messages.FleetTerminated {
			return messages.Errorf(messages.InvalidRequest, "script %s is used by fleet %s: delete that first", id, f.record.ID)
		}
	}
	delete(r.scripts, id)
	c.Log().Info().Str("script_id", string(id)).Msg("script deleted")
	return nil
}

func noScript(id messages.ScriptID) error {
	return messages.Errorf(messages.NotFound, "script %s is not known here", id)
}

// waiting calls done once, when all processes it waits on have loaded what is
// new, or given up.
type waiting struct {
	left    int
	refused []string
	done    func()
}

// on waits on one more process, if it loads something.
func (w *waiting) on(p *process) {
	if p.busy() {
		w.left++
		p.waiting = append(p.waiting, w)
	}
}

// begin is called when all processes are named.
func (w *waiting) begin() {
	if w.left == 0 {
		w.end()
	}
}

// less takes what came of one process: why it does not run what is new, or "".
func (w *waiting) less(refused string) {
	if refused != "" && !slices.Contains(w.refused, refused) {
		w.refused = append(w.refused, refused)
	}
	if w.left--; w.left == 0 {
		w.end()
	}
}

// onUpdateDue answers an update that some process still loads.
func (r *Registry) onUpdateDue(w *waiting) {
	if w.done == nil {
		return
	}
	for _, f := range r.fleets {
		for _, p := range f.processes {
			p.waiting = slices.DeleteFunc(p.waiting, func(o *waiting) bool { return o == w })
		}
	}
	w.end()
}

// end stops waiting, for whatever reason.
func (w *waiting) end() {
	if done := w.done; done != nil {
		w.done = nil
		done()
	}
}
