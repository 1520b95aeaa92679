package fleet

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"troupe/actors/script/bundle"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// scriptEntry is a script and its newest content.
type scriptEntry struct {
	record     *messages.Script
	bundle     *bundle.Bundle
	configured bool     // of the configuration
	hung       []int    // contents of which a process could not be stopped before it was ready
	key        string   // of the newest content in the store; empty: the script's id
	ran        bool     // the newest content has shown that it runs
	missing    error    // why there is no bundle: the store does not have it, or it cannot be read
	good       *earlier // what ran before, until the newest does; nil: nothing
}

// onCreateScript makes a script.
func (r *Registry) onCreateScript(c *stage.Context, m Request[NewScript, *messages.Script]) {
	b := m.Request.Bundle
	if err := r.roomForScript(nil, b); err != nil {
		m.Reply(nil, err)
		return
	}
	q := m.Request.Request
	s := &scriptEntry{bundle: b, record: &messages.Script{
		ID: messages.ScriptID("script-" + uuid.NewString()), Name: q.Name, Version: q.Version,
		NodeVersion: cmp.Or(q.NodeVersion, messages.NodeVersion10), Size: int64(len(q.Zip)), Created: c.Now(), Contents: 1, Tags: q.Tags,
	}}
	id := s.record.ID
	r.scripts[id] = s
	c.Log().Info().Str("script_id", string(id)).Str("version", s.record.Version).Int("files", len(b.Files)).Msg("script created")
	r.commit(c, func() { delete(r.scripts, id) }, one(m.Reply, s.record), s.put(), content(id, q.Zip))
}

func content(id messages.ScriptID, zip []byte) store.Change {
	return store.Change{Kind: store.Content, ID: string(id), Value: zip}
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
		if s.good != nil && s.good.bundle != nil {
			total += size(s.good.bundle)
		}
	}
	if total > scriptBytesMax {
		return messages.Errorf(messages.LimitExceeded, "all scripts together are larger than %d bytes", scriptBytesMax)
	}
	return nil
}

func size(b *bundle.Bundle) (n int) {
	if b == nil {
		return 0
	}
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
		r.changeScript(c, s, &changed, func() { r.relabel(s) }, one(m.Reply, Changed{Script: &changed}))
		return
	}
	if err := r.roomForScript(s, m.Request.Bundle); err != nil {
		m.Reply(Changed{}, err)
		return
	}
	changed.Contents++
	if changed.Size = int64(len(q.Zip)); q.Zip == nil {
		changed.Size = int64(size(m.Request.Bundle))
	}
	var changes []store.Change
	next := *s
	if !s.configured { // else the configuration brings its content at each start
		changes = next.supersede(changed.Contents, q.Zip)
	}
	next.record, next.bundle = &changed, m.Request.Bundle
	apply := func() {
		s.record, s.bundle, s.key, s.ran, s.good, s.missing = next.record, next.bundle, next.key, next.ran, next.good, nil
		r.reload(c, &changed, m)
	}
	c.Log().Info().Str("script_id", string(changed.ID)).Str("version", changed.Version).Int("contents", changed.Contents).Msg("script updated")
	r.commitThen(c, func() {}, apply, func(err error) {
		if err != nil {
			m.Reply(Changed{}, err) // else reload answers
		}
	}, append([]store.Change{next.put()}, changes...)...)
}

// changeScript gives a script another record, of the same content, once that is durable,
// and answers. What follows from it, then, is done before.
func (r *Registry) changeScript(c *stage.Context, s *scriptEntry, record *messages.Script, then func(), answer func(error)) {
	next := *s
	next.record = record
	r.commitThen(c, func() {}, func() { s.record = record; then() }, answer, next.put())
}

// relabel has the programs of a script's newest content show the name of its version.
func (r *Registry) relabel(s *scriptEntry) {
	for _, f := range r.fleets {
		for _, p := range f.processes {
			s.relabel(p.current)
			s.relabel(p.next)
		}
	}
}

// reload has processes run a new content, and answers when they do or cannot.
func (r *Registry) reload(c *stage.Context, changed *messages.Script, m Request[ChangeScript, Changed]) {
	w := new(waiting)
	w.done = func() { m.Reply(Changed{Script: changed, Refused: w.refused, Loading: w.left > 0}, nil) }
	for _, f := range r.fleets {
		if f.record.ScriptID != changed.ID {
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

func (r *Registry) onDeleteScript(c *stage.Context, m Request[DropScript, None]) {
	id := m.Request.ID
	s := r.scripts[id]
	if s == nil {
		m.Reply(None{}, noScript(id))
		return
	}
	for _, f := range r.fleets {
		if f.record.ScriptID == id && f.record.Status != messages.FleetTerminated {
			m.Reply(None{}, messages.Errorf(messages.InvalidRequest, "script %s is used by fleet %s: delete that first", id, f.record.ID))
			return
		}
	}
	delete(r.scripts, id)
	c.Log().Info().Str("script_id", string(id)).Msg("script deleted")
	r.commit(c, func() { r.scripts[id] = s }, nothing(m.Reply), s.dropped()...)
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
