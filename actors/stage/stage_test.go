package stage_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/actorstest/assert"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/messages/counters"
)

func TestAwait(t *testing.T) {
	wrong := errors.New("wrong")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), sec)
		defer cancel()
		var late func(int, error)
		for name, c := range map[string]struct {
			ask  func(reply func(int, error))
			want int
			err  error
		}{
			"at once": {func(reply func(int, error)) { reply(1, nil); reply(2, nil) }, 1, nil},
			"later":   {func(reply func(int, error)) { go func() { time.Sleep(sec / 2); reply(3, nil) }() }, 3, nil},
			"error":   {func(reply func(int, error)) { reply(0, wrong) }, 0, wrong},
		} {
			if v, err := stage.Await(ctx, c.ask); v != c.want || err != c.err {
				t.Errorf("%s: %v, %v", name, v, err)
			}
		}
		start := time.Now()
		if _, err := stage.Await(ctx, func(reply func(int, error)) { late = reply }); err != context.DeadlineExceeded || time.Since(start) > sec {
			t.Errorf("never: %v after %v", err, time.Since(start))
		}
		late(9, nil) // a late reply must not block
		for range 50 {
			if v, err := stage.Await(ctx, func(reply func(int, error)) { reply(7, nil) }); v != 7 || err != nil {
				t.Fatalf("an answer that is there is lost: %v, %v", v, err)
			}
		}
	})
}

func TestAwaitRoom(t *testing.T) {
	bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
		ref := s.Stage.NewRef(counters.ActorProbe, stage.LaneLimits{MessagesMax: 100})
		hold := make(chan struct{})
		s.SpawnAt(ref, &probe{OnReceive: func(c *stage.Context, msg any) {
			switch msg {
			case 0:
				<-hold // the worker has taken 31 more messages
			case "stop":
				time.Sleep(sec)
				c.StopSelf()
			default:
				time.Sleep(ms)
			}
		}})
		synctest.Wait()
		fill := func() (n int) {
			for ; ref.Post(n, 0) == nil; n++ {
				synctest.Wait()
			}
			return n
		}
		if n := fill(); n < 100 || n > 132 {
			t.Errorf("%d messages fit", n)
		}
		assert.Equal(t, "overflows counted", s.Count.MailboxOverflow.Load(), 1)
		wait := func(limit time.Duration) (d time.Duration) {
			start := time.Now()
			ref.AwaitRoom(limit)
			return time.Since(start)
		}
		assert.Equal(t, "waited for though nothing moved", wait(sec), sec)
		woken := make(chan time.Duration, 5)
		start := time.Now()
		for range 5 {
			go func() { ref.AwaitRoom(time.Hour); woken <- time.Since(start) }()
		}
		synctest.Wait()
		close(hold)
		for range 5 {
			if d := <-woken; d > 200*ms {
				t.Errorf("woken after %v", d)
			}
		}
		if n := ref.Depth(); n > 50 || n == 0 {
			t.Errorf("%d wait when there is room", n)
		}
		assert.Equal(t, "waited for though there is room", wait(sec), 0)
		time.Sleep(sec)
		ref.Tell("stop")
		synctest.Wait()
		fill()
		assert.Equal(t, "waited for , not for the stop", wait(time.Hour), sec)
		assert.Equal(t, "waited for for a stopped actor", wait(time.Hour), 0)
	})
}

// A goroutine that has waited in AwaitRoom may post a message of any size.
func TestRoomIsRoomForAnyMessage(t *testing.T) {
	bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
		ref := s.Stage.NewRef(counters.ActorProbe, stage.LaneLimits{BytesMax: 100}) // not spawned yet
		for i, c := range []struct {
			size int
			want error
		}{{50, nil}, {70, nil}, {1, stage.ErrFull}} {
			if err := ref.Post(i, c.size); err != c.want {
				t.Errorf("%d: %v", i, err)
			}
		}
		p := new(probe)
		s.SpawnAt(ref, p)
		synctest.Wait()
		assert.NoError(t, ref.Post("huge", 1000))
		synctest.Wait()
		equal(t, "received", p.Take(), started, 0, 1, "huge")
	})
}

func TestNamesAndKinds(t *testing.T) {
	bubble(t, func(o *stage.Options) { o.Shards = 3 }, func(t *testing.T, s *stagetest.Stage) {
		seen := make(map[string]bool)
		for range 1000 {
			r := s.NewRef()
			if seen[r.Name()] || !strings.HasPrefix(r.Name(), "probe-") || r.Kind() != counters.ActorProbe {
				t.Fatalf("name %q of kind %v", r.Name(), r.Kind())
			}
			seen[r.Name()] = true
		}
		assert.Equal(t, "ready", s.Ready(), 0)
	})
}

func TestClockAndLog(t *testing.T) {
	var buf bytes.Buffer
	year := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	bubble(t, func(o *stage.Options) {
		o.Log = zerolog.New(&buf)
		o.Now = func() time.Time { return year }
	}, func(t *testing.T, s *stagetest.Stage) {
		ref := s.Spawn(new(probe))
		ref.Tell(do(func(c *stage.Context) {
			if c.Now() != year || c.Stage() != s.Stage || c.Counters() != s.Count || c.Self() != ref {
				t.Error("wrong surroundings")
			}
			c.Log().Info().Msg("hello")
		}))
		ref.Tell(stage.Panic{Text: "oh no"})
		synctest.Wait()
		s.Panics = 1
		lines := strings.Split(strings.TrimSpace(buf.String()), "\n")
		if len(lines) != 2 || lines[0] != `{"level":"info","actor":"`+ref.Name()+`","message":"hello"}` {
			t.Fatalf("log: %q", lines)
		}
		for _, part := range []string{`"level":"error"`, `"actor":"` + ref.Name() + `"`, `"panic":"oh no"`, `guard.go`} {
			if !strings.Contains(lines[1], part) {
				t.Errorf("no %s in %s", part, lines[1])
			}
		}
	})
}

func TestTakeoversAreLoggedNowAndThen(t *testing.T) {
	var buf bytes.Buffer
	bubble(t, func(o *stage.Options) { o.Log = zerolog.New(&buf) }, func(t *testing.T, s *stagetest.Stage) {
		ref, other := s.Spawn(new(probe)), s.Spawn(new(probe))
		for range 100 {
			ref.Tell(do(func(*stage.Context) { time.Sleep(29 * ms) }))
			synctest.Wait()
			other.Tell("waits")
			time.Sleep(30 * ms)
		}
		synctest.Wait()
		if n := strings.Count(buf.String(), "\n"); n < 2 || n > 4 {
			t.Errorf("%d lines in 3 s:\n%s", n, buf.String())
		}
	})
}
