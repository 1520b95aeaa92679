package host

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/lxzan/gws"
	"github.com/rs/zerolog"

	"troupe/messages"
)

// TestEachPageOpensInABrowser: no page of the console reports an error, and each shows what it is
// for. It needs Chromium.
func TestEachPageOpensInABrowser(t *testing.T) {
	path := chromium(t, false)
	base := "http://" + consoleHost(t, Options{}).Addrs().API
	b := openBrowser(t, path)
	b.visit(base + "/")
	for _, page := range consolePages(b.eval(firstGameSession)) {
		b.visit(base + "/#/" + page.hash)
		b.until(page.name, fmt.Sprintf(`document.querySelector("main").innerText.includes(%q) && !document.querySelector(".problem:not([hidden])")`, page.has))
		b.until(page.name, `document.querySelector("nav [aria-current]") && document.querySelector("h1")`)
		b.named(page.name)
	}
}

// consolePage is a page of the console: its name, its address behind #/, and what it shows.
type consolePage struct{ name, hash, has string }

// consolePages are all pages of the console of a consoleHost.
func consolePages(session string) []consolePage {
	return []consolePage{
		{"overview", "", "Messages delivered"},
		{"game-sessions", "game-sessions", "fleet-"},
		{"game-session", "game-session?id=" + url.QueryEscape(session), "Takes players"},
		{"players", "players", "Longest queue"},
		{"player", "player?id=ann", "Connections that have ended"},
		{"closed", "closed", "Closed by"},
		{"bans", "bans", "a-cheater"},
		{"events", "events", "JSON"},
		{"placements", "placements", "Why it waits"},
		{"placement", "placement?id=waits", "It waits: "},
		{"queues", "queues", "queue-"},
		{"matchmaking", "matchmaking", "ticket-1"},
		{"ticket", "ticket?id=ticket-1", "What keeps other tickets from it"},
		{"fleets", "fleets", "Process groups"},
		{"scripts", "scripts", "Scripts of the configuration"},
		{"listeners", "listeners", "encrypted"},
		{"settings", "settings", "reconnect.window"},
		{"operate", "operate", "In force: "},
		{"playground", "playground", "Add a player"},
	}
}

// An operator removes a player on the page of a game session: the dialog asks first, and
// whoever may only look sees no button.
func TestAnOperatorKicksInABrowser(t *testing.T) {
	path := chromium(t, long)
	base := "http://" + consoleHost(t, Options{}).Addrs().API
	b := openBrowser(t, path)
	b.visit(base + "/")
	page := base + "/#/game-session?id=" + url.QueryEscape(b.eval(firstGameSession))
	const kick = `document.querySelector('[aria-label="Kick ann"]')`
	b.visit(page)
	b.until("log file", `document.querySelector('a[download][href^="/admin/v1/game-session/log/file?id="]')`)
	b.until("time line", `document.querySelector("main").innerText.includes("reserved")`)
	b.until("kick", kick)
	b.eval(kick + `.click()`)
	b.until("the dialog", `document.querySelector("dialog[open]").innerText.includes("Kick ann?")`)
	b.eval(`document.querySelector("dialog .quiet").click()`)
	b.until("no dialog", `!document.querySelector("dialog")`)
	if left := b.eval(seats); left != "1" {
		t.Errorf("%s players are left although the dialog was cancelled", left)
	}
	b.until("kick", kick)
	b.eval(kick + `.click()`)
	b.until("the dialog", `document.querySelector("dialog[open]")`)
	b.eval(`document.querySelector("dialog .danger").click()`)
	b.until("no dialog", `!document.querySelector("dialog") && !`+kick)
	if left := b.eval(seats); left != "0" {
		t.Errorf("%s players are left after the kick", left)
	}
	asAnswered(b, `{ ...await a.json(), role: "reader" }`, 200)
	b.visit(page)
	b.until("facts", `document.querySelector("main").innerText.includes("Takes players")`)
	if n := b.eval(`document.querySelectorAll("main .danger").length + ""`); n != "0" {
		t.Errorf("a reader sees %s buttons that act", n)
	}
}

