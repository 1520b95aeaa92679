package result

import (
	"fmt"
	"io"
	"time"
)

// Progress prints a line when a part of a long run begins or ends. Its methods are for one goroutine; a nil Progress prints nothing.
type Progress struct {
	w       io.Writer
	title   string
	what    string        // the part
	about   time.Duration // a part takes: at first what the run says, then the average
	started time.Time     // the first part
	done    int           // parts that have ended
}

// NewProgress returns a Progress of a run with a title.
func NewProgress(w io.Writer, title string) *Progress { return &Progress{w: w, title: title} }

// Begin begins a part: its number from 0, of how many, and about how long it takes.
func (s *Progress) Begin(what string, number, of int, about time.Duration) {
	if s == nil {
		return
	}
	if s.started.IsZero() {
		s.started, s.about = time.Now(), about
	}
	s.what = what
	fmt.Fprintf(s.w, "%s: %s, about %v left\n", s.title, what, (time.Duration(of-number) * s.about).Round(time.Second))
}

// End ends the part, and prints its figures.
func (s *Progress) End(figures string) {
	if s == nil {
		return
	}
	s.done++
	s.about = time.Since(s.started) / time.Duration(s.done)
	fmt.Fprintf(s.w, "%s: %s: %s\n", s.title, s.what, figures)
}
