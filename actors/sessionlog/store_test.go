package sessionlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/actorstest/assert"
	"troupe/actors/script"
	"troupe/messages"
	"troupe/messages/counters"
)

func open(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	s := assert.Value(Open(dir, o))(t)
	t.Cleanup(s.Close)
	return s
}

func line(text string) script.Line {
	return script.Line{Time: time.Now(), Level: script.LevelInfo, File: "main.js", Row: 1, Text: text}
}

func read(t *testing.T, s *Store, id messages.GameSessionID) string {
	t.Helper()
	<-s.scanned
	s.mu.Lock()
	l := s.logs[id]
	s.mu.Unlock()
	for range 30 { // Read waits only one second, which may not be enough for the disk of a busy machine
		if l != nil {
			s.awaitWritten(l)
		}
	}
	r, err := s.Read(id)
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	return string(text)
}

// texts returns the numbers at the ends of the lines, and -n for n missing lines.
func texts(t *testing.T, log string) (all []int) {
	t.Helper()
	missing := regexp.MustCompile(`\[WARN\] \(troupe\) 0: (\d+) lines? (?:is|are) missing`)
	for l := range strings.Lines(log) {
		if m := missing.FindStringSubmatch(l); m != nil {
			n, _ := strconv.Atoi(m[1])
			all = append(all, -n)
			continue
		}
		_, text, ok := strings.Cut(strings.TrimSuffix(l, "\n"), "main.js) 1: ")
		n, err := strconv.Atoi(strings.TrimRight(text, " ."))
		if !ok || err != nil || !strings.HasSuffix(l, "\n") {
			t.Fatalf("torn line %q", l)
		}
		all = append(all, n)
	}
	return all
}

// inOrder checks that lines are consecutive, except for lines that are reported as missing. It returns the first number
// and the number after the last one.
func inOrder(t *testing.T, log string) (first, next int) {
	t.Helper()
	all := texts(t, log)
	if len(all) == 0 {
		t.Fatal("nothing")
	}
	first, next = all[0], all[0]
	for _, n := range all {
		switch {
		case n < 0:
			next -= n
		case n != next:
			t.Fatalf("line %d where %d was due", n, next)
		default:
			next++
		}
	}
	return first, next
}

func padded(n, size int) string {
	s := strconv.Itoa(n) + " "
	return s + strings.Repeat(".", max(0, size-len(s)))
}

func TestLogIsThereWhileItIsWrittenAndAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, t.TempDir(), Options{})
		if _, err := s.Read("a"); !errors.Is(err, fs.ErrNotExist) || s.Has("a") || len(s.List()) != 0 {
			t.Errorf("a log of nothing: %v", err)
		}
		k, other := s.Open("a"), s.Open("b")
		if got := texts(t, read(t, s, "a")); len(got) != 0 || !s.Has("a") || len(s.List()) != 2 {
			t.Errorf("before the first line: %v", got)
		}
		other.Write(line("7"))
		k.Write(line("0"))
		if got := texts(t, read(t, s, "a")); len(got) != 1 || got[0] != 0 {
			t.Errorf("%v", got)
		}
		k.Write(line("1"))
		k.Close()
		k.Close()
		k.Write(line("late"))
		if first, next := inOrder(t, read(t, s, "a")); first != 0 || next != 2 {
			t.Errorf("%d to %d", first, next)
		}
		list := s.List()
		if len(list) != 2 || list[0].ID != "b" || !list[0].Ended.IsZero() || list[1].ID != "a" || list[1].Ended.IsZero() || list[1].Bytes == 0 || !s.Has("a") {
			t.Errorf("%+v", list)
		}
		for _, id := range []messages.GameSessionID{"", messages.GameSessionID(strings.Repeat("x", idMax+1))} {
			k := s.Open(id)
			k.Write(line("0"))
			k.Close()
		}
		s.Open("silent").Close()
		time.Sleep(time.Second)
		if len(s.List()) != 2 || s.Has("silent") {
			t.Errorf("%+v", s.List())
		}
	})
}

func TestLinesAreWrittenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := open(t, dir, Options{})
		k := s.Open("a")
		k.Write(line("0"))
		synctest.Wait()
		assert.Equal(t, "bytes before it gathered", diskBytes(t, dir), 0)
		time.Sleep(flushEvery)
		synctest.Wait()
		if n := diskBytes(t, dir); n == 0 {
			t.Error("nothing after the time to gather")
		}
	})
}

func diskBytes(t *testing.T, dir string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			info, err := d.Info()
			if err == nil {
				n += info.Size()
			}
		}
		return err
	})
	assert.NoError(t, err)
	return n
}

func TestFilesRotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := open(t, dir, Options{fileBytes: 64 << 10, files: 3})
		k := s.Open("a")
		for i := range 400 {
			k.Write(line(padded(i, 1000)))
			if i%10 == 9 {
				time.Sleep(flushEvery + time.Millisecond) // not in step with the writer
			}
		}
		time.Sleep(time.Second)
		first, next := inOrder(t, read(t, s, "a"))
		if next != 400 || first < 200 || first > 280 {
			t.Errorf("lines %d to %d are kept", first, next)
		}
		if n := diskBytes(t, dir); n > 3*64<<10 || n < 2*64<<10 || n != s.List()[0].Bytes {
			t.Errorf("%d bytes on disk", n)
		}
	})
}

func TestLinesThatComeTooFastAreDroppedAndReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		count := new(counters.Set)
		s := open(t, t.TempDir(), Options{Counters: count})
		fast, calm := s.Open("fast"), s.Open("calm")
		for i := range 1000 {
			fast.Write(line(padded(i, 1000)))
		}
		calm.Write(line("0"))
		time.Sleep(time.Second)
		fast.Write(line("1000"))
		time.Sleep(time.Second)
		log := read(t, s, "fast")
		if first, next := inOrder(t, log); first != 0 || next != 1001 {
			t.Errorf("%d to %d", first, next)
		}
		if n := count.LogLinesDropped.Load(); n < 700 || !strings.Contains(log, fmt.Sprint(n, " lines are missing")) {
			t.Errorf("%d counted as dropped", n)
		}
		if got := texts(t, read(t, s, "calm")); len(got) != 1 {
			t.Errorf("the calm one suffers: %v", got)
		}
	})
}

func TestAllLogsTogetherAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		const total = 1 << 20
		s := open(t, dir, Options{fileBytes: 64 << 10, totalBytes: total})
		for i := range 20 {
			k := s.Open(messages.GameSessionID(fmt.Sprint("ended-", i)))
			for j := range 100 {
				k.Write(line(padded(j, 1000)))
				if j%25 == 24 {
					time.Sleep(flushEvery)
				}
			}
			k.Close()
			time.Sleep(time.Second)
		}
		if n := diskBytes(t, dir); n > total || n < total/2 {
			t.Errorf("%d bytes", n)
		}
		if s.Has("ended-0") || !s.Has("ended-19") {
			t.Error("not the oldest went first")
		}
		// No more ended logs are left, so the logs of running game sessions make room for each other.
		var running []script.Sink
		for i := range 30 {
			k := s.Open(messages.GameSessionID(fmt.Sprint("runs-", i)))
			running = append(running, k)
			for j := range 60 {
				k.Write(line(padded(j, 1000)))
				if j%25 == 24 {
					time.Sleep(flushEvery)
				}
			}
		}
		time.Sleep(time.Second)
		if n := diskBytes(t, dir); n > total || n < total/2 {
			t.Errorf("%d bytes", n)
		}
		for i, k := range running {
			k.Write(line("60"))
			time.Sleep(flushEvery)
			if got := texts(t, read(t, s, messages.GameSessionID(fmt.Sprint("runs-", i)))); got[len(got)-1] != 60 {
				t.Errorf("runs-%d ends with %d", i, got[len(got)-1])
			}
		}
	})
}

func TestLogsAreKeptForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := open(t, dir, Options{})
		long := messages.GameSessionID(strings.Repeat("A/", 300))
		ended, runs, late := s.Open(long), s.Open("runs"), s.Open("late")
		for _, k := range []script.Sink{ended, runs, late} {
			k.Write(line("0"))
		}
		ended.Close()
		time.Sleep(13 * 24 * time.Hour)
		late.Close()
		if !s.Has(long) {
			t.Error("gone too early")
		}
		time.Sleep(25 * time.Hour)
		synctest.Wait()
		if s.Has(long) || !s.Has("runs") || !s.Has("late") {
			t.Errorf("%+v", s.List())
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 2 {
			t.Errorf("left: %v %v", entries, err)
		}
	})
}

func TestTheNumberOfLogsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, t.TempDir(), Options{logsMax: 20})
		for i := range 50 {
			k := s.Open(messages.GameSessionID(fmt.Sprint("g-", i)))
			k.Write(line("0"))
			k.Close()
			time.Sleep(time.Second)
		}
		if n := len(s.List()); n > 20 || n < 15 || !s.Has("g-49") {
			t.Errorf("%d logs", n)
		}
	})
}

