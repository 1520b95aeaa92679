package hosting

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"slices"

	"troupe/actors/script/bundle"
	"troupe/actors/store"
)

// trialsMax is the number of processes of the host that may be ended from outside (not by a crash) while one content is
// on trial. The next start then leaves that content out.
const trialsMax = 3

// trials records which contents are being loaded or started. A script can end the host's process in ways from which Go
// cannot recover, and would do so again after each restart. Therefore a content is marked in the store before it is
// loaded. The mark is removed when a process is ready with the content or has failed. A mark that exists at the start
// shows which content was on trial when the previous process ended:
//
//   - If Go reported a crash of that process while exactly one content was on trial, this content is condemned: it is
//     not loaded at any start.
//   - If several contents were on trial, or if the process was ended from outside, all of them are tried again one at a
//     time, so that another crash identifies one content.
//   - If trialsMax processes were ended from outside during the trial of a content, the content may exhaust the host's
//     memory or hang the host. It may also be innocent, for example if a liveness probe was too strict. This start
//     leaves the content out, so that the host can serve. It also deletes the mark, so that the next start tries the
//     content again.
//
// A content is identified by its files, so the same files under another name are refused too. UpdateScript with the
// same files tries them again.
type trials struct {
	store    store.Store
	unread   store.Unread
	tell     func(proceed)     // sends to the fleet actor; may be called from any goroutine
	suspects map[string]mark   // marks of earlier processes, until all contents of this start have been tried
	refused  map[string]string // the reasons why contents are not loaded, by key
	decided  []store.Change    // changes that newTrials has decided on
	onTrial  map[string]*trial
	waiting  []waitingTrial // queued trials; while there are suspects, only one content is tried at a time
}

type trial struct {
	users   int      // number of loads and programs that use the trial
	durable bool     // the mark is stored
	then    []func() // functions to call once the mark is stored
}

type waitingTrial struct {
	key  string
	then func()
}

// mark is the stored form of a trial. Its key is the key of the content.
type mark struct {
	Begun int    // number of processes in which a trial of the content began
	Again bool   `json:",omitempty"` // the last process has not begun a trial of the content, or not yet
	Why   string `json:",omitempty"` // set if the content is condemned
}

// proceed tells the fleet actor that the mark of a content has been stored or could not be stored.
type proceed struct{ key string }

// contentKey returns a hash of a script's files and the name of the entry file.
func contentKey(b *bundle.Bundle, entry string) string {
	h := sha256.New()
	for _, name := range append(slices.Sorted(maps.Keys(b.Files)), entry) {
		fmt.Fprintf(h, "%d %s %d\n", len(name), name, len(b.Files[name]))
		h.Write(b.Files[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// newTrials reads the marks. crash is Go's report of the crash of the previous process, or "" if it did not crash.
func newTrials(s store.Store, crash string, tell func(proceed)) (*trials, error) {
	t := &trials{store: s, tell: tell, suspects: make(map[string]mark), refused: make(map[string]string), onTrial: make(map[string]*trial)}
	last := 0 // number of contents that were on trial in the previous process
	err := store.Read(s, &t.unread, store.Trial, func(key string, m *mark, _ int) error {
		if m.Why != "" {
			t.refused[key] = m.Why
		} else if t.suspects[key] = *m; !m.Again {
			last++
		}
		return nil
	})
	for key, m := range t.suspects {
		switch {
		case crash != "" && last == 1 && !m.Again:
			t.refused[key] = "the host crashed while it was loaded or started: " + crash + "; it is not tried again: change the script, or update it with the same files"
			t.decided = append(t.decided, store.Put(store.Trial, key, mark{Why: t.refused[key]}))
		case m.Begun >= trialsMax:
			t.refused[key] = fmt.Sprintf("the host was ended %d times while it was loaded or started; it is tried again at the next start, or when the script is updated", m.Begun)
			t.decided = append(t.decided, store.Delete(store.Trial, key))
		default:
			t.decided = append(t.decided, store.Put(store.Trial, key, mark{Begun: m.Begun, Again: true}))
			continue
		}
		delete(t.suspects, key)
	}
	return t, err
}

// started stores the changes that newTrials has decided on.
func (t *trials) started() {
	if t.decided != nil {
		t.store.Commit(t.decided, nil)
		t.decided = nil
	}
}

// begin puts a content on trial. It calls then in the fleet actor once the mark is stored or the store has failed. Each
// begin needs one end.
func (t *trials) begin(key string, then func()) {
	on := t.onTrial[key]
	switch {
	case on == nil && len(t.suspects) > 0 && len(t.onTrial) > 0:
		t.waiting = append(t.waiting, waitingTrial{key, then})
		return
	case on == nil:
		on = &trial{}
		t.onTrial[key] = on
		t.store.Commit([]store.Change{store.Put(store.Trial, key, mark{Begun: t.suspects[key].Begun + 1})}, func(error) { t.tell(proceed{key}) })
	}
	if on.users++; on.durable {
		then()
		return
	}
	on.then = append(on.then, then)
}

// proceed calls the functions that wait for a mark.
func (t *trials) proceed(m proceed) {
	if on := t.onTrial[m.key]; on != nil {
		then := on.then
		on.durable, on.then = true, nil
		for _, f := range then {
			f()
		}
	}
}

// end ends one use of a content on trial, because a process is ready with it or will never be. The last end removes the
// mark.
func (t *trials) end(key string) {
	on := t.onTrial[key]
	if on.users--; on.users > 0 {
		return
	}
	delete(t.onTrial, key)
	delete(t.suspects, key)
	t.remove(slices.Values([]string{key}))
	waiting := t.waiting
	t.waiting = nil
	for _, w := range waiting { // those that must wait again keep their order
		t.begin(w.key, w.then)
	}
}

// forget removes the marks of suspects that no fleet runs. It is called when nothing is being loaded.
func (t *trials) forget() {
	if len(t.onTrial) == 0 {
		t.remove(maps.Keys(t.suspects))
		clear(t.suspects)
	}
}

// stopped removes the marks of all contents on trial, because the host is shutting down in an orderly way. It calls no
// pending functions.
func (t *trials) stopped() {
	t.remove(maps.Keys(t.onTrial))
	clear(t.onTrial)
	t.waiting = nil
}

func (t *trials) remove(keys iter.Seq[string]) {
	var changes []store.Change
	for key := range keys {
		changes = append(changes, store.Delete(store.Trial, key))
	}
	if changes != nil {
		t.store.Commit(changes, nil)
	}
}
