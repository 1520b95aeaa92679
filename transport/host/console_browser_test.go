package host

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lxzan/gws"
	"github.com/rs/zerolog"

	"troupe/actors/cluster/clustertest"
	"troupe/messages"
)

// TestEachPageOpensInABrowser: every page of the console shows its content and reports no error. It needs
// Chromium.
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

// consolePage is a page of the console. hash is the part of its address behind #/, and has is a text that it
// shows.
type consolePage struct{ name, hash, has string }

// consolePages returns all pages of the console of a consoleHost.
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

// An operator removes a player on the page of a game session after confirming a dialog. A user who may only
// read sees no button.
func TestAnOperatorKicksInABrowser(t *testing.T) {
	path := chromium(t, long)
	base := "http://" + consoleHost(t, Options{}).Addrs().API
	b := openBrowser(t, path)
	b.visit(base + "/")
	page := base + "/#/game-session?id=" + url.QueryEscape(b.eval(firstGameSession))
	const kick = `document.querySelector('[aria-label="Kick ann"]')`
	b.visit(page)
	b.until("log file", `document.querySelector('a[download][href^="admin/v1/game-session/log/file?id="]')`)
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

// TestTheNodesPage: an operator sees the hosts of a cluster, drains one and cancels that, and forgets one that is cut off.
// Where there is no cluster, the page is not in the list of pages. It needs Chromium. `make test` only opens the page.
func TestTheNodesPage(t *testing.T) {
	path := chromium(t, false)
	coordinator := clustertest.NewStore()
	t.Cleanup(coordinator.Close)
	var all []*testHost
	var clients []*clustertest.Client
	for _, name := range []string{"ash", "elm", "oak"} {
		client := coordinator.Client()
		o := Options{Config: config(t), Coordinator: client, Version: "test"}
		o.Config.Cluster.Name, o.Config.Cluster.Node = "test", name
		o.Config.Cluster.Etcd.Endpoints, o.Config.Cluster.Peers.Addr = []string{"http://127.0.0.1:1"}, "127.0.0.1:0"
		all, clients = append(all, start(t, o)), append(clients, client)
	}
	b := openBrowser(t, path)
	row := func(name, has string) {
		t.Helper()
		b.until(name, fmt.Sprintf(`[...document.querySelectorAll("main tbody tr")].some(r => r.cells[0].textContent === %q && %s)`, name, has))
	}
	act := func(button, text string) {
		t.Helper()
		b.until(button, fmt.Sprintf(`document.querySelector('main [aria-label="%s"]')`, button))
		b.eval(fmt.Sprintf(`document.querySelector('main [aria-label="%s"]').click()`, button))
		b.until("the dialog of "+button, fmt.Sprintf(`document.querySelector("dialog[open]")?.innerText.includes(%q)`, text))
		b.eval(`document.querySelector("dialog[open] [type=submit]").click()`)
		b.until("no dialog", `!document.querySelector("dialog")`)
	}
	b.visit("http://" + all[0].Addrs().API + "/#/nodes")
	for _, name := range []string{"ash", "elm", "oak"} {
		row(name, `r.cells[1].textContent.startsWith("live")`)
	}
	b.until("the leader", `[...document.querySelectorAll("main tbody tr")].filter(r => r.cells[1].textContent.includes("leads")).length === 1`)
	b.until("the list of pages", `document.querySelector('nav a[href="#/nodes"][aria-current]') && !document.querySelector(".problem:not([hidden])")`)
	b.named("nodes")
	if testing.Short() {
		return
	}
	var g *messages.GameSession
	until(t, "a game session of oak", func() bool {
		var err error
		g, err = messages.Do(t.Context(), all[2].System(), messages.CreateGameSession{FleetID: "fleet-dev", MaxPlayers: 2})
		return err == nil
	})
	until(t, "a seat, for which the drain waits", func() bool {
		_, err := messages.Do(t.Context(), all[2].System(), messages.CreatePlayerSessions{GameSessionID: g.ID, Players: []messages.NewPlayer{{PlayerID: "ann"}}})
		return err == nil
	})
	act("Drain oak", "exits when its game sessions have ended")
	row("oak", `r.cells[1].textContent.includes("draining")`)
	act("Cancel the drain oak", "It takes game sessions and players again")
	row("oak", `r.cells[1].textContent === "live" || r.cells[1].textContent === "liveleads"`)
	clients[1].SetFaults(clustertest.Faults{Requests: true}) // it is cut off from etcd
	row("elm", `r.cells[1].textContent.startsWith("adrift") && r.innerText.includes("etcd")`)
	act("Forget elm", "TERMINATED")
	asAnswered(b, `{ ...await a.json(), role: "reader" }`, 200)
	b.visit("http://" + all[0].Addrs().API + "/#/nodes")
	row("ash", `r.cells[1].textContent.startsWith("live")`)
	if n := b.eval(`document.querySelectorAll("main tbody button").length + ""`); n != "0" {
		t.Errorf("a reader sees %s buttons that act", n)
	}
	b.visit("http://" + consoleHost(t, Options{}).Addrs().API + "/")
	b.until("the list of pages", `document.querySelector('nav a[href="#/queues"]') && !document.querySelector('nav a[href="#/nodes"]')`)
}

// firstGameSession is a JavaScript expression for the id of the first game session.
const firstGameSession = `fetch("/admin/v1/game-sessions").then(r => r.json()).then(d => d.gameSessions[0].id)`

// seats is a JavaScript expression for the number of players in the first game session.
const seats = `fetch("/admin/v1/game-sessions").then(r => r.json()).then(d => d.gameSessions[0].players + "")`

// consoleHost starts a host with a game session, a player session and a placement. Without a network in its
// options, the host uses real sockets.
func consoleHost(t *testing.T, o Options) *testHost {
	t.Helper()
	c := config(t)
	c.Events.SSE.Own = true
	withTLS(t, &c)
	c.Fleets[0].GameSessionsMax = 1 // keeps the placement pending
	o.Config, o.Version, o.SetLogLevel = c, "test", func(zerolog.Level) {}
	o.Origin = func(key string) string {
		return cmp.Or(map[string]string{"wss.addr": "flag --wss-addr", "tls.dir": "/etc/troupe/troupe.yaml", "events.sse.own": "TROUPE_EVENTS_SSE_OWN"}[key], "default")
	}
	open := start
	if o.Network != nil {
		open = begin
	}
	h := open(t, o)
	g, err := messages.Do(t.Context(), h.System(), messages.CreateGameSession{FleetID: messages.FleetID(c.Fleets[0].ID), MaxPlayers: 4, Name: "lobby"})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "a seat", func() bool {
		_, err = messages.Do(t.Context(), h.System(), messages.CreatePlayerSessions{GameSessionID: g.ID, Players: []messages.NewPlayer{{PlayerID: "ann"}}})
		return err == nil
	})
	if _, err := messages.Do(t.Context(), h.System(), messages.StartPlacement{ID: "waits", Queue: "queue-dev", MaxPlayers: 2}); err != nil {
		t.Fatal(err)
	}
	_, err = messages.Do(t.Context(), h.System(), messages.StartMatchmaking{TicketID: "ticket-1", Matchmaker: "match-dev", Players: []messages.TicketPlayer{{ID: "ann"}}})
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
	saying  chan string // errors that the page reported
	mute    bool        // the test expects errors of the page, so they are ignored
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

// hang is the time after which a test stops waiting for an unresponsive browser.
const hang = 3 * time.Minute

// long marks tests that `make test` skips. `make test` only opens each page once.
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
		_ = os.RemoveAll(profile) // files that the browser is still writing may remain
	})
	port := ""
	lines := bufio.NewScanner(said)
	for port == "" && lines.Scan() {
		if _, at, ok := strings.Cut(lines.Text(), "DevTools listening on ws://127.0.0.1:"); ok {
			port, _, _ = strings.Cut(at, "/")
		}
	}
	go func() {
		for lines.Scan() { // keep reading, so that the browser does not block
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

// visit loads an address in a fresh document.
func (b *browser) visit(address string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": "about:blank"})
	b.call("Page.navigate", map[string]any{"url": address})
	b.until(address, `document.readyState === "complete" && document.querySelector("h1")`)
}

// eval returns the text result of a JavaScript expression. If the result is a promise, eval waits for it.
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

// named fails the test if an interactive element has no name for a screen reader.
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

// TestAnOperatorActsInABrowser: every action of the pages works. Dialogs ask for confirmation. Filters are
// part of the address. For a reader, the controls are disabled. The keyboard reaches the content.
func TestAnOperatorActsInABrowser(t *testing.T) {
	path := chromium(t, long)
	base := "http://" + consoleHost(t, Options{}).Addrs().API
	b := openBrowser(t, path)
	click := func(selector string) {
		t.Helper()
		b.until(selector, `document.querySelector(`+quoted(selector)+`)`)
		b.eval(`document.querySelector(` + quoted(selector) + `).click()`)
	}
	fill := func(selector, value string) {
		t.Helper()
		b.until(selector, `document.querySelector(`+quoted(selector)+`)`)
		b.eval(`(e => { e.value = ` + quoted(value) + `; e.dispatchEvent(new Event(e.localName === "select" ? "change" : "input", { bubbles: true })); })(document.querySelector(` + quoted(selector) + `))`)
	}
	answers := func(path, has string) {
		t.Helper()
		until(t, path, func() bool {
			return strings.Contains(b.eval(`fetch("/admin/v1/`+path+`").then(r => r.text())`), has)
		})
	}
	rows := func(what, n string) {
		t.Helper()
		b.until(what, `document.querySelectorAll("main tbody tr").length === `+n)
	}

	b.visit(base + "/#/bans")
	rows("the ban", "1")
	click("main .actions button")
	fill("#ask-player", "mallory")
	fill("#ask-seconds", "86400")
	fill("#ask-reason", "rude")
	click("dialog[open] .danger")
	rows("both bans", "2")
	answers("bans", `"playerId":"mallory"`)
	click(`[aria-label="Lift the ban of mallory"]`)
	b.until("the dialog", `document.querySelector("dialog[open]").innerText.includes("at once")`)
	click("dialog[open] [type=submit]")
	rows("one ban", "1")

	b.visit(base + "/#/operate")
	b.until("level", `document.querySelector("main").innerText.includes("In force: info")`)
	fill("#level", "debug")
	b.eval(`document.querySelector("#level").form.requestSubmit()`)
	b.until("level", `document.querySelector("main").innerText.includes("In force: debug")`)
	answers("log-level", `"debug"`)
	downloads := t.TempDir()
	b.call("Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": downloads})
	fill("#kind", "heap")
	b.until("no seconds", `document.querySelector("#seconds").disabled`)
	b.eval(`document.querySelector("#kind").form.requestSubmit()`)
	until(t, "the profile", func() bool {
		file, err := os.Stat(filepath.Join(downloads, "troupe-heap.pprof"))
		return err == nil && file.Size() > 0
	})
	b.until("done", `document.querySelector("[role=status].note").innerText.includes("Done")`)
	click("main .danger")
	fill("#ask-grace", "10")
	click("dialog[open] .danger")
	b.until("draining", `document.querySelector(".state").innerText === "Draining" && document.querySelector("main").innerText.includes("Ends at the latest in\n10 min")`)
	answers("drain", `"draining":true`)
	click("main .actions .quiet")
	click("dialog[open] [type=submit]")
	b.until("live", `document.querySelector(".state").innerText === "Live"`)
	answers("drain", `"draining":false`)

	b.visit(base + "/#/settings")
	fill("#filter", "reconnect.window")
	rows("one setting", "1")
	b.visit(b.eval(`location.href`))
	b.until("the filter after a reload", `document.querySelector("#filter")?.value === "reconnect.window" && document.querySelectorAll("main tbody tr").length === 1`)

	b.visit(base + "/#/game-sessions?status=any&alias=alias-dev")
	rows("the game session of the alias", "1")
	fill("#location", "us-east-1")
	click("main .filters [type=submit]")
	b.until("both are in the address, and asked for", `location.hash.includes("alias=alias-dev&location=us-east-1") &&
		performance.getEntriesByType("resource").some(e => e.name.includes("/game-sessions?alias=alias-dev&location=us-east-1"))`)
	rows("the game session at the location", "1")

	b.visit(base + "/#/placements?status=PENDING")
	rows("the placement", "1")
	fill("#placement", "waits")
	b.eval(`document.querySelector("#placement").form.requestSubmit()`)
	b.until("why it waits", `document.querySelector("h1").innerText === "waits" && document.querySelector(".says").innerText.startsWith("It waits: ")`)
	b.eval(`history.back()`)
	rows("the placement", "1")
	click(`[aria-label="Cancel placement waits"]`)
	click("dialog[open] .danger")
	rows("none", "0")
	answers("placement?id=waits", "CANCELLED")

	b.visit(base + "/#/players")
	fill("#who", "ann")
	b.eval(`document.querySelector("#who").form.requestSubmit()`)
	b.until("the player", `document.querySelector("h1").innerText === "ann" && document.querySelector("main").innerText.includes("reserved")`)

	b.visit(base + "/#/queues")
	b.eval(`document.querySelector('nav a[href="#/fleets"]').click()`)
	b.until("focus on the content", `document.title.startsWith("Fleets") && document.activeElement.id === "main"`)
	b.eval(`document.querySelector(".skip").click()`)
	b.until("the address stays", `location.hash === "#/fleets" && document.activeElement.id === "main"`)
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": false})
	b.until("no list of pages", `getComputedStyle(document.querySelector("nav")).display === "none" && document.documentElement.scrollWidth <= 400`)
	click(".menu")
	b.until("the list of pages", `getComputedStyle(document.querySelector("nav")).display !== "none" && document.querySelector(".menu").ariaExpanded === "true"`)
	click(`nav a[href="#/bans"]`)
	b.until("the page", `document.title.startsWith("Bans") && document.querySelector(".menu").ariaExpanded === "false"`)
	b.visit(base + "/#/game-session?id=" + url.QueryEscape(b.eval(`fetch("/admin/v1/game-sessions").then(r => r.json()).then(d => d.gameSessions[0].id)`)))
	const table = `document.querySelector('[aria-label="Players"].scroll')`
	b.until("the table as cards, and nothing beside the screen", table+`.scrollWidth === `+table+`.clientWidth`)
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 620, "height": 800, "deviceScaleFactor": 1, "mobile": false})
	b.eval(`window.before = ` + table + `; window.before.scrollLeft = 60`)
	b.until("its place after it was drawn anew", table+` !== window.before && `+table+`.scrollLeft === 60`)
	b.call("Emulation.clearDeviceMetricsOverride", nil)

	asAnswered(b, `{ ...await a.json(), role: "reader" }`, 200)
	b.visit(base + "/#/operate")
	b.until("the reason", `document.querySelector(".notice") && document.querySelector("main .danger").disabled`)
	if n := b.eval(`[...document.querySelectorAll("main button, main select, main input")].filter(e => !e.matches(":disabled")).length + ""`); n != "0" {
		t.Errorf("a reader can use %s controls", n)
	}
	b.visit(base + "/#/bans")
	rows("the ban", "1")
	if n := b.eval(`document.querySelectorAll("main button").length + ""`); n != "0" {
		t.Errorf("a reader sees %s buttons", n)
	}
}