func TestNextProcessFindsTheFiles(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, Options{fileBytes: 64 << 10})
	const id, other = "arn:aws:gamelift:us-east-1::gamesession/fleet-A/Token", "arn:aws:gamelift:us-east-1::gamesession/fleet-A/token"
	k := first.Open(id)
	for i := range 30 {
		k.Write(line(padded(i, 1000)))
	}
	o := first.Open(other)
	o.Write(line("0"))
	o.Close()
	first.Close()
	k.Write(line("late"))
	k.Close()

	for _, name := range []string{"s-x.log", "s-x.0.log", "notes.txt", "s-arn_3A.1.log", "x.1.log"} {
		assert.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("?"), 0o600))
	}
	second := open(t, dir, Options{fileBytes: 64 << 10})
	if list := second.List(); len(list) != 2 || list[0].Ended.IsZero() || list[1].Ended.IsZero() {
		t.Errorf("%+v", list)
	}
	if _, next := inOrder(t, read(t, second, id)); next != 30 {
		t.Errorf("%d lines", next)
	}
	// The same id appends to the existing log.
	again := second.Open(id)
	for i := range 30 {
		again.Write(line(padded(30+i, 1000)))
	}
	if _, next := inOrder(t, read(t, second, id)); next != 60 {
		t.Errorf("%d lines", next)
	}
	again.Close()
	second.Close()

	old := time.Now().Add(-15 * 24 * time.Hour)
	b, _ := base(other)
	assert.NoError(t, os.Chtimes(filepath.Join(dir, file(b, 1)), old, old))
	third := open(t, dir, Options{fileBytes: 64 << 10})
	k = third.Open("quiet")
	k.Write(line("0"))
	_ = read(t, third, "quiet")
	if third.Has(other) || !third.Has(id) {
		t.Errorf("%+v", third.List())
	}
	// The age counts from the end of the game session, not from its last line.
	assert.NoError(t, os.Chtimes(filepath.Join(dir, file("s-quiet", 1)), old, old))
	k.Close()
	third.Close()
	fourth := open(t, dir, Options{})
	k = fourth.Open("x")
	k.Write(line("0"))
	_ = read(t, fourth, "x")
	if !fourth.Has("quiet") {
		t.Errorf("%+v", fourth.List())
	}
}

// A folder that cannot be read does not hide the logs next to it. The test uses a path that is too long, because root
// ignores permissions.
func TestAFolderThatCannotBeReadHidesNoOther(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, Options{})
	k := first.Open("a")
	k.Write(line("0"))
	k.Close()
	first.Close()
	deep, err := os.OpenRoot(dir)
	for range 20 {
		assert.NoError(t, err)
		name := "d-" + strings.Repeat("d", 250) // sorts before s-a
		assert.NoError(t, deep.Mkdir(name, 0o700))
		up := deep
		deep, err = up.OpenRoot(name)
		up.Close()
	}
	assert.NoError(t, err)
	deep.Close()
	var host bytes.Buffer
	s := open(t, dir, Options{Log: zerolog.New(&host)})
	if got := texts(t, read(t, s, "a")); len(got) != 1 {
		t.Errorf("%v", got)
	}
	if n := strings.Count(host.String(), "\n"); runtime.GOOS == "linux" && n != 1 {
		t.Errorf("%d warnings: %s", n, host.String())
	}
}

func TestFolderThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		place := filepath.Join(t.TempDir(), "logs")
		assert.NoError(t, os.WriteFile(place, nil, 0o600))
		var host bytes.Buffer
		count := new(counters.Set)
		s := open(t, place, Options{Log: zerolog.New(&host), Counters: count})
		<-s.scanned
		host.Reset() // discard what it logs about earlier events
		k := s.Open("a")
		for i := range 5 {
			k.Write(line(strconv.Itoa(i)))
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if n := strings.Count(host.String(), "\n"); n != 1 || !strings.Contains(host.String(), "cannot be written") {
			t.Errorf("%d warnings: %s", n, host.String())
		}
		assert.Equal(t, "dropped", count.LogLinesDropped.Load(), 5)
		if got := texts(t, read(t, s, "a")); len(got) != 0 {
			t.Errorf("read: %v", got)
		}
		assert.NoError(t, os.Remove(place))
		k.Write(line("5"))
		time.Sleep(time.Second)
		if got := texts(t, read(t, s, "a")); len(got) != 2 || got[0]+got[1] != 0 {
			t.Errorf("%v", got) // 5 lines, and 5 that are missing
		}
	})
}

