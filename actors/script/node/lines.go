package node

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"troupe/actors/script"
)

const (
	lineMax = 8 << 10 // maximum length of a line of a child's output in bytes; the rest of a longer line is cut off
	// linesPerSecond and linesBurst limit the lines of one stream. Excess lines are dropped.
	linesPerSecond = 200
	linesBurst     = 1000
	tailMax        = 10 // when the stream ends, up to this many of the dropped last lines are logged after all
)

// lines logs the output of a child on one stream to the game session's log.
type lines struct {
	stream  string // name of the stream, used as the source of the lines
	level   script.Level
	write   func(level script.Level, file string, row int, text string)
	dropped *atomic.Int64 // total number of dropped lines
	limiter *rate.Limiter

	gap   int      // lines dropped since the last logged line
	tail  []string // the last of the dropped lines
	fatal string   // last line that reports a fatal error of node itself
}

func (l *lines) run(r io.Reader) {
	l.limiter = rate.NewLimiter(linesPerSecond, linesBurst)
	buf := make([]byte, 0, lineMax)
	chunk := make([]byte, 4<<10)
	for {
		n, err := r.Read(chunk)
		for rest := chunk[:n]; len(rest) > 0; {
			line, after, end := bytes.Cut(rest, []byte("\n"))
			buf = append(buf, line[:min(len(line), lineMax-len(buf))]...)
			if end {
				l.line(buf)
				buf = buf[:0]
			}
			rest = after
		}
		if err != nil {
			break
		}
	}
	if len(buf) > 0 {
		l.line(buf)
	}
	l.end()
}

func (l *lines) line(b []byte) {
	b = bytes.TrimRight(b, "\r")
	text := string(bytes.ToValidUTF8(b, []byte("\ufffd")))
	if len(b) >= lineMax {
		text += " ..."
	}
	if bytes.HasPrefix(b, []byte("FATAL ERROR:")) {
		l.fatal = text
	}
	if !l.limiter.AllowN(time.Now(), 1) {
		l.gap++
		l.dropped.Add(1)
		if l.tail = append(l.tail, text); len(l.tail) > tailMax {
			l.tail = slices.Delete(l.tail, 0, 1)
		}
		return
	}
	if l.gap > 0 {
		l.leftOut(l.gap)
		l.gap, l.tail = 0, l.tail[:0]
	}
	l.write(l.level, l.stream, 0, text)
}

func (l *lines) leftOut(n int) {
	l.write(script.LevelWarn, l.stream, 0, fmt.Sprintf("%d lines are left out: a script may print %d per second", n, linesPerSecond))
}

// end logs the last lines if they were dropped, because they may tell why the process ended.
func (l *lines) end() {
	if left := l.gap - len(l.tail); left > 0 {
		l.leftOut(left)
	}
	for _, text := range l.tail {
		l.write(l.level, l.stream, 0, text)
	}
}