// asAnswered makes pages that are opened later get another response for /admin/v1/me. answer is a JavaScript
// expression; in it, a is the real response.
func asAnswered(b *browser, answer string, status int) {
	body, _ := json.Marshal(status)
	b.call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `{ const all = window.fetch;
		window.fetch = async (path, o) => {
			const a = await all(path, o);
			return path === "admin/v1/me" ? new Response(JSON.stringify(` + answer + `), { status: ` + string(body) + ` }) : a;
		}; }`})
}

func quoted(text string) string {
	q, _ := json.Marshal(text)
	return string(q)
}

const (
	axeVersion = "axe-core@4.14.1"
	axeSum     = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
)

// axe returns axe-core from npm. If npm cannot provide it, axe skips the test.
func axe(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("there is no npm on this machine, so axe-core does not check the pages of the console")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "pack", axeVersion, "--silent", "--prefer-offline", "--fetch-retries=0")
	cmd.Dir = t.TempDir()
	cmd.WaitDelay = 5 * time.Second
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("npm does not get %s, so it does not check the pages of the console: %v: %s", axeVersion, err, said)
	}
	all, _ := filepath.Glob(filepath.Join(cmd.Dir, "*.tgz"))
	if len(all) != 1 {
		t.Fatal("npm packs", all)
	}
	packed, err := os.ReadFile(all[0])
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha512.Sum512(packed); base64.StdEncoding.EncodeToString(sum[:]) != axeSum {
		t.Fatal(axeVersion, "is not the package that it was")
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(unzipped); ; {
		switch file, err := files.Next(); {
		case errors.Is(err, io.EOF):
			t.Fatal("there is no axe.min.js in it")
		case err != nil:
			t.Fatal(err)
		case file.Name == "package/axe.min.js":
			text, err := io.ReadAll(files)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
	}
}

// TestThePagesAreAccessible: axe-core reports nothing on any page, in the light and the dark scheme, in a
// dialog and at the login.
func TestThePagesAreAccessible(t *testing.T) {
	path := chromium(t, long)
	script := axe(t)
	base := "http://" + consoleHost(t, Options{}).Addrs().API
	b := openBrowser(t, path)
	check := func(name, rules string) {
		t.Helper()
		if b.eval("typeof axe") == "undefined" {
			b.eval(script)
		}
		found := b.eval(`axe.run(document, { resultTypes: ["violations"]` + rules + ` }).then(r => r.violations.map(v => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + " " + n.failureSummary).join(" | ")).join("\n") || "nothing")`)
		if found != "nothing" {
			t.Errorf("%s: %s", name, found)
		}
	}
	b.visit(base + "/")
	session := b.eval(firstGameSession)
	// This comes first: ann has no connection, so her player session lasts only a minute.
	b.visit(base + "/#/game-session?id=" + url.QueryEscape(session))
	b.until("the button", `document.querySelector('[aria-label="Ban ann"]')`)
	b.eval(`document.querySelector('[aria-label="Ban ann"]').click()`)
	check("a dialog", "")
	for _, page := range consolePages(session) {
		b.visit(base + "/#/" + page.hash)
		// other rules do not depend on colours
		for _, scheme := range []struct{ name, rules string }{{"light", ""}, {"dark", `, runOnly: ["color-contrast"]`}} {
			b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme.name}}})
			b.until(page.name, `document.querySelector("main").innerText.includes(`+quoted(page.has)+`)`)
			check(page.name+", "+scheme.name, scheme.rules)
		}
	}
	asAnswered(b, `{ code: "LoginNeeded", message: "log in" }`, 401)
	b.visit(base + "/")
	b.until("the login", `document.querySelector("form.login")`)
	check("the login", "")
}

