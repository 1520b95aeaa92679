package host

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/transport/client"
	"troupe/transport/ops"
)

var (
	costOf     = flag.Bool("console.cost", false, "measure what the console costs a host with many players (make proof-console)")
	costGames  = flag.Int("console.games", 1000, "game sessions of that host")
	costPlays  = flag.Int("console.players", 5000, "players of that host")
	costWindow = flag.Duration("console.window", 6*time.Second, "how long the host's CPU time is measured for each page")
)

// Limits of the console's cost: main-thread time until a page is drawn, and processors that the host uses
// while somebody has the console open (seenMax) and while nobody has (unseenMax).
const (
	pageTimeMax = 200 * time.Millisecond
	seenMax     = 0.05
	unseenMax   = 0.01
)

// costHost is an environment variable. If it is set, the process is the host to be measured.
const costHost = "TROUPE_TEST_CONSOLE_COST_HOST"

// TestTheHostOfTheCost runs the host that TestTheConsoleIsCheap measures, in its own process. The host ends
// when its input ends. Without costHost, the test does nothing.
func TestTheHostOfTheCost(t *testing.T) {
	if os.Getenv(costHost) == "" {
		return
	}
	c := config(t)
	c.Events.SSE.Own = true
	c.Fleets[0].GameSessionsMax = *costGames
	l := &c.Limits
	l.PlayerMessagesPerSecond, l.ConnectionsPerIPPerSecond, l.UnauthenticatedPerIP = 0, 0, 0
	h, err := Start(Options{Config: c, Log: zerolog.New(os.Stderr).Level(zerolog.WarnLevel), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	fmt.Println("listening on " + h.Addrs().API)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// TestTheConsoleIsCheap: with 1,000 game sessions and 5,000 players, drawing a page takes less than 200 ms of
// the browser's main thread. The host uses less than 5 % of a processor for the console while somebody has it
// open, and less than 1 % otherwise: then a CPU profile contains none of the console's streams and samples.
// The test needs a quiet machine and Chromium.
func TestTheConsoleIsCheap(t *testing.T) {
	if !*costOf {
		return // the results of a busy machine mean nothing: run make proof-console
	}
	path := chromium(t, long)
	h := startCostHost(t)
	h.fill(*costGames, *costPlays)
	h.each(200, func(i int) error { // fills the page of closed connections
		c, err := h.dial(i%*costGames, fmt.Sprint("guest-", i))
		if err == nil {
			c.Close()
		}
		return err
	})
	var o overviewOf
	if err := json.Unmarshal([]byte(h.get("/admin/v1/overview")), &o); err != nil || o.Players["attached"] < int64(*costPlays) {
		t.Fatalf("%d players are attached, %v", o.Players["attached"], err)
	}
	time.Sleep(3 * time.Second) // let the garbage collector finish
	before := h.cpu(*costWindow * 2)
	t.Logf("%d game sessions, %d players; the host without anybody who looks: %.2f %% of a processor", *costGames, *costPlays, 100*before)

	b := openBrowser(t, path)
	b.call("Performance.enable", nil)
	b.visit("http://" + h.api + "/")
	b.until("live", `document.querySelector(".state.good")`)
	var pages []string
	if err := json.Unmarshal([]byte(b.eval(`JSON.stringify([...document.querySelectorAll("nav a")].map(e => e.getAttribute("href")))`)), &pages); err != nil {
		t.Fatal(err)
	}
	game := b.eval(`fetch("/admin/v1/game-sessions").then(r => r.json()).then(d => d.gameSessions[0].id)`)
	pages = append(pages, "#/game-session?id="+url.QueryEscape(game), "#/player?id=player-1")
	for _, page := range pages {
		b.eval(`location.hash = "#/none"`)
		b.until("another page", `document.querySelector("main").innerText.includes("no such page")`)
		time.Sleep(300 * time.Millisecond)
		busy := b.busy()
		shown := b.eval(fmt.Sprintf(`new Promise(done => {
			const began = performance.now();
			const drawn = () => !document.querySelector("main").innerText.includes("no such page") && document.querySelector("main .scroll, main .facts, main .card, main .empty, main form, main .panel");
			const look = () => drawn() ? requestAnimationFrame(() => requestAnimationFrame(() => done((performance.now() - began).toFixed(0)))) : requestAnimationFrame(look);
			location.hash = %q;
			look();
		})`, page))
		time.Sleep(700 * time.Millisecond) // let the responses arrive and be drawn
		busy = b.busy() - busy
		cost := h.cpu(*costWindow) - before
		t.Logf("%-24.24s shown after %4s ms, %4d ms of the main thread, rows %4s, host %+.2f %% of a processor", page, shown, busy.Milliseconds(),
			b.eval(`document.querySelectorAll("main tbody tr").length + ""`), 100*cost)
		if busy > pageTimeMax {
			t.Errorf("%s takes %v of the browser's main thread", page, busy)
		}
		if cost > seenMax {
			t.Errorf("%s takes %.1f %% of a processor of the host", page, 100*cost)
		}
	}
	b.call("Page.navigate", map[string]any{"url": "about:blank"})
	time.Sleep(2 * time.Second)
	const window = 8 * time.Second // the profiler takes 100 samples per second of CPU time, so 1 % of a processor is 8 samples
	profile := []byte(h.get(fmt.Sprintf("/debug/pprof/profile?seconds=%.0f", window.Seconds())))
	if spentIn(t, profile, `troupe/transport/websocket\.`) == 0 {
		t.Fatal("the profile has not even the players' pings")
	}
	unseen := spentIn(t, profile, ofConsole).Seconds() / window.Seconds()
	t.Logf("without anybody who looks, the console takes %.2f %% of a processor of the host's %.2f %%", 100*unseen, 100*spentIn(t, profile, ".").Seconds()/window.Seconds())
	if unseen >= unseenMax {
		t.Errorf("the console takes %.1f %% of a processor when nobody looks", 100*unseen)
	}
	if spentIn(t, h.profileOfAsking(), ofConsole) == 0 {
		t.Error("a profile does not show the console even while it answers")
	}
	if spent := spentIn(t, profile, `transport/console\.(\(\*hub\)|\(\*Console\)\.(sample|crowdNow|events)\b)`); spent > 0 {
		t.Errorf("the console takes samples for %v when nobody looks", spent)
	}
	// The difference between two measurements has an error of a percent or two. So it is only logged, and the
	// profile decides.
	t.Logf("afterwards, without anybody who looks: %+.2f %% of a processor, and nothing of the console in a profile", 100*(h.cpu(*costWindow*2)-before))
	if stacks := h.get("/debug/pprof/goroutine?debug=2"); strings.Contains(stacks, "transport/console.(*hub)") {
		t.Error("the console still sends when nobody looks")
	}
}

// ofConsole matches all functions of the console except Mux: Mux calls the other handlers, so the whole
// service API runs below it.
const ofConsole = `troupe/transport/console\.(\(\*Console\)\.([^M]|M[^u])|\(\*[^C]|[^(])`

var accounted = regexp.MustCompile(`accounting for (\d+)ns`)

// spentIn returns the time in a CPU profile that was spent in matching functions and in the functions they
// call.
func spentIn(t *testing.T, profile []byte, functions string) time.Duration {
	t.Helper()
	file := filepath.Join(t.TempDir(), "profile")
	if err := os.WriteFile(file, profile, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "tool", "pprof", "-symbolize=none", "-top", "-unit=ns", "-nodefraction=0", "-nodecount=1000000", "-focus="+functions, file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if strings.Contains(string(out), "matched no samples") {
		return 0
	}
	m := accounted.FindSubmatch(out)
	if m == nil {
		t.Fatalf("pprof says %s", out)
	}
	n, _ := strconv.ParseInt(string(m[1]), 10, 64)
	return time.Duration(n)
}

// busy returns how long the page's main thread has been working.
func (b *browser) busy() time.Duration {
	b.t.Helper()
	var m struct {
		Metrics []struct {
			Name  string
			Value float64
		}
	}
	if err := json.Unmarshal(b.call("Performance.getMetrics", nil), &m); err != nil {
		b.t.Fatal(err)
	}
	for _, one := range m.Metrics {
		if one.Name == "TaskDuration" {
			return time.Duration(one.Value * float64(time.Second))
		}
	}
	b.t.Fatal("the browser does not tell how busy it is")
	return 0
}

// overviewOf is the part of an overview that the tests use.
type overviewOf struct{ Players map[string]int64 }

// costed is a client of the host that is measured.
type costed struct {
	t    *testing.T
	api  string
	csrf string
	http *http.Client
	ids  []string // ids of the game sessions
}

func startCostHost(t *testing.T) *costed {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	args := []string{"-test.run=^TestTheHostOfTheCost$", fmt.Sprintf("-console.games=%d", *costGames), "-test.timeout=30m"}
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), costHost+"=1")
	cmd.Stderr, cmd.WaitDelay = os.Stderr, 10*time.Second
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = input.Close()
		ended := time.AfterFunc(30*time.Second, cancel)
		_ = cmd.Wait()
		ended.Stop()
		cancel()
	})
	h := &costed{t: t, http: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 32}}}
	t.Cleanup(h.http.CloseIdleConnections)
	lines := bufio.NewScanner(output)
	for h.api == "" && lines.Scan() {
		_, h.api, _ = strings.Cut(lines.Text(), "listening on ")
	}
	go func() {
		for lines.Scan() { // keep reading, so that the host does not block
		}
	}()
	if h.api == "" {
		t.Fatal("the host does not start")
	}
	var me struct{ CSRFToken string }
	if err := json.Unmarshal([]byte(h.get("/admin/v1/me")), &me); err != nil {
		t.Fatal(err)
	}
	h.csrf = me.CSRFToken
	return h
}

