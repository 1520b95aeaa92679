package sdkclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lxzan/gws"
)

func inBubble(f func(*testing.T, *endpoint)) func(*testing.T) {
	return func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { f(t, newEndpoint(t)) })
	}
}

func TestHandshake(t *testing.T) {
	for flavor, want := range map[Flavor]string{
		Go56: "/server-sdk Go 5.6.0 gamelift-go-sdk/1.0", Go54: "/server-sdk Go 5.4.0 gamelift-go-sdk/1.0", Cpp: "/server-sdk/ Cpp 5.4.0 Go-http-client/1.1",
		CSharp: "/server-sdk CSharp 5.5.0 Go-http-client/1.1",
	} {
		t.Run(flavor.String(), inBubble(func(t *testing.T, e *endpoint) {
			o := e.options(flavor)
			o.URL += "?thrown=away"
			o.ProcessID = "a:b"
			e.process(o)
			h := e.seen()[0]
			got := strings.Join([]string{h.path, h.query.Get("sdkLanguage"), h.query.Get("sdkVersion"), h.agent}, " ")
			if got != want || h.query.Get("ComputeId") != "host-01" || h.query.Get("FleetId") != "fleet-1" || h.query.Get("Authorization") != "token-1" ||
				h.query.Get("pID") != "a:b" || h.query.Has("thrown") || len(h.query.Get("IdempotencyToken")) < 32 {
				t.Errorf("%s: %s", got, h.raw)
			}
			if encoded := strings.Contains(h.raw, "a%3Ab"); encoded != (flavor == Go56 || flavor == Go54) {
				t.Errorf("encoded %v: %s", encoded, h.raw)
			}
		}))
	}
}

func TestSignatureOfTheSpecification(t *testing.T) {
	s := SigV4{Region: "us-west-2", AccessKey: "key", SecretKey: "SELFHOSTEDSECRETKEY0000000000000000000000", SessionToken: "session"}
	m := s.members(Options{HostID: "host-01", FleetID: "fleet-0a1b2c3d", ProcessID: "proc-42"}, time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC))
	if m["X-Amz-Signature"] != "c5ccc20140582ac487d612632e6a4899c31b61613c9f43d152cdd1ab915d5b53" || m["X-Amz-Credential"] != "key/20250102/us-west-2/gamelift/aws4_request" {
		t.Errorf("%v", m)
	}
}

// TestRefusedHandshakes: the schedule of 11.2, and the status in the error.
func TestRefusedHandshakes(t *testing.T) {
	for flavor, want := range map[Flavor][]int{Go56: {0, 8, 24, 56, 88, 120, 152, 184}, Cpp: {0, 4, 12, 28, 60, 92, 124}, CSharp: {0, 4, 12, 28, 60, 92, 124, 156}} {
		t.Run(flavor.String(), inBubble(func(t *testing.T, e *endpoint) {
			e.set(func() { e.status = 403 })
			_, err := Init(t.Context(), e.options(flavor))
			refused, is := errors.AsType[*HandshakeError](err)
			if !errors.Is(err, ErrConnect) || !is || refused.Status != 403 {
				t.Errorf("%v", err)
			}
			var at []int
			for _, h := range e.seen() {
				at = append(at, int(h.at.Seconds()))
			}
			if !slices.Equal(at, want) {
				t.Errorf("attempts at %v", at)
			}
		}))
	}
}

// TestSlowHandshakes: an attempt of C# has 2 s.
func TestSlowHandshakes(t *testing.T) {
	for takes, want := range map[time.Duration][]int{1900 * time.Millisecond: {0}, 2100 * time.Millisecond: {0, 6, 16, 34, 68, 102, 136, 170}} {
		t.Run(takes.String(), inBubble(func(t *testing.T, e *endpoint) {
			e.takes = takes
			p, err := Init(t.Context(), e.options(CSharp))
			if (err == nil) != (len(want) == 1) {
				t.Error(err)
			}
			var at []int
			for _, h := range e.seen() {
				at = append(at, int(h.at.Seconds()))
			}
			if !slices.Equal(at, want) {
				t.Errorf("attempts at %v", at)
			}
			if p != nil {
				p.Destroy()
				p.Wait()
			}
			time.Sleep(takes)
		}))
	}
}