// Parts of the playground page, as JavaScript expressions.
const (
	cardOf = `[...document.querySelectorAll(".player")].find(e => e.getAttribute("aria-label") === "Player %s")`
	// payloadsOf are the payloads of a player's messages with op code 7, oldest first.
	payloadsOf = `[...document.querySelectorAll(".packets tbody tr")].reverse().filter(r => r.cells[1].textContent === "%s" && r.cells[2].textContent === "%s" && r.cells[3].textContent === "7").map(r => r.cells[8].querySelector("code").textContent).join(" ")`
)

// TestThePlaygroundPlays: two players on one page join a game session and send messages to each other, to a
// group and to the game. One of them loses its connection, resumes as the same peer, and receives every
// message. It needs Chromium.
func TestThePlaygroundPlays(t *testing.T) {
	path := chromium(t, long)
	c := config(t)
	c.Events.SSE.Own = true
	h := start(t, Options{Config: c, Version: "test"})
	b := openBrowser(t, path)
	b.visit("http://" + h.Addrs().API + "/#/playground")
	b.until("fleets", `document.querySelector("#play-fleet option")`)
	join := func(name string) {
		t.Helper()
		b.eval(fmt.Sprintf(`document.querySelector("#play-name").value = %q; document.querySelector("#play-name").form.requestSubmit()`, name))
		b.until(name, fmt.Sprintf(`(%s)?.innerText.includes("Joined as peer")`, fmt.Sprintf(cardOf, name)))
		b.until("the form", `!document.querySelector("#play-name").form.querySelector("[type=submit]").disabled`)
	}
	join("ann")
	b.until("the game session of ann", `document.querySelector("#play-game").value !== ""`)
	join("bob")
	if n := b.eval(`fetch("/admin/v1/game-sessions").then(r => r.json()).then(d => d.matched + " " + d.gameSessions[0].players)`); n != "1 2" {
		t.Errorf("game sessions and players: %s", n)
	}
	set := func(card, field, value string) {
		t.Helper()
		b.eval(fmt.Sprintf(`{ const e = (%s).querySelector("[id$=-%s]"); e.value = %q; e.dispatchEvent(new Event("change")); }`, fmt.Sprintf(cardOf, card), field, value))
	}
	press := func(card, button string) {
		t.Helper()
		b.eval(fmt.Sprintf(`[...(%s).querySelectorAll("button")].find(e => e.textContent === %q).click()`, fmt.Sprintf(cardOf, card), button))
	}
	say := func(name, to, whom, payload string) {
		t.Helper()
		set(name, "op", "7")
		set(name, "to", to)
		set(name, "whom", whom)
		set(name, "payload", payload)
		press(name, "Send")
	}
	hears := func(name, payloads string) {
		t.Helper()
		b.until(name+" hears", fmt.Sprintf(payloadsOf+" === %q", name, "in", payloads))
	}
	say("ann", "player", "2", "hello")
	hears("bob", "hello")
	set("bob", "kind", "hex")
	say("bob", "player", "1", "00 ff")
	hears("ann", "00 ff")
	press("bob", "Join")
	b.until("group", fmt.Sprintf(`(%s).innerText.includes("Group 1: peers 2")`, fmt.Sprintf(cardOf, "bob")))
	press("ann", "Join") // only members may send to a group
	b.until("group", fmt.Sprintf(`(%s).innerText.includes("Group 1: peers 1, 2")`, fmt.Sprintf(cardOf, "ann")))
	say("ann", "group", "1", "team")
	hears("bob", "hello team")
	say("ann", "server", "1", "script")
	b.until("acknowledged", fmt.Sprintf(`(%s).innerText.includes("3 sent · 2 received · 0 not acknowledged")`, fmt.Sprintf(cardOf, "ann")))

	// While bob is disconnected, both ann and bob send. Afterwards each message has arrived exactly once.
	set("bob", "away", "3000")
	set("bob", "kind", "text")
	press("bob", "Cut")
	b.until("away", fmt.Sprintf(`(%s).innerText.includes("Cut: its connection")`, fmt.Sprintf(cardOf, "bob")))
	heard, said := "hello team", "00 ff team"
	for i := range 5 {
		say("ann", "player", "2", fmt.Sprint("m", i))
		say("bob", "player", "1", fmt.Sprint("b", i))
		heard += fmt.Sprint(" m", i)
		said += fmt.Sprint(" b", i)
	}
	if got := b.eval(fmt.Sprintf(payloadsOf, "bob", "in")); got != "hello team" {
		t.Errorf("bob hears %q while it is away", got)
	}
	b.until("back", fmt.Sprintf(`/as peer 2: \d+ sent again, nothing lost/.test((%s).innerText)`, fmt.Sprintf(cardOf, "bob")))
	hears("bob", heard)
	hears("ann", said)
	b.until("everything is acknowledged", fmt.Sprintf(`(%s).innerText.includes("0 not acknowledged · 1 resume")`, fmt.Sprintf(cardOf, "bob")))
	b.until("the numbers of the resume", `document.querySelector(".packets").innerText.includes("again; has received up to number") && document.querySelector(".packets").innerText.includes("accepted as peer 2; the host has received up to number")`)
	if waits := b.eval(`[...document.querySelectorAll(".packets tr")].filter(r => r.cells[2]?.textContent === "out" && r.cells[7]?.textContent === "waits").length + ""`); waits != "0" {
		t.Errorf("%s packets are not marked as acknowledged", waits)
	}
	// Switching to another page keeps the players connected. The operator's actions are shown as events.
	b.eval(`location.hash = "#/events"`)
	b.until("events", `document.querySelector("main").innerText.includes("create player session") || document.querySelector("main").innerHTML.includes("create player session")`)
	b.eval(`location.hash = "#/playground"`)
	b.until("the players are still there", `document.querySelectorAll(".player").length === 2`)
	say("ann", "all", "1", "bye")
	hears("bob", heard+" bye")
	press("bob", "Leave the game")
	b.until("left", fmt.Sprintf(`(%s).innerText.includes("Has left")`, fmt.Sprintf(cardOf, "bob")))
	b.until("one is left", `fetch("/admin/v1/game-sessions").then(r => r.json()).then(d => d.gameSessions[0].players === 1)`)
	b.named("playground")
}

