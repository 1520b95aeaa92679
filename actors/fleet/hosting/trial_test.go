package hosting

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/fleet/catalog"
	"troupe/actors/script/bundle"
	"troupe/actors/store"
)

// keyOf returns the key of a content that consists of main.js only.
func keyOf(text string) string {
	return contentKey(&bundle.Bundle{Files: map[string][]byte{"main.js": []byte(text)}}, "main.js")
}

// marks returns the stored marks of the given contents, each a text of main.js. A mark has the form "text begun",
// followed by " again" or by the reason.
func (w *world) marks(texts ...string) string {
	var all []string
	_, _ = w.store.Load(store.Trial, func(key string, value []byte) error {
		for _, text := range texts {
			key = strings.ReplaceAll(key, keyOf(text), text)
		}
		all = append(all, key+" "+string(value))
		return nil
	})
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// A content is marked before it is loaded, until a process is ready with it or has failed. Each later attempt is marked
// too.
func TestAContentHasAMarkWhileItIsTried(t *testing.T) {
	for text, tries := range map[string]string{"good": "", "syntax error": "", "panic": "", "no handler": "x", "throws": "x", "not ready": "x"} {
		t.Run(text, func(t *testing.T) {
			run(t, 0, func(w *world) {
				assert.Equal(t, "marks, once the first content runs", w.marks(), "")
				w.gate = make(chan struct{})
				w.update("main.js=" + text)
				assert.Equal(t, "marks while it is loaded", w.marks(text), text+` {"Begun":1}`)
				close(w.gate)
				w.do(func() {})
				assert.Equal(t, "marks, once it has been tried", w.marks(text), "")
				writes := w.store.puts
				w.pass(retryMin)
				assert.Equal(t, "marks of the next try", w.store.puts-writes, len(tries))
				assert.Equal(t, "marks after it", w.marks(text), "")
			})
		})
	}
}

// A content that is neither ready nor failed keeps its mark. An orderly end of the host removes the mark.
func TestTheEndInOrderLeavesNoMark(t *testing.T) {
	var w *world
	run(t, 0, func(in *world) {
		w = in
		w.update("main.js=never ready")
		assert.Equal(t, "marks", w.marks("never ready"), `never ready {"Begun":1}`)
	})
	assert.Equal(t, "marks at the end", w.marks(), "")
}

// Nothing is loaded before its mark is stored. A failing store does not prevent loading.
func TestALoadWaitsForItsMark(t *testing.T) {
	for _, fails := range []bool{false, true} {
		run(t, 0, func(w *world) {
			w.store.hold = make(chan struct{})
			w.update("main.js=two")
			w.pass(time.Minute)
			assert.Equal(t, "programs before", w.made.Load(), 1)
			if fails {
				w.store.err = store.ErrBusy
			}
			close(w.store.hold)
			w.do(func() {})
			w.runs("2 (1.0): two")
		})
	}
}

// The meaning of the previous processes' marks when this process starts.
func TestMarksAtTheStart(t *testing.T) {
	const crashed = "the host crashed while it was loaded or started: fatal error: out of memory; it is not tried again: change the script, or update it with the same files"
	const thrice = "the host was ended 3 times while it was loaded or started; it is tried again at the next start, or when the script is updated"
	for name, c := range map[string]struct {
		marks map[string]mark
		crash bool
		runs  bool   // content "one" runs
		why   string // reason why it does not run
		left  string // marks at the end
	}{
		"none":                               {crash: true, runs: true},
		"killed in it":                       {marks: map[string]mark{"one": {Begun: 1}}, runs: true},
		"crashed in it":                      {marks: map[string]mark{"one": {Begun: 1}}, crash: true, why: crashed, left: `one {"Begun":0,"Why":"` + crashed + `"}`},
		"condemned before":                   {marks: map[string]mark{"one": {Why: crashed}}, why: crashed, left: `one {"Begun":0,"Why":"` + crashed + `"}`},
		"ended three times in it":            {marks: map[string]mark{"one": {Begun: 3}}, why: thrice},
		"crashed the third time":             {marks: map[string]mark{"one": {Begun: 3}}, crash: true, why: crashed, left: `one {"Begun":0,"Why":"` + crashed + `"}`},
		"crashed in one of two":              {marks: map[string]mark{"one": {Begun: 1}, "two": {Begun: 1}}, crash: true, runs: true},
		"crashed in it when one by one":      {marks: map[string]mark{"one": {Begun: 2}, "two": {Begun: 1, Again: true}}, crash: true, why: crashed, left: `one {"Begun":0,"Why":"` + crashed + `"}` + "\n" + `two {"Begun":1,"Again":true}`},
		"crashed in another when one by one": {marks: map[string]mark{"one": {Begun: 1, Again: true}, "two": {Begun: 2}}, crash: true, runs: true, left: `two {"Begun":0,"Why":"` + crashed + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			crash := ""
			if c.crash {
				crash = "fatal error: out of memory"
			}
			runAfter(t, c.marks, crash, (*world).first, func(w *world) {
				if c.runs {
					w.runs("1 (1.0): one")
				} else {
					w.runs("")
					w.is("it does not run", catalog.EventNotRunnable, "fails")
					assert.Equal(t, "event", strings.TrimPrefix(w.events[0], catalog.EventNotRunnable+" "), "version 1 (1.0): "+c.why)
					w.update("main.js=fixed")
					w.runs("2 (1.0): fixed")
				}
				// No fleet runs content "two", so it is forgotten once all contents have been tried.
				left := strings.ReplaceAll(c.left, "two {\"Begun\":1,\"Again\":true}", "")
				assert.Equal(t, "marks", w.marks("one", "two"), strings.TrimSpace(left))
			})
		})
	}
}