func TestInitEndsWithItsContext(t *testing.T) {
	inBubble(func(t *testing.T, e *endpoint) {
		e.set(func() { e.status = 503 })
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if _, err := Init(ctx, e.options(Go56)); !errors.Is(err, context.DeadlineExceeded) || e.since() != 30*time.Second {
			t.Errorf("%v after %v", err, e.since())
		}
	})(t)
}

// TestGoldenFrames: G1 to G3 of section 20.
func TestGoldenFrames(t *testing.T) {
	inBubble(func(t *testing.T, e *endpoint) {
		o := e.options(Go56)
		started := make(chan GameSession, 1)
		o.Handlers.OnStartGameSession = func(p *Process, g GameSession) {
			if err := p.ActivateGameSession(p.ctx); err != nil {
				t.Error(err)
			}
			started <- g
		}
		o.Handlers.OnHealthCheck = func() bool { return true }
		p := e.process(o)
		if err := p.Ready(t.Context(), 7777, "/var/log/game"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		e.push(`{"Action":"CreateGameSession","GameSessionId":"GS","GameSessionName":"lobby","MaximumPlayerSessionCount":8,"IpAddress":"10.1.2.3","Port":7777,"DnsName":"","GameProperties":{"map":"arena"},"GameSessionData":"","MatchmakerData":""}`)
		g := <-started
		if g.Name != "lobby" || g.FleetId != "fleet-1" || g.GameProperties["map"] != "arena" || p.GameSessionID() != "GS" {
			t.Errorf("%+v", g)
		}
		if err := p.AcceptPlayerSession(t.Context(), "psess-a1"); err != nil {
			t.Error(err)
		}
		e.set(func() {
			e.answer = func(_ int, action, id string, _ map[string]any) []string {
				switch action {
				case "AcceptPlayerSession":
					return []string{`{"Action":"AcceptPlayerSession","RequestId":"` + id + `","StatusCode":400,"ErrorMessage":"Player session not found."}`}
				case "DescribePlayerSessions":
					return []string{`{"Action":"DescribePlayerSessions","RequestId":"` + id + `","StatusCode":200,"NextToken":"","PlayerSessions":[{"PlayerSessionId":"psess-a1","CreationTime":1767225600000,"Status":"ACTIVE"}]}`}
				}
				return []string{ok(action, id)}
			}
		})
		refused, is := errors.AsType[*CallError](p.AcceptPlayerSession(t.Context(), "psess-zz"))
		if !is || *refused != (CallError{400, "Player session not found."}) {
			t.Errorf("%v", refused)
		}
		page, err := p.DescribePlayerSessions(t.Context(), DescribePlayerSessions{GameSessionId: "GS", PlayerSessionStatusFilter: "ACTIVE", Limit: 5})
		if err != nil || page.NextToken != "" || len(page.PlayerSessions) != 1 || page.PlayerSessions[0].CreationTime != 1767225600000 {
			t.Errorf("%+v, %v", page, err)
		}
		if err := p.UpdatePlayerSessionCreationPolicy(t.Context(), "DENY_ALL"); err != nil {
			t.Error(err)
		}
		if err := p.RemovePlayerSession(t.Context(), "psess-a1"); err != nil {
			t.Error(err)
		}
		want := []string{
			`{"Action":"ActivateServerProcess","RequestId":"*","SdkVersion":"5.6.0","SdkLanguage":"Go","Port":7777,"LogPaths":["/var/log/game"]}`,
			`{"Action":"HeartbeatServerProcess","RequestId":"*","HealthStatus":true}`,
			`{"Action":"ActivateGameSession","RequestId":"*","GameSessionId":"GS"}`,
			`{"Action":"AcceptPlayerSession","RequestId":"*","GameSessionId":"GS","PlayerSessionId":"psess-a1"}`,
			`{"Action":"AcceptPlayerSession","RequestId":"*","GameSessionId":"GS","PlayerSessionId":"psess-zz"}`,
			`{"Action":"DescribePlayerSessions","RequestId":"*","GameSessionId":"GS","PlayerSessionStatusFilter":"ACTIVE","Limit":5}`,
			`{"Action":"UpdatePlayerSessionCreationPolicy","RequestId":"*","GameSessionId":"GS","PlayerSessionPolicy":"DENY_ALL"}`,
			`{"Action":"RemovePlayerSession","RequestId":"*","GameSessionId":"GS","PlayerSessionId":"psess-a1"}`,
		}
		for i, f := range e.all() {
			if got := strings.Replace(f.raw, f.id, "*", 1); i >= len(want) || got != want[i] {
				t.Errorf("frame %d: %s", i, got)
			}
		}
		if len(e.all()) != len(want) || len(p.Violations()) > 0 || p.Stats().Unmatched > 0 {
			t.Errorf("%d frames, %v, %+v", len(e.all()), p.Violations(), p.Stats())
		}
	})(t)
}

func TestHealth(t *testing.T) {
	slow := func() bool { time.Sleep(time.Hour); return true }
	for name, test := range map[string]struct {
		flavor  Flavor
		healthy func() bool
		late    time.Duration // of the host's answer
		at      []int
		status  bool
	}{
		"Go without a callback":  {Go56, nil, 0, []int{0, 60, 120}, false},
		"C++ without a callback": {Cpp, nil, 0, []int{0, 60, 120}, true},
		"C# without a callback":  {CSharp, nil, 0, []int{0, 60, 120}, false},
		"C# with a slow host":    {CSharp, func() bool { return true }, 10 * time.Second, []int{0, 60, 120}, true},
		"Go with a slow host":    {Go56, func() bool { return true }, 10 * time.Second, []int{0, 60, 120}, true},
		"C++ with a slow host":   {Cpp, nil, 10 * time.Second, []int{0, 70, 140}, true},
		"Go with a slow game":    {Go56, slow, 0, []int{50, 110, 170}, false},
		"C++ with a slow game":   {Cpp, slow, 0, []int{50, 160, 270}, false},
	} {
		t.Run(name, inBubble(func(t *testing.T, e *endpoint) {
			e.answer = func(_ int, action, id string, _ map[string]any) []string {
				if action == "HeartbeatServerProcess" {
					time.Sleep(test.late)
				}
				return []string{ok(action, id)}
			}
			o := e.options(test.flavor)
			o.Handlers.OnHealthCheck = test.healthy
			p := e.readyProcess(o)
			time.Sleep(275 * time.Second)
			beats := e.of("HeartbeatServerProcess")
			for i, at := range test.at {
				if int(beats[i].at.Seconds()) != at || strings.Contains(beats[i].raw, `"HealthStatus":true`) != test.status {
					t.Errorf("report %d at %v: %s", i, beats[i].at, beats[i].raw)
				}
			}
			if err := p.Ending(t.Context()); err != nil {
				t.Error(err)
			}
			n := len(e.of("HeartbeatServerProcess"))
			time.Sleep(5 * time.Minute)
			if again := len(e.of("HeartbeatServerProcess")); again != n {
				t.Errorf("%d reports after the end", again-n)
			}
		}))
	}
}

func TestHealthJitter(t *testing.T) {
	inBubble(func(t *testing.T, e *endpoint) {
		o := e.options(Go56)
		o.Timing.HealthJitter = 0 // 10 s
		e.readyProcess(o)
		time.Sleep(time.Hour)
		beats := e.of("HeartbeatServerProcess")
		different := map[time.Duration]bool{}
		for i := 1; i < len(beats); i++ {
			d := beats[i].at - beats[i-1].at
			if d < 50*time.Second || d > 70*time.Second {
				t.Errorf("interval of %v", d)
			}
			different[d] = true
		}
		if len(different) < 20 {
			t.Errorf("%d different intervals of %d", len(different), len(beats))
		}
	})(t)
}

// TestPushBeforeReady: it is dropped in silence (SS-201).
func TestPushBeforeReady(t *testing.T) {
	for _, flavor := range []Flavor{Go56, Cpp, CSharp} {
		t.Run(flavor.String(), inBubble(func(t *testing.T, e *endpoint) {
			o := e.options(flavor)
			o.Handlers.OnStartGameSession = func(*Process, GameSession) { t.Error("started") }
			p := e.process(o)
			e.push(`{"Action":"CreateGameSession","GameSessionId":"GS","GameProperties":{}}`)
			synctest.Wait()
			if p.Stats().Ignored != 1 || p.GameSessionID() != "" || len(p.Violations()) > 0 {
				t.Errorf("%+v %v", p.Stats(), p.Violations())
			}
			if err := p.ActivateGameSession(t.Context()); !errors.Is(err, ErrNotReady) {
				t.Errorf("%v", err)
			}
		}))
	}
}

// TestTerminateBeforeReady: it crashes C# (SS-30).
func TestTerminateBeforeReady(t *testing.T) {
	for flavor, violations := range map[Flavor]int{Cpp: 0, CSharp: 1} {
		t.Run(flavor.String(), inBubble(func(t *testing.T, e *endpoint) {
			p := e.process(e.options(flavor))
			e.push(`{"Action":"TerminateProcess","TerminationTime":1767226200000}`)
			synctest.Wait()
			if v := p.Violations(); len(v) != violations || len(e.of("TerminateServerProcess")) > 0 {
				t.Errorf("%v", v)
			}
		}))
	}
}

func TestTerminateWithoutCallback(t *testing.T) {
	inBubble(func(t *testing.T, e *endpoint) {
		p := e.readyProcess(e.options(Go56))
		e.push(`{"Action":"TerminateProcess","TerminationTime":1767226200000}`)
		p.Wait()
		if len(e.of("TerminateServerProcess")) != 1 || p.Stats().Connections != 1 {
			t.Errorf("%v", e.all())
		}
		synctest.Wait()
		if len(e.ended()) != 1 || e.ended()[0].code != 0 {
			t.Errorf("closed %v", e.ended())
		}
		if err := p.Ending(t.Context()); !errors.Is(err, ErrDestroyed) {
			t.Errorf("%v", err)
		}
	})(t)
}

func TestTerminateAndUpdateCallbacks(t *testing.T) {
	inBubble(func(t *testing.T, e *endpoint) {
		o := e.options(Cpp)
		var ended time.Time
		var update GameSessionUpdate
		o.Handlers.OnProcessTerminate = func(_ *Process, at time.Time) { ended = at }
		o.Handlers.OnUpdateGameSession = func(_ *Process, u GameSessionUpdate) { update = u }
		p := e.readyProcess(o)
		e.push(`{"Action":"TerminateProcess","TerminationTime":1767226200000}`)
		e.push(`{"Action":"UpdateGameSession","UpdateReason":"BACKFILL_FAILED","BackfillTicketId":"t","GameSession":{"GameSessionId":"GS","Name":"n","FleetId":"fleet-1","GameProperties":{}}}`)
		synctest.Wait()
		if ended.UnixMilli() != 1767226200000 || update.UpdateReason != "BACKFILL_FAILED" || update.GameSession.Name != "n" || len(p.Violations()) > 0 {
			t.Errorf("%v, %+v, %v", ended, update, p.Violations())
		}
		p.Destroy()
		p.Wait()
		synctest.Wait()
		if len(e.ended()) != 1 || e.ended()[0].code != 1001 {
			t.Errorf("closed %v", e.ended())
		}
	})(t)
}

// TestViolations: what a host must not send.
func TestViolations(t *testing.T) {
	for name, test := range map[string]struct {
		answer func(action, id string) string
		push   string
		want   string
	}{
		"no StatusCode": {func(a, id string) string { return fmt.Sprintf(`{"Action":%q,"RequestId":%q}`, a, id) }, "", "no StatusCode"},
		"StatusCode as a text": {func(a, id string) string {
			return fmt.Sprintf(`{"Action":%q,"RequestId":%q,"StatusCode":"200"}`, a, id)
		}, "", "StatusCode"},
		"another Action":        {func(_, id string) string { return ok("Other", id) }, "", `the Action "Other"`},
		"no Action":             {func(_, id string) string { return fmt.Sprintf(`{"RequestId":%q,"StatusCode":200}`, id) }, "", `the Action ""`},
		"no ErrorMessage":       {func(a, id string) string { return fmt.Sprintf(`{"Action":%q,"RequestId":%q,"StatusCode":400}`, a, id) }, "", "no ErrorMessage"},
		"small letters":         {func(a, id string) string { return fmt.Sprintf(`{"action":%q,"RequestId":%q,"StatusCode":200}`, a, id) }, "", `the Action ""`},
		"push with a RequestId": {nil, `{"Action":"TerminateProcess","RequestId":"","TerminationTime":1}`, ""},
		"properties null":       {nil, `{"Action":"CreateGameSession","GameSessionId":"GS","GameProperties":null}`, "no GameProperties"},
		"properties as a list":  {nil, `{"Action":"CreateGameSession","GameSessionId":"GS","GameProperties":[]}`, "GameProperties"},
		"time as a text":        {nil, `{"Action":"TerminateProcess","TerminationTime":"1"}`, "TerminationTime"},
		"unknown push":          {nil, `{"Action":"Dance"}`, `"Dance"`},
		"update without fleet":  {nil, `{"Action":"UpdateGameSession","GameSession":{"GameSessionId":"GS","GameProperties":{}}}`, "FleetId"},
		"no token":              {nil, `{"Action":"RefreshConnection","RefreshConnectionEndpoint":"ws://x.invalid"}`, "no AuthToken"},
		"not JSON":              {nil, `hello`, "hello"},
		"nested result":         {nil, `[]`, "[]"},
	} {
		t.Run(name, inBubble(func(t *testing.T, e *endpoint) {
			o := e.options(Go56)
			o.Timing.CallTimeout = time.Second
			o.Handlers.OnUpdateGameSession = func(*Process, GameSessionUpdate) {}
			p := e.readyProcess(o)
			synctest.Wait()
			if test.answer != nil {
				e.set(func() {
					e.answer = func(_ int, a, id string, _ map[string]any) []string { return []string{test.answer(a, id)} }
				})
				_ = p.Call(t.Context(), "GetComputeCertificate", nil, nil)
			} else {
				e.push(test.push)
				synctest.Wait()
			}
			got := strings.Join(p.Violations(), "; ")
			switch {
			case test.want == "": // a push with a RequestId is dropped as a response, as the SDKs do
				if p.Stats().Unmatched != 1 || len(e.of("TerminateServerProcess")) > 0 {
					t.Errorf("%+v", p.Stats())
				}
			case !strings.Contains(got, test.want):
				t.Errorf("%q", got)
			}
		}))
	}
	inBubble(func(t *testing.T, e *endpoint) {
		p := e.process(e.options(Go56))
		e.mu.Lock()
		conn := e.conns[0]
		e.mu.Unlock()
		if err := conn.WriteMessage(gws.OpcodeBinary, []byte("x")); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if v := p.Violations(); len(v) != 1 || !strings.Contains(v[0], "binary") {
			t.Errorf("%v", v)
		}
		for range 40 {
			e.push("x")
		}
		synctest.Wait()
		if n := len(p.Violations()); n != 16 {
			t.Errorf("%d violations kept", n)
		}
	})(t)
}

func TestSecondResponse(t *testing.T) {
	inBubble(func(t *testing.T, e *endpoint) {
		e.answer = func(_ int, a, id string, _ map[string]any) []string { return []string{ok(a, id), ok(a, id)} }
		p := e.process(e.options(Go56))
		if err := p.CallAs(t.Context(), "mine", "GetComputeCertificate", map[string]any{}, nil); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if p.Stats().Unmatched != 1 || e.all()[0].id != "mine" || e.all()[0].raw != `{"Action":"GetComputeCertificate","RequestId":"mine"}` {
			t.Errorf("%+v %+v", p.Stats(), e.all())
		}
	})(t)
}

// TestPing: also when the process has sent nothing for a while.
func TestPing(t *testing.T) {
	inBubble(func(t *testing.T, e *endpoint) {
		p := e.readyProcess(e.options(Go56))
		time.Sleep(30 * time.Second)
		e.mu.Lock()
		conn := e.conns[0]
		e.mu.Unlock()
		if err := conn.WritePing([]byte("x")); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if s := p.Stats(); s.Pings != 1 || !s.Connected || s.Connections != 1 || len(e.ended()) > 0 {
			t.Errorf("%+v", p.Stats())
		}
	})(t)
}
