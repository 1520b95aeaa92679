package sdkclient

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestLostConnection: table 12.1. Each process calls 10 ms after the loss.
func TestLostConnection(t *testing.T) {
	type result struct {
		back time.Duration // of the second handshake; 0: none
		sent time.Duration // of the call; 0: never
	}
	for _, test := range []struct {
		flavor Flavor
		code   int // 0: TCP ends
		want   result
	}{
		{Go56, 0, result{10 * time.Second, 15 * time.Second}},
		{Go54, 0, result{10 * time.Second, 15 * time.Second}},
		{Cpp, 0, result{10 * time.Second, 10010 * time.Millisecond}},
		{Go56, 1000, result{10 * time.Second, 15 * time.Second}},
		{Go56, 1012, result{10 * time.Second, 15 * time.Second}},
		{Cpp, 1012, result{10 * time.Second, 10010 * time.Millisecond}},
		{Cpp, 1000, result{}},
		{Cpp, 1001, result{}},
		{CSharp, 0, result{10 * time.Second, 10010 * time.Millisecond}},
		{CSharp, 1012, result{10 * time.Second, 10010 * time.Millisecond}},
		{CSharp, 1000, result{10010 * time.Millisecond, 12010 * time.Millisecond}}, // not before the call
		{CSharp, 1001, result{10010 * time.Millisecond, 12010 * time.Millisecond}},
	} {
		t.Run(fmt.Sprint(test.flavor, " ", test.code), inBubble(func(t *testing.T, e *endpoint) {
			p := e.readyProcess(e.options(test.flavor))
			time.Sleep(10 * time.Second)
			if test.code == 0 {
				e.lose()
			} else {
				e.close(0, uint16(test.code))
			}
			time.Sleep(10 * time.Millisecond) // what is written before the process notices is lost
			err := p.Call(t.Context(), "GetComputeCertificate", nil, nil)
			var got result
			if len(e.seen()) > 1 {
				got.back = e.seen()[1].at
				e.sameURL(test.flavor, 0, 1)
			}
			if err == nil {
				got.sent = e.of("GetComputeCertificate")[0].at
			} else if !errors.Is(err, ErrSend) || e.since() != 190010*time.Millisecond {
				t.Errorf("%v at %v", err, e.since())
			}
			if got != test.want {
				t.Errorf("%+v", got)
			}
			if n := len(e.of("ActivateServerProcess")); n != 1 {
				t.Errorf("activated %d times", n)
			}
		}))
	}
}

// sameURL checks the URLs of two handshakes. C# has another IdempotencyToken each time.
func (e *endpoint) sameURL(flavor Flavor, i, j int) {
	e.t.Helper()
	first, second := e.seen()[i], e.seen()[j]
	token := second.query.Get("IdempotencyToken")
	if anew := token != first.query.Get("IdempotencyToken"); anew != (flavor == CSharp) {
		e.t.Errorf("another IdempotencyToken: %v", anew)
	}
	if strings.Replace(first.raw, first.query.Get("IdempotencyToken"), token, 1) != second.raw {
		e.t.Errorf("another URL: %s", second.raw)
	}
}

// TestPings: C# tests the connection before each send.
func TestPings(t *testing.T) {
	for flavor, pongs := range map[Flavor]int{Go56: 0, CSharp: 3} {
		t.Run(flavor.String(), inBubble(func(t *testing.T, e *endpoint) {
			p := e.readyProcess(e.options(flavor)) // ActivateServerProcess and a report
			if err := p.Call(t.Context(), "GetComputeCertificate", nil, nil); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if s := p.Stats(); s.Pongs != pongs {
				t.Errorf("%+v", s)
			}
		}))
	}
}

// TestRefused: the process comes back on the schedule, and C++ stays away after its last attempt.
func TestRefused(t *testing.T) {
	for flavor, attempts := range map[Flavor]int{Go56: 6, Cpp: 7, CSharp: 7} {
		t.Run(flavor.String(), inBubble(func(t *testing.T, e *endpoint) {
			p := e.readyProcess(e.options(flavor))
			e.set(func() { e.status = 503 })
			e.lose()
			time.Sleep(100 * time.Second)
			if s := p.Stats(); s.Connections != 1 || s.Status != 503 || s.Attempts != attempts {
				t.Errorf("%+v", s)
			}
			time.Sleep(200 * time.Second)
			e.set(func() { e.status = 0 })
			time.Sleep(10 * time.Minute)
			if back := p.Stats().Connections == 2; back != (flavor != Cpp) {
				t.Errorf("back: %v, %+v", back, p.Stats())
			}
		}))
	}
}