// A disk that becomes full in the middle of a batch leaves no incomplete lines.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here: ", err)
	}
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		b, _ := base("a")
		assert.NoError(t, os.Symlink("/dev/full", filepath.Join(dir, file(b, 1))))
		count := new(counters.Set)
		s := open(t, dir, Options{Counters: count})
		k := s.Open("a")
		k.Write(line("0"))
		time.Sleep(time.Second)
		assert.NoError(t, os.Remove(filepath.Join(dir, file(b, 1))))
		k.Write(line("1"))
		time.Sleep(time.Second)
		if got := texts(t, read(t, s, "a")); len(got) != 2 || got[1] != -1 || count.LogLinesDropped.Load() != 1 {
			t.Errorf("%v, %d dropped", got, count.LogLinesDropped.Load())
		}
	})
}

func TestFewFilesAreOpen(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("counts descriptors in /proc")
	}
	descriptors := func() int {
		all := assert.Value(os.ReadDir("/proc/self/fd"))(t)
		return len(all)
	}
	before := descriptors()
	s := open(t, t.TempDir(), Options{openMax: 10})
	sinks := make([]script.Sink, 500)
	for i := range sinks {
		sinks[i] = s.Open(messages.GameSessionID(fmt.Sprint("g-", i)))
	}
	for round := range 3 {
		for _, k := range sinks {
			k.Write(line(strconv.Itoa(round)))
		}
		_ = read(t, s, "g-499")
	}
	if n := descriptors() - before; n > 12 {
		t.Errorf("%d descriptors more than before", n)
	}
	for i := range sinks {
		if _, next := inOrder(t, read(t, s, messages.GameSessionID(fmt.Sprint("g-", i)))); next != 3 {
			t.Errorf("g-%d has %d lines", i, next)
		}
		sinks[i].Close()
	}
	s.Close()
	if n := descriptors() - before; n > 2 {
		t.Errorf("%d descriptors are left", n)
	}
}

func TestFollowEnds(t *testing.T) {
	for name, end := range map[string]func(s *Store, k script.Sink, cancel func()){
		"with the game session": func(_ *Store, k script.Sink, _ func()) { k.Close() },
		"with the store":        func(s *Store, _ script.Sink, _ func()) { s.Close() },
		"with its context":      func(_ *Store, _ script.Sink, cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := open(t, t.TempDir(), Options{fileBytes: 64 << 10})
				k := s.Open("a")
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				r := assert.Value(s.Follow(ctx, "a"))(t) // before the first line is written
				defer r.Close()
				var got bytes.Buffer
				var failure error
				over := make(chan struct{})
				go func() {
					defer close(over)
					_, failure = io.Copy(&got, r)
				}()
				for i := range 200 {
					k.Write(line(padded(i, 1000)))
					if i%10 == 9 {
						time.Sleep(flushEvery)
					}
				}
				time.Sleep(time.Minute)
				select {
				case <-over:
					t.Fatal("it has ended by itself")
				default:
				}
				end(s, k, cancel)
				<-over
				if _, next := inOrder(t, got.String()); next != 200 {
					t.Errorf("%d lines", next)
				}
				if canceled := errors.Is(failure, context.Canceled); failure != nil && !canceled || canceled != (ctx.Err() != nil) {
					t.Errorf("end: %v", failure)
				}
			})
		})
	}
}

func TestCloseEndsEveryFollow(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, t.TempDir(), Options{})
			k := s.Open("a")
			k.Write(line("1"))
			var all sync.WaitGroup
			for range 50 {
				r, err := s.Follow(t.Context(), "a")
				assert.NoError(t, err)
				all.Go(func() {
					defer r.Close()
					if _, err := io.Copy(io.Discard, r); err != nil {
						t.Error(err)
					}
				})
			}
			synctest.Wait() // each of them waits for more lines
			s.Close()
			all.Wait()
		})
	}
}

// With many writers and readers in real time, no line is torn, out of order, or missing without a report.
func TestManyWritersAndReaders(t *testing.T) {
	s := open(t, t.TempDir(), Options{fileBytes: 64 << 10, files: 64, openMax: 4})
	const games, lines = 16, 400
	var all sync.WaitGroup
	for g := range games {
		id := messages.GameSessionID(fmt.Sprint("g-", g))
		k := s.Open(id)
		all.Go(func() {
			for i := range lines {
				k.Write(line(padded(i, 500)))
				if i%50 == 0 {
					runtime.Gosched()
				}
			}
			k.Close()
		})
		all.Go(func() {
			r, err := s.Follow(t.Context(), id)
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Close()
			text, err := io.ReadAll(r)
			if err != nil {
				t.Error(err)
				return
			}
			all := texts(t, string(text))
			next := 0
			for _, n := range all {
				if n < 0 {
					next -= n
				} else if n == next {
					next++
				}
			}
			if next != lines {
				t.Errorf("%s: %d lines", id, next)
			}
		})
	}
	all.Wait()
}
