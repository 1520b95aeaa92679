package events

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages/counters"
)

func fileLines(t *bubble, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.SplitAfter(strings.TrimSuffix(string(b), "\n"), "\n")
}

func TestFilesHaveALinePerEventAndAreRotated(t *testing.T) {
	inBubble(t, func(t *bubble) {
		path := filepath.Join(t.TempDir(), "events.jsonl")
		s := new(shelf)
		one := placed(10, "p")
		size := int64(len((origin{"us-east-1", "000000000000"}).render(&one))) + 1
		d := begin(t, s, Options{Sinks: []SinkOptions{{Name: "f", Type: TypeFile, Path: path, All: true, FileBytesMax: 3*size + 1, Files: 3}}})
		for n := range 13 {
			s.post(d, placed(n+10, "p"))
		}
		s.empty(t)
		next := 14 // of 13 events with 3 to a file, the first file is removed; it had 10 to 12, so 13 to 15 are next
		for _, name := range []string{path + ".2", path + ".1", path} {
			for _, line := range fileLines(t, name) {
				var v struct{ Detail struct{ N int } }
				if err := json.Unmarshal([]byte(line), &v); err != nil {
					t.Fatalf("%s: %q: %v", name, line, err)
				}
				if next == 14 {
					next = v.Detail.N
				}
				if v.Detail.N != next {
					t.Errorf("%s: %d, want %d", name, v.Detail.N, next)
				}
				next++
			}
		}
		if next != 23 {
			t.Errorf("the last is %d", next-1)
		}
		if _, err := os.Stat(path + ".3"); err == nil {
			t.Error("more files than wanted")
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	})
}

func TestALineThatACrashCutOffIsEnded(t *testing.T) {
	inBubble(t, func(t *bubble) {
		path := filepath.Join(t.TempDir(), "events.jsonl")
		if err := os.WriteFile(path, []byte("{\"a\":1}\n{\"b"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := new(shelf)
		d := begin(t, s, Options{Sinks: []SinkOptions{{Name: "f", Type: TypeFile, Path: path, All: true}}})
		for n := range 2 {
			s.post(d, placed(n, fmt.Sprint(n)))
		}
		s.empty(t)
		if l := fileLines(t, path); len(l) != 4 || l[1] != "{\"b\n" || !strings.HasPrefix(l[2], `{"version":"0"`) {
			t.Errorf("got %q", l)
		}
	})
}

func TestAFileWhoseFolderIsMissingIsTriedAgain(t *testing.T) {
	inBubble(t, func(t *bubble) {
		folder := filepath.Join(t.TempDir(), "later")
		s := new(shelf)
		d := begin(t, s, Options{Sinks: []SinkOptions{{Name: "f", Type: TypeFile, Path: filepath.Join(folder, "e"), All: true, Files: 1, FileBytesMax: 1}}})
		for n := range 2 {
			s.post(d, placed(n, "p"))
		}
		synctest.Wait()
		if n := d.current.Load().count.Events.Get(counters.EventFailed); n != 1 {
			t.Errorf("%d attempts failed", n)
		}
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // until the second attempt
		s.empty(t)
		if l := fileLines(t, filepath.Join(folder, "e")); len(l) != 1 || !strings.Contains(l[0], `"n":1}`) {
			t.Errorf("got %q", l)
		}
	})
}