// firstGameSession is the id of the first game session.
const firstGameSession = `fetch("/admin/v1/game-sessions").then(r => r.json()).then(d => d.gameSessions[0].id)`

// seats is how many players have a seat in the first game session.
const seats = `fetch("/admin/v1/game-sessions").then(r => r.json()).then(d => d.gameSessions[0].players + "")`

// consoleHost starts a host with a game session, a player session and a placement, on sockets unless the options have a network.
func consoleHost(t *testing.T, o Options) *testHost {
	t.Helper()
	c := config(t)
	c.Events.SSE.Own = true
	withTLS(t, &c)
	c.Fleets[0].GameSessionsMax = 1 // so that the placement waits
	o.Config, o.Version, o.SetLogLevel = c, "test", func(zerolog.Level) {}
	o.Origin = func(key string) string {
		return cmp.Or(map[string]string{"wss.addr": "flag --wss-addr", "tls.dir": "/etc/troupe/troupe.yaml", "events.sse.own": "TROUPE_EVENTS_SSE_OWN"}[key], "default")
	}
	open := start
	if o.Network != nil {
		open = begin
	}
	h := open(t, o)
	g, err := h.System().CreateGameSession(t.Context(), messages.CreateGameSession{FleetID: messages.FleetID(c.Fleets[0].ID), MaxPlayers: 4, Name: "lobby"})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "a seat", func() bool {
		_, err = h.System().CreatePlayerSessions(t.Context(), messages.CreatePlayerSessions{GameSessionID: g.ID, Players: []messages.NewPlayer{{PlayerID: "ann"}}})
		return err == nil
	})
	if _, err := h.System().StartPlacement(t.Context(), messages.StartPlacement{ID: "waits", Queue: "queue-dev", MaxPlayers: 2}); err != nil {
		t.Fatal(err)
	}
	_, err = h.System().StartMatchmaking(t.Context(), messages.StartMatchmaking{TicketID: "ticket-1", Matchmaker: "match-dev", Players: []messages.TicketPlayer{{ID: "ann"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Ban(t.Context(), messages.Ban{Player: "a-cheater", Until: time.Now().Add(time.Hour), Reason: "wall hack", By: "KEYOPERA"}); err != nil {
		t.Fatal(err)
	}
	return h
}

// browser is a page of a headless Chromium, driven over its debugging protocol.
type browser struct {
	gws.BuiltinEventHandler
	t       *testing.T
	conn    *gws.Conn
	last    int
	answers chan cdp
	saying  chan string // errors
	mute    bool        // errors are what the test wants
}

type cdp struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// hang is when a test gives a browser up that does nothing.
const hang = 3 * time.Minute

// long is for tests that make test does without: it opens each page once.
const long = true

// chromium returns the path of the browser, or skips the test.
func chromium(t *testing.T, long bool) string {
	t.Helper()
	path, err := exec.LookPath("chromium")
	switch {
	case err != nil:
		t.Skip("there is no chromium on this machine, so no page is opened")
	case long && testing.Short():
		t.Skip("a browser opens each page once; make test-full does more with it")
	}
	return path
}

func openBrowser(t *testing.T, path string) *browser {
	t.Helper()
	profile, err := os.MkdirTemp("", "console-browser-")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	cmd := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,900",
		"--remote-debugging-port=0", "--user-data-dir="+profile, "about:blank")
	cmd.WaitDelay = 5 * time.Second
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
		_ = os.RemoveAll(profile) // what the browser still writes stays
	})
	port := ""
	lines := bufio.NewScanner(said)
	for port == "" && lines.Scan() {
		if _, at, ok := strings.Cut(lines.Text(), "DevTools listening on ws://127.0.0.1:"); ok {
			port, _, _ = strings.Cut(at, "/")
		}
	}
	go func() {
		for lines.Scan() { // so that it does not block
		}
	}()
	target := ""
	for deadline := time.Now().Add(hang); target == "" && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		var list []struct{ Type, WebSocketDebuggerURL string }
		if getJSON("http://127.0.0.1:"+port+"/json/list", &list) == nil {
			for _, one := range list {
				if one.Type == "page" {
					target = one.WebSocketDebuggerURL
				}
			}
		}
	}
	b := &browser{t: t, answers: make(chan cdp, 1), saying: make(chan string, 1000)}
	b.conn, _, err = gws.NewClient(b, &gws.ClientOption{Addr: target, ReadMaxPayloadSize: 64 << 20})
	if err != nil {
		t.Fatalf("no page of the browser at %q: %v", target, err)
	}
	go b.conn.ReadLoop()
	t.Cleanup(func() { _ = b.conn.NetConn().Close() })
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		b.call(domain+".enable", nil)
	}
	return b
}

