package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The first error is the earliest one in all logs that is not merely a line logged by the script. The host's follow-up
// lines and stacks do not count as errors.
func TestErrorsInLogs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	long := strings.Repeat("ä", 2*firstMax)
	for name, text := range map[string]string{
		"s-a.1.log": "26 November 2026 05:39:46,625 [ERROR] (game.js) 2: Uncaught error: late\n\tat /local/game/game.js:2:35\n" +
			"26 November 2026 05:39:46,625 [ERROR] (host) 0: ended: Uncaught error: late\n",
		"d-b/s-b.1.log": "26 November 2026 05:39:46,001 [INFO] (game.js) 1: [ERROR] (not.js) 1: one\n" +
			"26 November 2026 05:39:46,002 [FATAL] (lib (2).js) 12: Error in init: " + long + "\n",
		"s-c.1.log": "26 November 2026 05:39:46,002 [WARN] (game.js) 1: no error\n" +
			"26 November 2026 05:39:46,000 [ERROR] (game.js) 1: one of the script's own\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := errorsIn(dir)
	if !strings.HasPrefix(got.First, "lib (2).js:12: Error in init: ä") || !strings.HasSuffix(got.First, "ä ...") || len([]rune(got.First)) != firstMax+4 || got.Count != 3 {
		t.Errorf("%+v", got)
	}
	if none := errorsIn(filepath.Join(dir, "none")); none != (ScriptErrors{}) {
		t.Errorf("%+v", none)
	}
}