// TestUnanswered: section 11.1. The host takes requests and answers none.
func TestUnanswered(t *testing.T) {
	mute := func(_ int, action, id string, _ map[string]any) []string {
		if action == "HeartbeatServerProcess" || action == "ActivateServerProcess" {
			return []string{ok(action, id)}
		}
		return nil
	}
	for flavor, want := range map[Flavor]int{Go56: 2, Go54: 1} {
		t.Run(flavor.String(), inBubble(func(t *testing.T, e *endpoint) {
			e.answer = mute
			o := e.options(flavor)
			o.Timing.HealthInterval = time.Hour // a response would start the count anew
			p := e.readyProcess(o)
			for range 2 {
				if err := p.Call(t.Context(), "GetComputeCertificate", nil, nil); !errors.Is(err, ErrUnanswered) {
					t.Errorf("%v", err)
				}
			}
			if e.since() != 40*time.Second {
				t.Errorf("took %v", e.since())
			}
			time.Sleep(time.Minute)
			if p.Stats().Connections != want || want == 2 && e.seen()[1].raw != e.seen()[0].raw {
				t.Errorf("%+v", e.seen())
			}
			if frames := e.of("GetComputeCertificate"); len(frames) != 2 || frames[0].id == frames[1].id {
				t.Errorf("%+v", frames)
			}
		}))
	}
	t.Run("C++", inBubble(func(t *testing.T, e *endpoint) {
		e.answer = mute
		o := e.options(Cpp)
		o.AuthToken, o.SigV4 = "", &SigV4{Region: "us-east-1", AccessKey: "a", SecretKey: "s"}
		o.Timing.HealthInterval = time.Hour
		p := e.readyProcess(o)
		if err := p.Call(t.Context(), "GetComputeCertificate", nil, nil); !errors.Is(err, ErrUnanswered) {
			t.Errorf("%v", err)
		}
		frames := e.of("GetComputeCertificate")
		for _, f := range frames {
			if f.raw != frames[0].raw {
				t.Errorf("%s, then %s", frames[0].raw, f.raw)
			}
		}
		if len(frames) != 6 || frames[1].at < 20*time.Second || frames[1].at > 20100*time.Millisecond {
			t.Errorf("%+v", frames)
		}
		if q := e.seen()[0].query; q.Get("Authorization") != "SigV4" || q.Get("X-Amz-Signature") == "" {
			t.Errorf("%v", q)
		}
		if len(e.seen()) < 2 || e.seen()[1].query.Has("Authorization") || e.seen()[1].query.Get("IdempotencyToken") == e.seen()[0].query.Get("IdempotencyToken") {
			t.Errorf("%+v", e.seen())
		}
		if len(e.ended()) == 0 || e.ended()[0].code != 1001 {
			t.Errorf("%+v", e.ended())
		}
	}))
}

// TestRefresh: section 12.2. The process calls at once after the push.
func TestRefresh(t *testing.T) {
	for flavor, want := range map[Flavor]struct{ sent, closed, code int }{Go56: {5, 5, 0}, Cpp: {0, 0, 1001}, CSharp: {0, -1, 0}} {
		t.Run(flavor.String(), inBubble(func(t *testing.T, e *endpoint) {
			p := e.readyProcess(e.options(flavor))
			synctest.Wait()
			e.push(`{"Action":"RefreshConnection","RefreshConnectionEndpoint":"` + e.url + `","AuthToken":"token-2"}`)
			synctest.Wait()
			if err := p.Call(t.Context(), "GetComputeCertificate", nil, nil); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
			f := e.of("GetComputeCertificate")[0]
			if int(f.at.Seconds()) != want.sent || f.conn != 1 {
				t.Errorf("%+v", f)
			}
			if want.closed < 0 && len(e.ended()) > 0 || want.closed >= 0 && (len(e.ended()) != 1 || int(e.ended()[0].at.Seconds()) != want.closed || e.ended()[0].code != want.code) {
				t.Errorf("%+v", e.ended())
			}
			if q := e.seen()[1].query; q.Get("Authorization") != "token-2" || q.Get("IdempotencyToken") == e.seen()[0].query.Get("IdempotencyToken") {
				t.Errorf("%v", q)
			}
			e.lose() // and it comes back with the new token
			time.Sleep(time.Minute)
			if len(e.seen()) != 3 {
				t.Fatalf("%+v", e.seen())
			}
			e.sameURL(flavor, 1, 2)
			if v := p.Violations(); len(v) > 0 {
				t.Error(v)
			}
		}))
	}
}

