package sessionlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/script"
	"troupe/messages"
)

func echo(text string) script.Line {
	return script.Line{Time: time.Now(), Level: script.LevelInfo, File: script.HostFile, Text: text, Echo: true}
}

// A game session of which only the host logs the beginning and the end has a log while it runs, and no file afterwards.
func TestAGameSessionThatLogsNothingHasNoFile(t *testing.T) {
	failed := echo("ended: it crashed")
	failed.Level = script.LevelError
	const begin, end = "created on fleet-dev\n", "ended: last player left\n"
	for name, c := range map[string]struct {
		lines []script.Line // between the beginning and the end
		read  bool          // somebody reads the log while the game session runs
		want  []string      // the ends of the lines of the file
	}{
		"nothing":       {},
		"a line":        {lines: []script.Line{line("0")}, want: []string{begin, ": 0\n", end}},
		"a crash":       {lines: []script.Line{failed}, want: []string{begin, "crashed\n", end}},
		"a reader":      {read: true, want: []string{begin, end}},
		"a long reason": {lines: []script.Line{echo(strings.Repeat("x", heldMax))}, want: []string{begin, "xx\n", end}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				s := open(t, dir, Options{})
				k := s.Open("a")
				k.Write(echo(strings.TrimSuffix(begin, "\n")))
				time.Sleep(time.Second)
				synctest.Wait()
				if n := diskBytes(t, dir); n != 0 || !s.Has("a") || len(s.List()) != 1 {
					t.Errorf("at the beginning: %d bytes, %+v", n, s.List())
				}
				if c.read {
					if got := read(t, s, "a"); !strings.HasSuffix(got, begin) {
						t.Errorf("while it runs: %q", got)
					}
				}
				for _, l := range c.lines {
					k.Write(l)
				}
				k.Write(echo(strings.TrimSuffix(end, "\n")))
				k.Close()
				time.Sleep(time.Second)
				synctest.Wait()
				files := assert.Value(os.ReadDir(dir))(t)
				if c.want == nil {
					if _, err := s.Read("a"); !errors.Is(err, fs.ErrNotExist) || s.Has("a") || len(s.List()) != 0 || len(files) != 0 || len(s.logs) != 0 {
						t.Errorf("%v, %+v, %v, %d logs", err, s.List(), files, len(s.logs))
					}
					return
				}
				all := strings.SplitAfter(read(t, s, "a"), "\n")
				if len(all) != len(c.want)+1 || len(files) != 1 {
					t.Fatalf("%q, %v", all, files)
				}
				for i, want := range c.want {
					if !strings.HasSuffix(all[i], want) {
						t.Errorf("line %d is %q, not %q", i, all[i], want)
					}
				}
				if s.pending != 0 {
					t.Errorf("%d bytes are counted as queued", s.pending)
				}
			})
		})
	}
}

// Game sessions may log before the logs of earlier processes are known. Lines of the same game session follow its earlier
// ones.
func TestGameSessionsLogWhileEarlierLogsAreFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		first := open(t, dir, Options{})
		for i := range 3 * scanBatch {
			k := first.Open(messages.GameSessionID(fmt.Sprint("g-", i)))
			k.Write(line("0"))
			k.Close()
		}
		first.Close()
		second := newStore(dir, Options{})
		k, new := second.Open("g-7"), second.Open("new")
		k.Write(line("1"))
		new.Write(line("0"))
		found := make(chan bool, 1)
		go func() { found <- second.Has("g-700") }()
		synctest.Wait()
		if len(found) != 0 {
			t.Error("Has does not wait for the search")
		}
		go second.run()
		defer second.Close()
		if !<-found {
			t.Error("an earlier log is not there")
		}
		if first, next := inOrder(t, read(t, second, "g-7")); first != 0 || next != 2 {
			t.Errorf("lines %d to %d", first, next)
		}
		if n := len(second.List()); n != 3*scanBatch+1 {
			t.Errorf("%d logs", n)
		}
		for _, i := range second.List() {
			if running := i.ID == "g-7" || i.ID == "new"; running != i.Ended.IsZero() {
				t.Errorf("%+v", i)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, file("s-g-7", 2))); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the game session has begun a second file: %v", err)
		}
	})
}
