package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"troupe/actors/script"
)

// ScriptErrors is what the scripts of a host did wrong.
type ScriptErrors struct {
	Count int64
	// First is the first of them, one line that begins with FILE:LINE. It is empty if no log of a game session has it.
	First string
	// Stuck: the host did not end when it was asked to, because a call of a script does not return.
	Stuck bool
}

// ScriptErrors ends a host that was started here and returns what its scripts did wrong: the counts of its metrics, and the first error in
// the logs of its game sessions, which are complete when the host has ended. Stop must still be called.
func (p *Process) ScriptErrors(ctx context.Context) (e ScriptErrors) {
	var counted int64 // more than the logs have: lines that come too fast are dropped
	known := true
	for _, name := range []string{"troupe_handler_errors_total", "troupe_script_errors_total"} {
		n, err := p.Metric(ctx, name) // a host that has crashed does not tell
		counted, known = counted+n, known && err == nil
	}
	killed := p.end()
	e = errorsIn(filepath.Join(p.dir, logsDir))
	if e.Stuck = killed; known { // a script may log errors that are none of its own
		e.Count = counted
	}
	return e
}

// errorLine is the first line of an error in the log of a game session; a stack follows in lines of their own.
var errorLine = regexp.MustCompile(`(?m)^(\d\d \w+ \d{4} \d\d:\d\d:\d\d,\d{3}) \[(?:ERROR|FATAL|CXFATAL)\] \((.*?)\) (\d+): (.*)$`)

// hostsWords are how the host says that a script has failed; other lines are the script's own.
var hostsWords = regexp.MustCompile(`^(Error in |Uncaught error|Unhandled promise rejection)`)

// headMax bounds what is read of each log.
const headMax = 4 << 20

// head is the beginning of a file.
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

// errorsIn looks through the logs of all game sessions in a folder. It is the last resort, so files that cannot be read have no errors.
func errorsIn(dir string) (e ScriptErrors) {
	var first time.Time
	best := false // First has the host's words
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		text := head(path)
		for _, m := range errorLine.FindAllSubmatch(text, -1) {
			if string(m[2]) != script.HostFile { // with such a line the host ends the game session because of an error before
				e.Count++
			}
			at, err := time.Parse("02 January 2006 15:04:05,000", string(m[1]))
			hosts := hostsWords.Match(m[4])
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

// cut cuts text after a number of characters.
func cut(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + " ..."
	}
	return text
}
