package child

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

const (
	lineMax = 8 << 10 // maximum length of a line of a child's output in bytes; the rest of a longer line is cut off
	// linesPerSecond and linesBurst limit the lines of one stream. Excess lines are dropped.
	linesPerSecond = 200
	linesBurst     = 1000
	tailMax        = 10 // when the stream ends, up to this many of the dropped last lines are logged after all
)

// Lines reads the output of a child on one stream, line by line.
type Lines struct {
	Write   func(text string) // gets each line that is not dropped
	LeftOut func(text string) // gets what to say about dropped lines
	Seen    func(text string) // gets each line before Write; nil: nobody asks
	Dropped *atomic.Int64     // total number of dropped lines

	limiter *rate.Limiter
	gap     int      // lines dropped since the last written line
	tail    []string // the last of the dropped lines
}

// Run reads until r ends.
func (l *Lines) Run(r io.Reader) {
	l.limiter = rate.NewLimiter(linesPerSecond, linesBurst)
	buf := make([]byte, 0, 256)
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

func (l *Lines) line(b []byte) {
	b = bytes.TrimRight(b, "\r")
	text := string(bytes.ToValidUTF8(b, []byte("\ufffd")))
	if len(b) >= lineMax {
		text += " ..."
	}
	if l.Seen != nil {
		l.Seen(text)
	}
	if !l.limiter.AllowN(time.Now(), 1) {
		l.gap++
		l.Dropped.Add(1)
		if l.tail = append(l.tail, text); len(l.tail) > tailMax {
			l.tail = slices.Delete(l.tail, 0, 1)
		}
		return
	}
	if l.gap > 0 {
		l.leftOut(l.gap)
		l.gap, l.tail = 0, l.tail[:0]
	}
	l.Write(text)
}

func (l *Lines) leftOut(n int) {
	l.LeftOut(fmt.Sprintf("%d lines are left out: a process may print %d per second", n, linesPerSecond))
}

// end writes the last lines if they were dropped, because they may tell why the process ended.
func (l *Lines) end() {
	if left := l.gap - len(l.tail); left > 0 {
		l.leftOut(left)
	}
	for _, text := range l.tail {
		l.Write(text)
	}
}
