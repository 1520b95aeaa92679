package result

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	drawEvery = 200 * time.Millisecond
	barWidth  = 20
)

// Progress shows how a long run goes: on a terminal one line that is drawn over and over, with a bar, the time that is left and
// figures of the moment; elsewhere a plain line when a part begins or ends. It shows one run at a time. Its methods may be called from any goroutine; Close ends it and must be called.
type Progress struct {
	w     io.Writer
	width func() int // columns of the terminal; nil: it is none

	mu       sync.Mutex // guards what follows, and writing
	title    string
	what     string
	number   int
	of       int
	about    time.Duration // of the part, at first by what the run says
	began    time.Time     // the part
	started  time.Time     // the first part
	done     int           // parts that have ended
	live     string
	drawn    bool
	finished bool

	stop    chan struct{}
	stopped chan struct{}
}

// NewProgress returns a Progress that writes to w. width returns the columns of the terminal that w is; nil means that it is none.
func NewProgress(w io.Writer, width func() int) *Progress {
	s := &Progress{w: w, width: width, stop: make(chan struct{}), stopped: make(chan struct{})}
	if width == nil {
		close(s.stopped)
		return s
	}
	go s.redraw()
	return s
}

func (s *Progress) redraw() {
	defer close(s.stopped)
	ticker := time.NewTicker(drawEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
			s.mu.Lock()
			s.draw()
			s.mu.Unlock()
		}
	}
}

// Title names what the parts to come are of.
func (s *Progress) Title(title string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.title, s.done, s.started, s.of = title, 0, time.Time{}, 0
}

// Begin begins a part: its number from 0, of how many, and about how long it takes.
func (s *Progress) Begin(what string, number, of int, about time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.what, s.number, s.of, s.live, s.began, s.finished = what, number, of, "", time.Now(), false
	if s.started.IsZero() {
		s.started, s.about = s.began, about
	}
	if s.width == nil {
		s.line(fmt.Sprintf("%s, about %v left", what, s.left().Round(time.Second)))
		return
	}
	s.draw()
}

// Live shows figures of the moment; where there is no terminal they are left out.
func (s *Progress) Live(figures string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live = figures
}

// End ends the part and prints its figures in a line that stays.
func (s *Progress) End(figures string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done++
	s.about = time.Since(s.started) / time.Duration(s.done) // better than what was thought
	s.finished = true
	s.clear()
	s.line(s.what + ": " + figures)
}

// Pause clears the line while something else writes to the terminal.
func (s *Progress) Pause(write func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	s.of = 0
	write()
}

// Close ends the show, and leaves the terminal at the start of a line.
func (s *Progress) Close() {
	select {
	case <-s.stop:
	default:
		close(s.stop)
	}
	<-s.stopped
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
}

func (s *Progress) line(text string) {
	if s.title != "" {
		text = s.title + ": " + text
	}
	fmt.Fprintln(s.w, text)
}

// left is the time until all parts have ended.
func (s *Progress) left() time.Duration {
	passed := time.Since(s.began)
	if s.finished {
		passed = s.about
	}
	return max(s.about-passed, 0) + time.Duration(s.of-s.number-1)*s.about
}

// share is how much of all parts is done.
func (s *Progress) share() float64 {
	part := 1.0
	if !s.finished && s.about > 0 {
		part = min(float64(time.Since(s.began))/float64(s.about), 1)
	}
	return (float64(s.number) + part) / float64(max(s.of, 1))
}

// draw writes the line over the one before.
func (s *Progress) draw() {
	if s.width == nil || s.of == 0 {
		return
	}
	full := int(s.share()*barWidth + 0.5)
	text := fmt.Sprintf("%s [%s%s] %3.0f %%, %v left, %s", s.title, strings.Repeat("#", full), strings.Repeat(".", barWidth-full),
		100*s.share(), s.left().Round(time.Second), s.what)
	if s.live != "" {
		text += ": " + s.live
	}
	s.drawn = true
	fmt.Fprint(s.w, "\r"+cut(text, s.width()-1)+"\x1b[K")
}

func (s *Progress) clear() {
	if s.drawn {
		fmt.Fprint(s.w, "\r\x1b[K")
	}
	s.drawn = false
}

// cut shortens a text to so many characters.
func cut(text string, most int) string {
	if most < 1 || utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most])
}