// If a start has refused a content, an update with the same files tries the content again. The content then has the
// mark of the new trial.
func TestAnUpdateTriesARefusedContentAgain(t *testing.T) {
	for why, m := range map[string]mark{"condemned": {Why: "it crashed"}, "ended three times": {Begun: 3}} {
		t.Run(why, func(t *testing.T) {
			runAfter(t, map[string]mark{"one": m}, "", (*world).first, func(w *world) {
				w.runs("")
				w.configure("5 main.js again") // not an update, so the content stays refused
				w.runs("")
				w.gate = make(chan struct{})
				w.update("main.js=one")
				assert.Equal(t, "marks while it is loaded", w.marks("one"), `one {"Begun":1}`)
				close(w.gate)
				w.do(func() {})
				w.runs("2 (1.0): one again")
				assert.Equal(t, "marks", w.marks("one"), "")
			})
		})
	}
}

// A damaged mark is reported and otherwise ignored.
func TestADamagedMark(t *testing.T) {
	s := new(store.Memory)
	s.Commit([]store.Change{{Kind: store.Trial, ID: keyOf("one"), Value: []byte("{")}}, nil)
	h, err := New(Options{Store: s, Crash: "fatal error"})
	if err != nil || len(h.Unread().Damaged()) != 1 || len(h.trials.refused)+len(h.trials.suspects) != 0 {
		t.Errorf("%v; damaged %v, refused %v", err, h.Unread().Damaged(), h.trials.refused)
	}
}

// After a crash while several contents were on trial, they are tried one at a time, so that the next crash shows which
// content caused it.
func TestSuspectsAreTriedOneAfterAnother(t *testing.T) {
	const contents = 5
	marks := map[string]mark{"of no fleet": {Begun: 1}, "neither": {Begun: 2}}
	runAfter(t, marks, "fatal error: out of memory", func(w *world) {
		var files, specs []string
		for i := range contents {
			files, specs = append(files, fmt.Sprintf("%d.js=one", i)), append(specs, fmt.Sprintf("1 %d.js", i))
		}
		w.gate = make(chan struct{})
		w.content(1, files...)
		w.configure(specs...)
	}, func(w *world) {
		for range contents {
			w.do(func() {})
			assert.Equal(t, "contents on trial", strings.Count(w.marks(), "Begun")-strings.Count(w.marks(), "Again"), 1)
			w.gate <- struct{}{}
		}
		w.do(func() {})
		assert.Equal(t, "marks", w.marks(), "")
	})
}

// The key depends on the files and on the file to run, but not on the order of the files.
func TestContentKey(t *testing.T) {
	seen := map[string]string{}
	for _, c := range []struct {
		files map[string]string
		entry string
	}{
		{map[string]string{"a": "b"}, "a"}, {map[string]string{"a": "c"}, "a"}, {map[string]string{"a": "", "b": ""}, "a"}, {map[string]string{"a": "", "b": ""}, "b"},
		{map[string]string{"a": "b\n1 b 0"}, "a"}, {map[string]string{"ab": ""}, "ab"}, {map[string]string{"a": "b", "b": ""}, "a"},
	} {
		b := &bundle.Bundle{Files: map[string][]byte{}}
		for name, text := range c.files {
			b.Files[name] = []byte(text)
		}
		key, other := contentKey(b, c.entry), contentKey(&bundle.Bundle{Files: maps.Clone(b.Files)}, c.entry)
		if is := fmt.Sprint(c); key != other || seen[key] != "" {
			t.Errorf("%s has the key of %q; twice the same: %t", is, seen[key], key == other)
		}
		seen[key] = fmt.Sprint(c)
	}
}
