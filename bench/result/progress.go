package result

import (
	"fmt"
	"io"
	"time"
)

// Progress prints a line when a part of a long run begins or ends. It is not safe for concurrent use. A nil Progress
// prints nothing.
type Progress struct {
	w       io.Writer
	title   string
	what    string        // name of the current part
	about   time.Duration // estimated duration of a part: first the caller's estimate, then the average so far
	started time.Time     // start of the first part
	done    int           // number of completed parts
}

// NewProgress returns a Progress for a run with the given title.
func NewProgress(w io.Writer, title string) *Progress { return &Progress{w: w, title: title} }

// Begin starts a part. number is its index from 0, of is the number of parts, and about is its estimated duration.
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

// End ends the current part and prints its figures.
func (s *Progress) End(figures string) {
	if s == nil {
		return
	}
	s.done++
	s.about = time.Since(s.started) / time.Duration(s.done)
	fmt.Fprintf(s.w, "%s: %s: %s\n", s.title, s.what, figures)
}