// TestRefreshRefused: a process in Go sends nothing for 184 s, and then all reports on the old connection (SS-133).
func TestRefreshRefused(t *testing.T) {
	for flavor, want := range map[Flavor][]int{Go56: {0, 184, 184, 184, 240}, Cpp: {0, 60, 120, 180, 240}, CSharp: {0, 60, 120, 180, 240}} {
		t.Run(flavor.String(), inBubble(func(t *testing.T, e *endpoint) {
			o := e.options(flavor)
			o.Timing.Flush = 5 * time.Second
			p := e.readyProcess(o)
			synctest.Wait()
			e.set(func() { e.status = 503 })
			e.push(`{"Action":"RefreshConnection","RefreshConnectionEndpoint":"` + e.url + `","AuthToken":"token-2"}`)
			time.Sleep(250 * time.Second)
			beats := e.of("HeartbeatServerProcess")
			for i, at := range want {
				if i >= len(beats) || int(beats[i].at.Seconds()) != at || beats[i].conn != 0 {
					t.Fatalf("reports %+v", beats)
				}
			}
			if s := p.Stats(); !s.Connected || s.Connections != 1 || len(e.ended()) > 0 {
				t.Errorf("%+v %v", s, e.ended())
			}
		}))
	}
}

// TestCloseFrameOnOldConnection: in Go it tears down the new one, and sends are possible 10 s after the push (12.2).
func TestCloseFrameOnOldConnection(t *testing.T) {
	inBubble(func(t *testing.T, e *endpoint) {
		p := e.readyProcess(e.options(Go56))
		synctest.Wait()
		e.push(`{"Action":"RefreshConnection","RefreshConnectionEndpoint":"` + e.url + `","AuthToken":"token-2"}`)
		time.Sleep(time.Second)
		e.close(0, 1000)
		time.Sleep(10 * time.Millisecond)
		if err := p.Call(t.Context(), "GetComputeCertificate", nil, nil); err != nil {
			t.Error(err)
		}
		if len(e.seen()) != 3 || int(e.seen()[2].at.Seconds()) != 5 || int(e.since().Seconds()) < 5 || e.of("GetComputeCertificate")[0].conn != 2 {
			t.Errorf("at %v: %+v", e.since(), e.seen())
		}
	})(t)
}

func TestEarlyRefresh(t *testing.T) {
	for flavor, want := range map[Flavor]int{Go56: 2, Cpp: 1, CSharp: 2} {
		t.Run(flavor.String(), inBubble(func(t *testing.T, e *endpoint) {
			p := e.process(e.options(flavor))
			e.push(`{"Action":"RefreshConnection","RefreshConnectionEndpoint":"` + e.url + `","AuthToken":"token-2"}`)
			synctest.Wait()
			if n := p.Stats().Connections; n != want {
				t.Errorf("%d connections", n)
			}
		}))
	}
}

func TestDropAndRaw(t *testing.T) {
	inBubble(func(t *testing.T, e *endpoint) {
		var sent, received int
		o := e.options(Cpp)
		o.Timing.HealthInterval = time.Hour
		o.Frame = func(s bool, _ []byte) {
			e.mu.Lock()
			defer e.mu.Unlock()
			if s {
				sent++
			} else {
				received++
			}
		}
		p := e.readyProcess(o)
		synctest.Wait()
		e.set(func() { sent, received = 0, 0 })
		p.Drop()
		synctest.Wait()
		if p.Stats().Connections != 2 || p.ID() != "proc_42.a" {
			t.Errorf("%+v", p.Stats())
		}
		if err := p.SendRaw(t.Context(), []byte(`{"Action":"X"}`)); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if f := e.of("X"); len(f) != 1 || f[0].conn != 1 || sent != 1 || received != 1 {
			t.Errorf("%+v, sent %d, received %d", f, sent, received)
		}
		if !strings.Contains(fmt.Sprint(Flavor(9)), "9") {
			t.Error(Flavor(9))
		}
		if _, err := Init(t.Context(), Options{Flavor: 9}); err == nil {
			t.Error("unknown flavor")
		}
	})(t)
}
