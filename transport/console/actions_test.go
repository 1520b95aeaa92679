package console

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages"
)

// operations is a fake host that records actions.
type operations struct {
	mu    sync.Mutex
	acted []Action
	bans  []messages.Ban
	level string
}

func (o *operations) Ban(_ context.Context, b messages.Ban) error {
	o.bans = append(o.bans, b)
	return nil
}
func (o *operations) LiftBan(_ context.Context, p messages.PlayerID) (bool, error) {
	return len(o.bans) > 0 && o.bans[0].Player == p, nil
}
func (o *operations) AwaitBans(context.Context) error                { return nil }
func (o *operations) Bans() []messages.Ban                           { return o.bans }
func (o *operations) LogLevel() string                               { return o.level }
func (o *operations) SetLogLevel(level, _ string) error              { o.level = level; return nil }
func (o *operations) ClosedConnections() []messages.ClosedConnection { return nil }
func (o *operations) Settings() []Setting                            { return nil }
func (o *operations) Listeners() []Listener                          { return nil }
func (o *operations) Acted(a Action) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.acted = append(o.acted, a)
}

// seats is a fake host where ann has player sessions in two game sessions. One of the game sessions has just
// ended.
type seats struct {
	messages.Doer
	kicked []messages.KickPlayer
}

func (b *seats) Do(ctx context.Context, q messages.Request) (any, error) {
	switch q := q.(type) {
	case messages.PlayerSessionQuery:
		return b.playerSessions(ctx, q)
	case messages.KickPlayer:
		return b.kickPlayer(ctx, q)
	}
	return b.Doer.Do(ctx, q)
}

func (b *seats) playerSessions(_ context.Context, q messages.PlayerSessionQuery) ([]*messages.PlayerSession, error) {
	if q.PlayerID != "ann" {
		return nil, nil
	}
	return []*messages.PlayerSession{
		{GameSessionID: "one", Status: messages.PlayerSessionActive}, {GameSessionID: "one", Status: messages.PlayerSessionActive},
		{GameSessionID: "two", Status: messages.PlayerSessionReserved}, {GameSessionID: "old", Status: messages.PlayerSessionCompleted},
	}, nil
}

func (b *seats) kickPlayer(_ context.Context, q messages.KickPlayer) (int, error) {
	b.kicked = append(b.kicked, q)
	if q.GameSession == "two" {
		return 0, q.DeadLetterError()
	}
	return 1, nil
}

func newSeats(w *world) *seats {
	b := new(seats)
	w.console.o.Backend = b
	return b
}

// A key with only the reading operations can read everything and change nothing, in a browser or with signed
// requests.
func TestReadersMayNotAct(t *testing.T) {
	w := newWorld(t, true)
	b := newSeats(w)
	a := w.want(200, "", "POST", "/admin/v1/login", `{"accessKeyId":"READER","secret":"right"}`, "Content-Type", "application/json")
	if !strings.Contains(a.Body.String(), `"role":"reader"`) {
		t.Error(a.Body)
	}
	cookie := a.Result().Cookies()[0].String()
	_, rest, _ := strings.Cut(a.Body.String(), `"csrfToken":"`)
	csrf, _, _ := strings.Cut(rest, `"`)
	w.want(200, "", "GET", "/admin/v1/overview", "", "Cookie", cookie)
	w.want(200, "", "GET", "/admin/v1/overview", "", "Authorization", "signed by a reader")
	for path, methods := range w.console.routes {
		for method, to := range methods {
			if !to.acts || to.name == "" {
				continue
			}
			w.want(http.StatusForbidden, "ReadOnly", method, "/admin/v1/"+path, "", "Cookie", cookie, csrfHeader, csrf)
			w.want(http.StatusForbidden, "ReadOnly", method, "/admin/v1/"+path, "", "Authorization", "signed by a reader")
		}
	}
	if len(b.kicked)+len(w.operations.bans)+int(w.drains.n.Load())+len(w.operations.acted) != 0 {
		t.Error("something was done")
	}
	w.want(200, "", "POST", "/admin/v1/logout", "", "Cookie", cookie, csrfHeader, csrf)
}

