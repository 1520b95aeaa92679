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

// trialsMax is how many processes of the host may end in one content, not by a crash, before a start leaves it out.
const trialsMax = 3

// trials are the contents that are being loaded or started. A script can end the process of the host in ways that nothing recovers, and
// would do so again at each start. So a content has a mark in the store from before it is loaded until a process with it is ready, or it
// has failed. A mark that is there at a start tells in which content the process before has ended:
//
//   - If Go reported a crash of that process while one content was on trial, this content is condemned: no start loads it.
//   - If several were, or the process was ended from outside, all are tried again, one after the other, so that
//     another crash finds one.
//   - A content in which trialsMax processes were ended from outside may take the host's memory, or hang it; or a liveness
//     probe was too strict, and it is innocent. This start leaves it out, so that the host serves, and forgets that it did:
//     the next start tries it again.
//
// A content is known by its files: the same files under another name are refused, too. UpdateScript with them tries them again.
type trials struct {
	store    store.Store
	unread   store.Unread
	tell     func(proceed)     // to the fleet actor, from any goroutine
	suspects map[string]mark   // of the processes before, until all contents of the start have been tried
	refused  map[string]string // the reasons why contents are not loaded
	decided  []store.Change    // what newTrials has decided
	onTrial  map[string]*trial
	waiting  []waitingTrial // while there are suspects: one content is tried at a time
}

type trial struct {
	users   int      // loads and programs
	durable bool     // its mark is stored
	then    []func() // what waits for that
}

type waitingTrial struct {
	key  string
	then func()
}

// mark is the stored form of a trial, under the key of the content.
type mark struct {
	Begun int    // processes in which the trial has begun
	Again bool   `json:",omitempty"` // the last one has not begun it, or not yet
	Why   string `json:",omitempty"` // the content is condemned
}

// proceed tells the fleet actor that the mark of a content is stored, or cannot be.
type proceed struct{ key string }

// contentKey returns the key of a script's files, run from entry.
func contentKey(b *bundle.Bundle, entry string) string {
	h := sha256.New()
	for _, name := range append(slices.Sorted(maps.Keys(b.Files)), entry) {
		fmt.Fprintf(h, "%d %s %d\n", len(name), name, len(b.Files[name]))
		h.Write(b.Files[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// newTrials reads the marks. Crash is what Go has reported of a crash of the process before, "" if it did not.
func newTrials(s store.Store, crash string, tell func(proceed)) (*trials, error) {
	t := &trials{store: s, tell: tell, suspects: make(map[string]mark), refused: make(map[string]string), onTrial: make(map[string]*trial)}
	last := 0 // contents that were on trial in the process before
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

// started writes what newTrials has decided.
func (t *trials) started() {
	if t.decided != nil {
		t.store.Commit(t.decided, nil)
		t.decided = nil
	}
}

// begin puts a content on trial, and calls then in the fleet actor once that is stored, or the store has failed. Each call needs an end.
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

// proceed calls what has waited for a mark.
func (t *trials) proceed(m proceed) {
	if on := t.onTrial[m.key]; on != nil {
		then := on.then
		on.durable, on.then = true, nil
		for _, f := range then {
			f()
		}
	}
}

// end ends one use of a content on trial: a process with it is ready, or will not be. The last one removes the mark.
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
	for _, w := range waiting { // those that must still wait do so in the same order
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

// stopped removes the marks of what is on trial, because the host ends in order. Nothing is called any more.
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
