package ops_test

import (
	"archive/zip"
	"context"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/script"
	"troupe/actors/sessionlog"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport/ops"
)

const (
	ended   messages.GameSessionID = "arn:aws:gamelift:local::gamesession/fleet-x/ended"
	running messages.GameSessionID = "arn:aws:gamelift:local::gamesession/fleet-x/running"
	twinA   messages.GameSessionID = "arn:aws:gamelift:local::gamesession/fleet-x/twin"
	twinB   messages.GameSessionID = "arn:aws:gamelift:local::gamesession/fleet-y/twin"
)

// logPages serves the logs of a store with one ended and three running game sessions. The test can change its
// clock.
type logPages struct {
	*testing.T
	logs    *ops.Logs
	pages   http.Handler
	running script.Sink
	now     time.Time
}

func newLogPages(t *testing.T) *logPages {
	t.Helper()
	store, err := sessionlog.Open(t.TempDir(), sessionlog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := &logPages{T: t, now: time.Now()}
	for _, id := range []messages.GameSessionID{ended, running, twinA, twinB} {
		k := store.Open(id)
		k.Write(script.Line{Text: "<script>hello</script>"})
		if id == ended {
			k.Close()
		} else if id == running {
			p.running = k
		}
	}
	p.logs = ops.NewLogs(store, "http://base", func() time.Time { return p.now })
	p.pages = ops.New(ops.Options{Counters: new(counters.Set), Version: "v", Logs: p.logs}).Mux(http.NotFoundHandler())
	t.Cleanup(store.Close)
	return p
}

func (p *logPages) get(path string) (int, string, http.Header) {
	w := httptest.NewRecorder()
	p.pages.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String(), w.Header()
}

func (p *logPages) url(id messages.GameSessionID, terminated time.Time) string {
	p.Helper()
	u, err := p.logs.URL(p.Context(), &messages.GameSession{ID: id, Terminated: terminated}, false)
	path, based := strings.CutPrefix(u, "http://base/")
	if err != nil || !based {
		p.Fatalf("%q, %v", u, err)
	}
	return "/" + path
}

// unzipped returns the content of an archive's only file.
func unzipped(t *testing.T, archive, name string) string {
	t.Helper()
	z, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
	if err != nil || len(z.File) != 1 || z.File[0].Name != name {
		t.Fatalf("%v, %+v", err, z)
	}
	f, err := z.File[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSignedLog(t *testing.T) {
	p := newLogPages(t)
	good := p.url(ended, p.now)
	for path, want := range map[string]struct{ kind, name string }{
		good:                  {"application/zip", "ended.zip"},
		good + "&format=zip":  {"application/zip", "ended.zip"},
		good + "&format=text": {"text/plain; charset=utf-8", "ended.log"},
	} {
		status, body, header := p.get(path)
		if status == 200 && want.kind == "application/zip" {
			body = unzipped(t, body, "ended.log")
		}
		if status != 200 || !strings.HasSuffix(body, ": <script>hello</script>\n") {
			t.Errorf("%s: %d %q", path, status, body)
		}
		if header.Get("Content-Type") != want.kind || header.Get("X-Content-Type-Options") != "nosniff" ||
			header.Get("Content-Disposition") != `attachment; filename=`+want.name || header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", path, header)
		}
	}
	if status, _, _ := p.get(good + "&format=pdf"); status != 400 {
		t.Errorf("an unknown format: %d", status)
	}

	u, err := url.Parse(good)
	if err != nil {
		t.Fatal(err)
	}
	with := func(key, value string) string {
		q := u.Query()
		q.Set(key, value)
		return u.Path + "?" + q.Encode()
	}
	signature := u.Query().Get("signature")
	for name, bad := range map[string]string{
		"no signature":      with("signature", ""),
		"cut signature":     with("signature", signature[:len(signature)-1]),
		"another signature": with("signature", strings.Repeat("A", len(signature))),
		"another id":        with("id", string(running)),
		"a later end":       with("expires", "99999999999"),
		"no end":            with("expires", ""),
		"nothing":           u.Path,
	} {
		if status, body, _ := p.get(bad); status != 403 || strings.Contains(body, "hello") {
			t.Errorf("%s: %d %q", name, status, body)
		}
	}

	p.now = p.now.Add(15*time.Minute - 2*time.Second)
	if status, _, _ := p.get(good); status != 200 {
		t.Errorf("just before its end: %d", status)
	}
	p.now = p.now.Add(3 * time.Second)
	if status, body, _ := p.get(good); status != 403 || strings.Contains(body, "hello") {
		t.Errorf("after its end: %d", status)
	}
	// Another process signs with another key.
	other := newLogPages(t)
	if status, _, _ := p.get(other.url(ended, other.now)); status != 403 {
		t.Errorf("signed by another process: %d", status)
	}
}

func TestNoURLWithoutALog(t *testing.T) {
	p := newLogPages(t)
	for name, g := range map[string]*messages.GameSession{
		"unknown": {ID: ended + "x", Terminated: p.now},
		"too old": {ID: ended, Terminated: p.now.Add(-14*24*time.Hour - time.Second)},
	} {
		if u, err := p.logs.URL(t.Context(), g, false); err == nil {
			t.Errorf("%s: %s", name, u)
		}
	}
	_ = p.url(ended, p.now.Add(-14*24*time.Hour+time.Second))
	if status, _, _ := p.get(strings.Replace(p.url(ended, p.now), "/gamesession-logs", "/debug/gamesession-log", 1) + "x"); status != 200 {
		t.Errorf("an operator needs no signature: %d", status)
	}
}

func TestOperatorsReadAnyLog(t *testing.T) {
	p := newLogPages(t)
	status, list, _ := p.get("/debug/gamesession-log")
	lines := strings.Split(strings.TrimSpace(list), "\n")
	if status != 200 || len(lines) != 4 || !strings.Contains(lines[0], "running") || !strings.Contains(lines[3], "fleet-x/ended ") || !strings.Contains(lines[3], "  ended 20") {
		t.Errorf("%d\n%s", status, list)
	}
	for _, c := range []struct {
		id     string
		status int
		text   string
	}{
		{string(running), 200, "hello"}, {"running", 200, "hello"}, {"ended", 200, "hello"}, {string(twinB), 200, "hello"},
		{"twin", 409, string(twinA)}, {"end", 200, "hello"}, {"nd", 404, "no log"}, {"..%2f..%2fetc%2fpasswd", 404, "no log"},
	} {
		if status, body, _ := p.get("/debug/gamesession-log?id=" + c.id); status != c.status || !strings.Contains(body, c.text) {
			t.Errorf("%s: %d %q", c.id, status, body)
		}
	}
}

// piped is a response that a test reads while it is written.
type piped struct {
	*httptest.ResponseRecorder
	to *io.PipeWriter
}

func (w piped) Write(b []byte) (int, error) { return w.to.Write(b) }

func TestOperatorsFollow(t *testing.T) {
	p := newLogPages(t)
	from, to := io.Pipe()
	go func() {
		p.pages.ServeHTTP(piped{httptest.NewRecorder(), to}, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/debug/gamesession-log?follow=1&id=running", nil))
		to.Close()
	}()
	await := func(text string) {
		t.Helper()
		var got strings.Builder
		buffer := make([]byte, 1000)
		for !strings.Contains(got.String(), text) {
			n, err := from.Read(buffer)
			if got.Write(buffer[:n]); err != nil {
				t.Fatalf("%v after %q", err, got.String())
			}
		}
	}
	await("hello")
	p.running.Write(script.Line{Text: "and more"})
	await("and more")
	p.running.Close()
	if rest, err := io.ReadAll(from); err != nil || len(rest) != 0 {
		t.Errorf("%q, %v", rest, err)
	}
}

// TestLogsForThoseWhoOnlyLook: a game's log may contain player session ids. Callers who may not create player
// sessions see shortened ids, which only tell players apart.
func TestLogsForThoseWhoOnlyLook(t *testing.T) {
	p := newLogPages(t)
	const id, other = "psess-1c8fb791-1d94-724e-ba32-b1392cf40942", "psess-54458D19-B894-0DC6-F8A5-9B831E45576D"
	p.running.Write(script.Line{Text: "welcome " + id + other + ", " + strings.Repeat("x", 3000) + id})
	p.running.Write(script.Line{Text: "psess-not-an-id " + other})
	p.running.Close()
	get := func(short bool, change func(string) string) (int, string) {
		t.Helper()
		u, err := p.logs.URL(t.Context(), &messages.GameSession{ID: running, Terminated: p.now}, short)
		if err != nil {
			t.Fatal("no URL")
		}
		status, body, _ := p.get(change(strings.TrimPrefix(u, "http://base")))
		return status, body
	}
	text := func(u string) string { return u + "&format=text" }
	status, full := get(false, text)
	if status != http.StatusOK || strings.Count(full, id) != 2 || strings.Count(full, other) != 2 {
		t.Fatalf("%d: %q", status, full)
	}
	want := strings.ReplaceAll(strings.ReplaceAll(full, id, id[:14]), other, other[:14])
	if status, short := get(true, text); status != http.StatusOK || short != want {
		t.Errorf("%d: %q\nwant %q", status, short, want)
	}
	zipped := func(u string) string { return u }
	if status, archive := get(true, zipped); status != http.StatusOK || unzipped(t, archive, "running.log") != want {
		t.Errorf("%d: %q\nwant %q", status, unzipped(t, archive, "running.log"), want)
	}
	for _, ids := range []string{"", "&ids=", "&ids=full"} {
		if status, text := get(true, func(u string) string { return strings.Replace(u, "&ids=short", ids, 1) }); status != http.StatusForbidden {
			t.Errorf("with %q instead: %d %q", ids, status, text)
		}
	}
}

// slowLog is a log of another node, of which a line comes every second.
type slowLog struct {
	ctx   context.Context
	lines int
}

func (l *slowLog) Read(b []byte) (int, error) {
	if l.lines == 0 {
		return 0, io.EOF
	}
	time.Sleep(time.Second)
	if l.ctx.Err() != nil {
		return 0, context.Cause(l.ctx)
	}
	l.lines--
	return copy(b, "hello\n"), nil
}

func (l *slowLog) Close() error { return nil }

// The download of a log from another node may take longer than the wait for its last lines.
func TestASlowLogOfAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newLogPages(t)
		p.logs.Share([]byte("key"), func(ctx context.Context, _ messages.GameSessionID, _ int64, follow time.Duration) (io.ReadCloser, bool, error) {
			if follow > 3*time.Second {
				t.Errorf("it follows for %v", follow)
			}
			return &slowLog{ctx, 10}, true, nil
		})
		signed := p.url("elsewhere", p.now)
		want := strings.Repeat("hello\n", 10)
		if status, body, _ := p.get(signed + "&format=text"); status != 200 || body != want {
			t.Errorf("%d %q", status, body)
		}
		if status, body, _ := p.get(signed); status != 200 || unzipped(t, body, "elsewhere.log") != want {
			t.Errorf("%d", status)
		}
	})
}

