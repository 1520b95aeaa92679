package host

import (
	"io"
	"os"
	"path"
	"runtime/debug"
	"strings"

	"github.com/rs/zerolog"
)

// Suffixes of two files beside the store. The Go runtime writes its report to the first when this process
// crashes. The second has the report of the last process that crashed.
const (
	crashSuffix     = ".crash"
	lastCrashSuffix = ".crash.last"
	// crashReadMax is the number of bytes of a report that are read, crashShown the number of bytes that are
	// shown.
	crashReadMax = 64 << 10
	crashShown   = 200
)

// lastCrash returns the reason if the previous process crashed, or "". It also makes the runtime write the
// crash report of this process to a file beside the store. The store must be open, because that excludes
// other processes. Errors are only logged.
func (c *Store) lastCrash(log zerolog.Logger) (why string) {
	name := c.Path + crashSuffix
	if why = crashIn(name); why != "" {
		if err := os.Rename(name, c.Path+lastCrashSuffix); err != nil {
			log.Warn().Err(err).Msg("the report of a crash cannot be kept")
		}
		log.Error().Str("why", why).Str("report", c.Path+lastCrashSuffix).Msg("the process of this host before this one crashed")
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err == nil {
		err = debug.SetCrashOutput(f, debug.CrashOptions{})
		f.Close() // the runtime has duplicated the file descriptor
	}
	if err != nil {
		log.Warn().Err(err).Msg("a crash of the host will leave no report")
	}
	return why
}

// crashIn returns the line of a report that names the reason, or "" if there is no report. Stacks that
// SIGQUIT or SIGABRT printed are not a crash.
func crashIn(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, crashReadMax))
	var frames []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case len(frames) == 0 && (strings.HasPrefix(line, "SIGQUIT: ") || strings.HasPrefix(line, "SIGABRT: ")):
			return ""
		case strings.HasPrefix(line, "fatal error: "), strings.HasPrefix(line, "panic: "), len(frames) == 0 && strings.HasPrefix(line, "SIG"):
			return shown(line)
		case line != "" && line[0] != '\t' && !strings.HasPrefix(line, "runtime") && !strings.HasPrefix(line, "goroutine ") && !strings.HasPrefix(line, "created by "):
			frames = append(frames, line)
		}
	}
	switch { // the report of a fatal error has only the stack
	case len(frames) > 0:
		where, _, _ := strings.Cut(path.Base(frames[0]), "({") // cut off the arguments
		return "fatal error in " + shown(where)
	case len(text) > 0:
		return "fatal error"
	}
	return ""
}

func shown(line string) string { return strings.ToValidUTF8(line[:min(len(line), crashShown)], "") }

// endCrashOutput removes the crash report file after an orderly stop. unheard means that the start failed
// before the fleets got the reason of the last crash; then that report is kept for the next start. The store
// must still be open.
func (c *Store) endCrashOutput(unheard bool) {
	_ = debug.SetCrashOutput(nil, debug.CrashOptions{})
	_ = os.Remove(c.Path + crashSuffix)
	if unheard {
		_ = os.Rename(c.Path+lastCrashSuffix, c.Path+crashSuffix)
	}
}
