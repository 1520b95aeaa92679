package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"troupe/actors/script"
	"troupe/messages/lazy"
)

// ScriptErrors describes the errors of a host's scripts.
type ScriptErrors struct {
	Count int64
	// First is the first error, in one line that begins with FILE:LINE. It is empty if no game session log contains an
	// error.
	First string
	// Stuck means that the host did not end when asked, because a call of a script does not return.
	Stuck bool
}

// ScriptErrors stops a host that was started here and returns the errors of its scripts. The count comes from the
// host's metrics. First comes from the logs of its game sessions, which are complete once the host has ended. Stop must
// still be called.
func (p *Process) ScriptErrors(ctx context.Context) (e ScriptErrors) {
	var counted int64 // the logs may have fewer: the host drops lines that come too fast
	known := true
	for _, name := range []string{"troupe_handler_errors_total", "troupe_script_errors_total"} {
		n, err := p.Metric(ctx, name) // a crashed host has no metrics
		counted, known = counted+n, known && err == nil
	}
	killed := p.end()
	e = errorsIn(filepath.Join(p.dir, logsDir))
	if e.Stuck = killed; known { // prefer the metrics: a script may log errors that are not failures
		e.Count = counted
	}
	return e
}

// errorLine matches the first line of an error in a game session log. Its stack follows on separate lines.
var errorLine = lazy.Regexp(`(?m)^(\d\d \w+ \d{4} \d\d:\d\d:\d\d,\d{3}) \[(?:ERROR|FATAL|CXFATAL)\] \((.*?)\) (\d+): (.*)$`)

// hostsWords matches the host's own messages about a script failure. All other lines come from the script.
var hostsWords = lazy.Regexp(`^(Error in |Uncaught error|Unhandled promise rejection)`)

// headMax bounds the bytes read of each log.
const headMax = 4 << 20

// head returns the beginning of a file.
func head(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, headMax))
	return text
}

// firstMax bounds First, in characters.
const firstMax = 300

// errorsIn scans the logs of all game sessions in a folder. It ignores files that cannot be read, because the result
// only supplements an error report.
func errorsIn(dir string) (e ScriptErrors) {
	var first time.Time
	best := false // First is one of the host's messages
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		text := head(path)
		for _, m := range errorLine().FindAllSubmatch(text, -1) {
			// lines of script.HostFile only report that the host ends the game session because of an earlier error
			if string(m[2]) != script.HostFile {
				e.Count++
			}
			at, err := time.Parse("02 January 2006 15:04:05,000", string(m[1]))
			hosts := hostsWords().Match(m[4])
			if err != nil || e.First != "" && (hosts == best && !at.Before(first) || best && !hosts) {
				continue
			}
			first, best = at, hosts
			e.First = cut(fmt.Sprintf("%s:%s: %s", m[2], m[3], bytes.TrimSpace(m[4])), firstMax)
		}
		return nil
	})
	if e.First != "" {
		e.Count = max(e.Count, 1)
	}
	return e
}

// cut truncates text to a number of characters.
func cut(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + " ..."
	}
	return text
}