// TestThePlaygroundKeepsSomePackets: the page keeps a limited number of packets, so a player who sends a lot
// does not exhaust the tab's memory.
func TestThePlaygroundKeepsSomePackets(t *testing.T) {
	path := chromium(t, long)
	h := start(t, Options{Config: config(t)})
	b := openBrowser(t, path)
	b.visit("http://" + h.Addrs().API + "/#/playground")
	rows := b.eval(`(async () => {
		const { Log, packetsMax } = await import("/console/packets.js");
		const { packetTable } = await import("/console/packettable.js");
		const log = new Log(), table = packetTable(log);
		document.body.append(table.section);
		for (let i = 0; i < 3 * packetsMax; i++) {
			log.add({ player: "ann", event: "event " + i });
			if (i % 100 === 0) await new Promise(requestAnimationFrame);
		}
		await new Promise(requestAnimationFrame);
		await new Promise(requestAnimationFrame);
		const shown = table.section.querySelectorAll("tbody tr");
		return packetsMax + " " + log.entries.length + " " + shown.length + " " + shown[0].cells[2].textContent;
	})()`)
	if rows != "500 500 500 event 1499" {
		t.Errorf("kept, shown, and the newest: %s", rows)
	}
}

// TestThePlaygroundNeedsAnOperator: for a key with reading operations only, the page shows no form, and
// requests for player sessions and game sessions are refused.
func TestThePlaygroundNeedsAnOperator(t *testing.T) {
	c := config(t)
	c.API.Keys = []APIKey{{ID: guardKey, Secret: guardSecret}, {ID: "KEYREADER", Secret: guardSecret, Allow: []string{"gamelift:Describe*", "gamelift:List*", "gamelift:Search*", "gamelift:GetGameSessionLogUrl"}}}
	synctest.Test(t, func(t *testing.T) {
		h := begin(t, Options{Config: c})
		for _, path := range []string{"/admin/v1/players?player=ann&gameSession=x", "/admin/v1/game-sessions?fleet=fleet-dev"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.Addrs().APIURL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			signedAs(t, "KEYREADER")(r)
			a := h.send(r)
			if a.Body.Close(); a.StatusCode != http.StatusForbidden {
				t.Errorf("%s: %d", path, a.StatusCode)
			}
		}
	})
	path := chromium(t, long)
	base := start(t, Options{Config: c}).Addrs().APIURL
	b := openBrowser(t, path)
	b.mute = true
	for key, shows := range map[string]string{"KEYREADER": "Yours may look, and not act", guardKey: "Add a player"} {
		b.visit(base + "/#/playground")
		b.until("login", `document.querySelector("#key")`)
		b.eval(fmt.Sprintf(`document.querySelector("#key").value = %q; document.querySelector("#secret").value = %q; document.querySelector("form").requestSubmit()`, key, guardSecret))
		b.until(key, fmt.Sprintf(`document.querySelector("main")?.innerText.includes(%q)`, shows))
		if n := b.eval(`document.querySelectorAll("main form").length + ""`); (key == "KEYREADER") != (n == "0") {
			t.Errorf("%s sees %s forms", key, n)
		}
		b.eval(`document.querySelector(".who button").click()`)
		b.until("logged out", `document.querySelector("#key")`)
	}
}