func TestAKickEndsEverySeat(t *testing.T) {
	w := newWorld(t, false)
	b := newSeats(w)
	post := func(status int, code, target string) {
		t.Helper()
		w.want(status, code, "POST", "/admin/v1/"+target, "", csrfHeader, machine)
	}
	post(200, "", "players/kick?player=ann")
	if len(b.kicked) != 2 || b.kicked[0].GameSession != "one" || b.kicked[0].Reason != "by an operator (this machine)" || b.kicked[1].GameSession != "two" {
		t.Errorf("%+v", b.kicked)
	}
	post(200, "", "players/kick?player=ann&gameSession=one&reason=rude")
	if last := b.kicked[2]; len(b.kicked) != 3 || last.GameSession != "one" || last.Reason != "by an operator (this machine): rude" || last.Player != "ann" {
		t.Errorf("%+v", b.kicked)
	}
	post(http.StatusConflict, "", "players/kick?player=ann&gameSession=two")
	post(http.StatusNotFound, "NotFound", "players/kick?player=bob")
	for _, bad := range []string{"players/kick", "players/kick?player=" + strings.Repeat("x", playerMax+1), "players/kick?player=a&reason=" + strings.Repeat("x", textMax+1),
		"bans?player=%FF&seconds=1", "bans?player=ann", "bans?player=ann&seconds=0", "bans?player=ann&seconds=-1", "bans?player=ann&seconds=99999999999", "bans?seconds=1",
		"log-level", "log-level?level=loud", "profile?kind=x", "profile?seconds=121"} {
		post(http.StatusBadRequest, "BadRequest", bad)
	}
}

// Each action publishes an event, including refused actions.
func TestActionsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, false)
		b := newSeats(w)
		w.want(200, "", "POST", "/admin/v1/bans?player=ann&seconds=60&reason=rude", "", csrfHeader, machine)
		w.want(404, "", "DELETE", "/admin/v1/bans?player=bob", "", csrfHeader, machine)
		w.want(200, "", "DELETE", "/admin/v1/bans?player=ann", "", csrfHeader, machine)
		w.want(200, "", "POST", "/admin/v1/log-level?level=debug", "", csrfHeader, machine)
		if len(w.operations.bans) != 1 || !w.operations.bans[0].Until.Equal(time.Now().Add(time.Minute)) || len(b.kicked) != 2 || w.operations.level != "debug" {
			t.Errorf("%+v %+v", w.operations.bans, b.kicked)
		}
		by := short("this machine")
		want := []Action{{"ban player", "ann", by, "done"}, {"lift ban", "bob", by, "NotFound"}, {"lift ban", "ann", by, "done"}, {"set log level", "debug", by, "done"}}
		if len(w.operations.acted) != len(want) {
			t.Fatalf("%+v", w.operations.acted)
		}
		for i := range want {
			if w.operations.acted[i] != want[i] {
				t.Errorf("%+v, want %+v", w.operations.acted[i], want[i])
			}
		}
	})
}

// A drain accepts a grace within limits. Its event contains the grace, also if the drain was refused.
func TestADrainHasAGrace(t *testing.T) {
	w := newWorld(t, false)
	post := func(status int, code, target string) {
		t.Helper()
		w.want(status, code, "POST", "/admin/v1/"+target, "", csrfHeader, machine)
	}
	for target, want := range map[string]time.Duration{"drain": -1, "drain?grace=": -1, "drain?grace=0s": 0, "drain?grace=20m": 20 * time.Minute, "drain?grace=168h": 7 * 24 * time.Hour} {
		if post(200, "", target); w.drains.grace.Load() != int64(want) {
			t.Errorf("%s: %v, want %v", target, time.Duration(w.drains.grace.Load()), want)
		}
	}
	drained := w.drains.n.Load()
	for _, grace := range []string{"soon", "20", "-1s", "168h0m1s", "99999999999h"} {
		post(http.StatusBadRequest, "BadRequest", "drain?grace="+grace)
	}
	post(http.StatusBadRequest, "BadRequest", "drain?grace=1s&grace=2s")
	if w.drains.n.Load() != drained {
		t.Error("it drains")
	}
	w.operations.acted = nil
	post(200, "", "drain?grace=20m")
	post(http.StatusBadRequest, "", "drain?grace=soon")
	if want := []Action{{"drain", "20m", "this machine", "done"}, {"drain", "soon", "this machine", "BadRequest"}}; !slices.Equal(w.operations.acted, want) {
		t.Errorf("%+v", w.operations.acted)
	}
}