func (h *costed) do(method, path string) (string, error) {
	r, err := http.NewRequest(method, "http://"+h.api+path, nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("X-CSRF-Token", h.csrf)
	a, err := h.http.Do(r)
	if err != nil {
		return "", err
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err == nil && a.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %d %s", method, path, a.StatusCode, body)
	}
	return string(body), err
}

func (h *costed) get(path string) string {
	h.t.Helper()
	body, err := h.do(http.MethodGet, path)
	if err != nil {
		h.t.Fatal(err)
	}
	return body
}

// profileOfAsking takes a CPU profile while overviews are requested in a loop.
func (h *costed) profileOfAsking() []byte {
	h.t.Helper()
	stop := make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := h.do(http.MethodGet, "/admin/v1/overview"); err != nil {
				h.t.Error(err)
				return
			}
		}
	})
	defer asking.Wait()
	defer close(stop)
	return []byte(h.get("/debug/pprof/profile?seconds=4"))
}

// cpu returns how many processors the host uses on average during a period.
func (h *costed) cpu(over time.Duration) float64 {
	h.t.Helper()
	used := func() float64 {
		var f ops.RuntimeFigures
		if err := json.Unmarshal([]byte(h.get("/debug/runtime")), &f); err != nil || f.Process.UserSeconds == 0 {
			h.t.Fatalf("the host does not tell its CPU time: %v", err)
		}
		return f.Process.UserSeconds + f.Process.SystemSeconds
	}
	began, before := time.Now(), used()
	time.Sleep(over)
	return (used() - before) / time.Since(began).Seconds()
}