// The content security policy allows connections to the host's own game listeners, and to nothing else.
func TestThePolicyNamesTheGameListeners(t *testing.T) {
	c := config(t)
	withTLS(t, &c)
	named := func(t *testing.T, h *testHost) {
		t.Helper()
		_, header, _ := h.call("GET", "/", "", "Accept", "text/html")
		_, wss, _ := strings.Cut(h.Addrs().WSS, ":")
		want := "connect-src 'self' ws://" + h.Addrs().WS + " wss://localhost:" + wss + ";"
		if got := header.Get("Content-Security-Policy"); !strings.Contains(got, want) {
			t.Errorf("%s: no %s", got, want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		virtual := c
		withTLS(t, &virtual)
		named(t, begin(t, Options{Config: virtual}))
	})
	path := chromium(t, long)
	h := start(t, Options{Config: c})
	named(t, h)
	b := openBrowser(t, path)
	b.mute = true
	b.visit("http://" + h.Addrs().API + "/#/playground")
	b.until("fleets", `document.querySelector("#play-fleet option")`)
	other := b.eval(`new Promise(done => { addEventListener("securitypolicyviolation", e => done(e.effectiveDirective)); try { new WebSocket("ws://127.0.0.1:1/") } catch (e) { done("thrown") } })`)
	if other != "connect-src" {
		t.Errorf("a WebSocket to another address: %q", other)
	}
	// If the browser does not trust the certificate, the page says what to do.
	b.eval(`document.querySelector("#play-scheme").value = "wss"; document.querySelector("#play-name").form.requestSubmit()`)
	b.until("the hint", `document.querySelector("main").innerText.includes("troupe tls trust")`)
}