// OnMessage implements gws.Event.
func (b *browser) OnMessage(_ *gws.Conn, m *gws.Message) {
	defer m.Close()
	var got cdp
	if json.Unmarshal(m.Bytes(), &got) != nil {
		return
	}
	switch {
	case got.ID > 0:
		b.answers <- got
	case got.Method == "Runtime.exceptionThrown",
		got.Method == "Log.entryAdded" && strings.Contains(string(got.Params), `"level":"error"`),
		got.Method == "Runtime.consoleAPICalled" && strings.Contains(string(got.Params), `"type":"error"`):
		select {
		case b.saying <- string(got.Params):
		default:
		}
	}
}

func (b *browser) call(method string, params any) json.RawMessage {
	b.t.Helper()
	b.last++
	text, err := json.Marshal(map[string]any{"id": b.last, "method": method, "params": params})
	if err == nil {
		err = b.conn.WriteMessage(gws.OpcodeText, text)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	limit := time.NewTimer(hang)
	defer limit.Stop()
	for {
		select {
		case said := <-b.saying:
			if b.mute {
				continue
			}
			b.t.Errorf("the browser says: %s", said)
		case a := <-b.answers:
			if a.Error != nil {
				b.t.Fatalf("%s: %s", method, a.Error.Message)
			}
			return a.Result
		case <-limit.C:
			b.t.Fatalf("%s is not answered", method)
		}
	}
}

// visit opens an address, from anew.
func (b *browser) visit(address string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": "about:blank"})
	b.call("Page.navigate", map[string]any{"url": address})
	b.until(address, `document.readyState === "complete" && document.querySelector("h1")`)
}

// eval returns the text that an expression, or the promise that it is, results in.
func (b *browser) eval(expression string) string {
	b.t.Helper()
	var out struct {
		Result struct {
			Value any `json:"value"`
		} `json:"result"`
	}
	raw := b.call("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true})
	if err := json.Unmarshal(raw, &out); err != nil {
		b.t.Fatal(err)
	}
	text, _ := out.Result.Value.(string)
	return text
}

func (b *browser) until(what, condition string) {
	b.t.Helper()
	deadline := time.Now().Add(hang)
	for b.eval(`(`+condition+`) ? "yes" : ""`) != "yes" {
		if time.Now().After(deadline) {
			b.t.Fatalf("%s: not %s: it shows %s", what, condition, b.eval(`document.body ? document.body.innerText.slice(0, 1000) : "nothing"`))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// named fails the test if an element that is used has no name for a screen reader.
func (b *browser) named(page string) {
	b.t.Helper()
	if nameless := b.eval(`[...document.querySelectorAll("input,select,button,a")].filter(e => !(e.innerText || e.getAttribute("aria-label") || (e.labels && e.labels.length))).length + ""`); nameless != "0" {
		b.t.Errorf("%s: %s elements have no name for a screen reader", page, nameless)
	}
}

func getJSON(address string, into any) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	a, err := client.Get(address)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	return json.NewDecoder(a.Body).Decode(into)
}