// fill creates game sessions, and logs in players until the end of the test.
func (h *costed) fill(games, players int) {
	h.t.Helper()
	var mu sync.Mutex
	var conns []*client.Client
	h.t.Cleanup(func() {
		for _, c := range conns {
			c.Abort()
		}
	})
	h.each(games, func(i int) error {
		body, err := h.do(http.MethodPost, fmt.Sprintf("/admin/v1/game-sessions?fleet=fleet-dev&maxPlayers=200&name=game-%d", i))
		var g struct{ ID, Status string }
		if err = errors.Join(err, json.Unmarshal([]byte(body), &g)); err == nil && g.Status != "ACTIVE" {
			err = fmt.Errorf("a game session is %s", g.Status)
		}
		mu.Lock()
		defer mu.Unlock()
		h.ids = append(h.ids, g.ID)
		return err
	})
	h.each(players, func(i int) error {
		c, err := h.dial(i%games, fmt.Sprint("player-", i))
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		conns = append(conns, c)
		return nil
	})
}

// dial logs a player in to the game session with index game.
func (h *costed) dial(game int, player string) (*client.Client, error) {
	body, err := h.do(http.MethodPost, "/admin/v1/players?"+url.Values{"gameSession": {h.ids[game]}, "player": {player}}.Encode())
	var s struct {
		PlayerSessionID string
		URLs            []string
	}
	if err = errors.Join(err, json.Unmarshal([]byte(body), &s)); err != nil {
		return nil, err
	}
	c, err := client.Dial(context.Background(), client.Options{Addr: strings.TrimPrefix(s.URLs[0], "ws://"), PlayerSessionID: s.PlayerSessionID})
	if err != nil {
		return nil, err
	}
	go func() {
		for range c.Events() { // keep receiving, so that no player counts as slow
		}
	}()
	return c, nil
}

// each calls f for 0 to n-1, with several calls at the same time.
func (h *costed) each(n int, f func(i int) error) {
	h.t.Helper()
	var all sync.WaitGroup
	work := make(chan int)
	failed := make(chan error, n)
	for range 16 {
		all.Go(func() {
			for i := range work {
				if err := f(i); err != nil {
					failed <- err
				}
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	all.Wait()
	close(failed)
	if err := <-failed; err != nil {
		h.t.Fatal(err)
	}
}
