package result

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestPlainLinesWithoutATerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := NewProgress(&out, nil)
		s.Title("relay")
		s.Begin("round 1 of 2, bare", 0, 2, 10*time.Second)
		s.Live("not for a file")
		time.Sleep(20 * time.Second)
		s.End("CPU 3 us")
		s.Begin("round 2 of 2, bare", 1, 2, 10*time.Second)
		s.Close()
		s.Close()
		want := "relay: round 1 of 2, bare, about 20s left\nrelay: round 1 of 2, bare: CPU 3 us\nrelay: round 2 of 2, bare, about 20s left\n"
		if out.String() != want {
			t.Errorf("%q", out.String())
		}
	})
}

// locked is a writer for the goroutine that draws and the test.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.b.Reset()
	return l.b.String()
}

func TestOneLineOnATerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := new(locked)
		var columns atomic.Int64
		columns.Store(200)
		s := NewProgress(out, func() int { return int(columns.Load()) })
		s.Title("relay")
		s.Begin("round 1 of 1, bare", 0, 1, 10*time.Second)
		s.Live("96000/s")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		lines := strings.Split(out.take(), "\r")
		if got, want := lines[len(lines)-1], "relay [##########..........]  50 %, 5s left, round 1 of 1, bare: 96000/s\x1b[K"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if strings.Contains(strings.Join(lines, ""), "\n") {
			t.Error("more than one line")
		}
		columns.Store(30)
		time.Sleep(20 * time.Second) // longer than was thought
		synctest.Wait()
		lines = strings.Split(out.take(), "\r")
		if got := regexp.MustCompile("\x1b.*").ReplaceAllString(lines[len(lines)-1], ""); len(got) != 29 || !strings.HasPrefix(got, "relay [####################]") {
			t.Errorf("%q is not cut to the terminal", got)
		}
		s.End("CPU 3 us")
		s.Close()
		if got := out.take(); !strings.HasPrefix(got, "\r\x1b[Krelay: round 1 of 1, bare: CPU 3 us\n") {
			t.Errorf("at the end %q", got)
		}
	})
}
