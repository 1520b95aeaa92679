package events

import (
	"os"
	"path/filepath"
	"testing"
)

// If logrotate renames, removes or truncates a file, the next event goes to a file of the configured name,
// and no event is lost.
func TestFilesFollowLogrotate(t *testing.T) {
	for name, move := range map[string]func(path string) error{
		"renamed": func(path string) error { return os.Rename(path, path+"-20260101") },
		"removed": os.Remove,
		"cut":     func(path string) error { return os.Truncate(path, 0) },
		"kept":    func(string) error { return nil },
	} {
		inBubble(t, func(t *bubble) {
			path := filepath.Join(t.TempDir(), "events.jsonl")
			s := new(shelf)
			d := begin(t, s, Options{Sinks: []SinkOptions{{Name: "f", Type: TypeFile, Path: path, All: true}}})
			s.post(d, placed(1, "p"))
			s.empty(t)
			if err := move(path); err != nil {
				t.Fatal(err)
			}
			s.post(d, placed(2, "p"))
			s.empty(t)
			want := 1
			if name == "kept" {
				want = 2
			}
			if got := len(fileLines(t, path)); got != want {
				t.Errorf("%s: %d lines", name, got)
			}
			if name == "renamed" && len(fileLines(t, path+"-20260101")) != 1 {
				t.Error("the first event is gone")
			}
		})
	}
}