// Without a cluster, a refusal names no node.
func TestARefusalWithoutACluster(t *testing.T) {
	w := newWorld(t, false)
	if a := w.want(404, "UnknownPath", "GET", "/admin/v1/none", ""); strings.Contains(a.Body.String(), `"node"`) {
		t.Error(a.Body)
	}
}

// Actions on other pages of the host are reported like actions of the console.
func TestOtherPagesReportActions(t *testing.T) {
	w := newWorld(t, true)
	for _, test := range []struct{ header, by string }{{"signed", "TRPEA2B3"}, {"forged", "an operator"}} {
		r := httptest.NewRequest("POST", "http://games.example/debug/drain", http.NoBody)
		r.Header.Set("Authorization", test.header)
		w.operations.acted = nil
		w.console.Report(r, "drain", strings.Repeat("x", 500), "done")
		if len(w.operations.acted) != 1 || w.operations.acted[0].By != test.by || len(w.operations.acted[0].Target) > 200 {
			t.Errorf("%+v, want by %s", w.operations.acted, test.by)
		}
	}
}

// Downloading a log is reported as an action, even if the download is cut off. Reading the last lines is not.
func TestADownloadOfALogIsTold(t *testing.T) {
	w := newWorld(t, false)
	var log bytes.Buffer
	w.console.o.Log = zerolog.New(&log)
	w.console.o.Logs = func(_ context.Context, id messages.GameSessionID, _ int64) (io.ReadCloser, bool, error) {
		switch id {
		case "torn":
			return io.NopCloser(iotest.ErrReader(errors.New("the disk is gone"))), true, nil
		case "one":
			return io.NopCloser(strings.NewReader("hello\n")), true, nil
		}
		return nil, false, fs.ErrNotExist
	}
	w.want(200, "", "GET", "/admin/v1/game-session/log?id=one", "")
	if a := w.want(200, "", "GET", "/admin/v1/game-session/log/file?id=one", ""); a.Body.String() != "hello\n" {
		t.Error(a.Body.String())
	}
	w.want(404, "NotFound", "GET", "/admin/v1/game-session/log/file?id=two", "")
	func() {
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Error(p)
			}
		}()
		w.do("GET", "/admin/v1/game-session/log/file?id=torn", "")
	}()
	want := []Action{{"download log", "one", "this machine", "done"}, {"download log", "two", "this machine", "NotFound"}, {"download log", "torn", "this machine", "Aborted"}}
	if !slices.Equal(w.operations.acted, want) {
		t.Errorf("%+v", w.operations.acted)
	}
	if n := strings.Count(log.String(), `"action":"download log"`); n != 3 {
		t.Errorf("%d lines of the log: %s", n, log.String())
	}
}

// An action by a signed request is reported with the access key, as after a login.
func TestActionsOfSignedRequestsNameTheKey(t *testing.T) {
	w := newWorld(t, true)
	newSeats(w)
	w.want(200, "", "POST", "/admin/v1/bans?player=ann&seconds=60", "", "Authorization", "signed")
	if len(w.operations.acted) != 1 || w.operations.acted[0].By != "TRPEA2B3" || w.operations.bans[0].By != "TRPEA2B3" {
		t.Errorf("%+v %+v", w.operations.acted, w.operations.bans)
	}
}

// Only one profile is taken at a time, and it ends when the host stops.
func TestAProfileEndsWithTheHost(t *testing.T) {
	w := newWorld(t, false)
	done := make(chan int, 1)
	go func() {
		done <- w.do("POST", "/admin/v1/profile?seconds=120", "", csrfHeader, machine).Code
	}()
	for len(w.console.profiling) == 0 {
		runtime.Gosched()
	}
	w.want(http.StatusConflict, "Conflict", "POST", "/admin/v1/profile", "", csrfHeader, machine)
	w.console.Close()
	if code := <-done; code != 200 {
		t.Error(code)
	}
	a := w.want(200, "", "POST", "/admin/v1/profile?kind=heap", "", csrfHeader, machine)
	if a.Body.Len() == 0 || !strings.Contains(a.Header().Get("Content-Disposition"), "troupe-heap.pprof") {
		t.Error(a.Header())
	}
}