// A log whose game session does not end is served up to its last line.
func TestASignedLogThatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newLogPages(t)
		signed := p.url(running, p.now)
		if status, body, _ := p.get(signed + "&format=text"); status != 200 || !strings.HasSuffix(body, "hello</script>\n") {
			t.Errorf("%d %q", status, body)
		}
		if status, body, _ := p.get(signed); status != 200 || !strings.HasSuffix(unzipped(t, body, "running.log"), "hello</script>\n") {
			t.Errorf("%d", status)
		}
	})
}

// In every format, the client can tell that a log is incomplete because it could not be read to its end.
func TestALogThatCannotBeReadIsBrokenOff(t *testing.T) {
	dir := t.TempDir()
	store, err := sessionlog.Open(dir, sessionlog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	k := store.Open(ended)
	k.Write(script.Line{Text: "hello"})
	k.Close()
	log, err := store.Follow(t.Context(), ended)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := io.ReadAll(log); err != nil || !strings.Contains(string(all), "hello") {
		t.Fatalf("%q, %v", all, err)
	}
	log.Close()
	logs := ops.NewLogs(store, "", time.Now)
	pages := ops.New(ops.Options{Counters: new(counters.Set), Version: "v", Logs: logs}).Mux(http.NotFoundHandler())
	t.Cleanup(store.Close)
	signed, err := logs.URL(t.Context(), &messages.GameSession{ID: ended, Terminated: time.Now()}, false)
	if err != nil {
		t.Fatal("no URL")
	}
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // simulates a failing disk
		if err == nil && d.Type().IsRegular() {
			if err = os.Remove(path); err == nil {
				err = os.Mkdir(path, 0o700)
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/debug/gamesession-log?id=ended", "/debug/gamesession-log?follow=1&id=ended", signed + "&format=text"} {
		w := httptest.NewRecorder()
		func() {
			defer func() {
				if p := recover(); p == nil && w.Code == http.StatusOK || p != nil && p != http.ErrAbortHandler {
					t.Errorf("%s: %v, %d %q", path, p, w.Code, w.Body)
				}
			}()
			pages.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		}()
	}
}
