package script

import (
	"fmt"
	"path"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Level is the severity of a log line (realtime.md 18.1).
type Level uint8

// The levels, by increasing severity.
const (
	LevelDebug Level = iota + 1
	LevelInfo
	LevelWarn
	LevelError
	LevelFatal
	LevelCXFatal
)

var levelNames = [...]string{LevelDebug: "DEBUG", LevelInfo: "INFO", LevelWarn: "WARN", LevelError: "ERROR", LevelFatal: "FATAL", LevelCXFatal: "CXFATAL"}

// String returns the level as it appears in log lines.
func (l Level) String() string {
	if int(l) < len(levelNames) && l > 0 {
		return levelNames[l]
	}
	return fmt.Sprintf("Level(%d)", uint8(l))
}

// LevelOf returns the threshold in a fleet's launch parameters: a word loggingLevel:LEVEL, in upper or lower
// case. Without such a word it returns LevelInfo.
func LevelOf(launchParameters string) Level {
	for _, word := range strings.Fields(launchParameters) {
		name, ok := strings.CutPrefix(strings.ToLower(word), "logginglevel:")
		if !ok {
			continue
		}
		for l, s := range levelNames {
			if s != "" && strings.EqualFold(s, name) {
				return Level(l)
			}
		}
	}
	return LevelInfo
}

// Line is a line of a game session's log.
type Line struct {
	Time  time.Time
	Level Level
	File  string // name of the source file, without directories
	Row   int    // line number in File, from 1; 0 if unknown
	Text  string
	Echo  bool // the host's own log contains the same message
}

// HostFile is the File of lines that the host itself writes to a game session's log.
const HostFile = "host"

// String formats the line as the original does (realtime.md 18.1), without a newline.
func (l Line) String() string {
	return fmt.Sprintf("%s,%03d [%s] (%s) %d: %s", l.Time.Format("02 January 2006 15:04:05"), l.Time.Nanosecond()/1e6, l.Level, l.File, l.Row, l.Text)
}

// Sink receives the log lines of one game session. Write must not block and must be safe for concurrent use.
// Close is called once, last.
type Sink interface {
	Write(Line)
	Close()
}

// HeldLinesMax is how many lines a Held stores before it has a sink. Further lines are dropped.
const HeldLinesMax = 1000

// Held is the sink of a process that has no game session yet. It stores the lines until Pass. It is safe for
// concurrent use.
type Held struct {
	mu    sync.Mutex
	lines []Line
	sink  Sink
	over  bool
}

// Write implements Sink.
func (h *Held) Write(l Line) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.sink != nil:
		h.sink.Write(l)
	case len(h.lines) < HeldLinesMax && !h.over:
		h.lines = append(h.lines, l)
	}
}

// Pass writes the stored lines and all later ones to sink. Closing h then closes sink, too. It must be called
// at most once.
func (h *Held) Pass(sink Sink) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.lines {
		sink.Write(l)
	}
	if h.lines, h.sink = nil, sink; h.over {
		sink.Close()
	}
}

// Close implements Sink.
func (h *Held) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over = true; h.sink != nil {
		h.sink.Close()
	}
}

// Log is the log of one game session, to which the script and the host write. It is safe for concurrent use.
// A nil Log discards all lines.
type Log struct {
	sink      Sink
	threshold Level
	now       func() time.Time
}

// NewLog returns a log that writes lines at or above threshold to sink. If now is nil, it uses time.Now.
func NewLog(sink Sink, threshold Level, now func() time.Time) *Log {
	if now == nil {
		now = time.Now
	}
	return &Log{sink: sink, threshold: threshold, now: now}
}

// Enabled reports whether lines at this level are written.
func (l *Log) Enabled(level Level) bool { return l != nil && level >= l.threshold }

// Threshold returns the lowest level that is written.
func (l *Log) Threshold() Level {
	if l == nil {
		return LevelCXFatal + 1
	}
	return l.threshold
}

// At writes a line with the given source position.
func (l *Log) At(level Level, file string, row int, text string) {
	if l.Enabled(level) {
		l.sink.Write(Line{Time: l.now(), Level: level, File: file, Row: row, Text: text})
	}
}

// Host writes a line of the host itself, without a source position in the game.
func (l *Log) Host(level Level, args ...any) { l.host(level, false, args) }

// HostToo writes a line of the host itself that is also in the host's own log.
func (l *Log) HostToo(level Level, args ...any) { l.host(level, true, args) }

func (l *Log) host(level Level, echo bool, args []any) {
	if l.Enabled(level) {
		l.sink.Write(Line{Time: l.now(), Level: level, File: HostFile, Text: printed(args), Echo: echo})
	}
}

// printed formats arguments like fmt.Sprintln, but without the newline.
func printed(args []any) string { return strings.TrimSuffix(fmt.Sprintln(args...), "\n") }

// Close closes the sink.
func (l *Log) Close() {
	if l != nil {
		l.sink.Close()
	}
}

// Debug writes a line with the position of its caller. The other five methods do the same at their levels;
// none of them ends the process.
func (l *Log) Debug(args ...any)   { l.write(LevelDebug, args) }
func (l *Log) Info(args ...any)    { l.write(LevelInfo, args) }
func (l *Log) Warn(args ...any)    { l.write(LevelWarn, args) }
func (l *Log) Error(args ...any)   { l.write(LevelError, args) }
func (l *Log) Fatal(args ...any)   { l.write(LevelFatal, args) }
func (l *Log) CXFatal(args ...any) { l.write(LevelCXFatal, args) }

func (l *Log) write(level Level, args []any) {
	if l.Enabled(level) {
		_, file, row, _ := runtime.Caller(2)
		l.At(level, path.Base(file), row, printed(args))
	}
}
