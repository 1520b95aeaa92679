package scripts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"go.uber.org/goleak"

	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/messages"
	"troupe/transport/host"
	"troupe/transport/transporttest/hosttest"
	"troupe/transport/transporttest/stock"
)

func TestMain(m *testing.M) {
	// After a message to a stopped actor, the actor library runs a timer for one second. It ends by itself,
	// but later than goleak waits.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/asynkron/protoactor-go/actor.NewDeadLetter.NewThrottle.func4.1"))
}

// patience is the timeout of a step.
const patience = 5 * time.Minute

// logbook reads the log of the newest game session from the host, like `troupe logs`.
type logbook struct {
	host *hosttest.Host
	mu   sync.Mutex
	game string // id of the game session
	kept string // log of a host that has stopped
}

func (l *logbook) of(game string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.game, l.kept = game, ""
}

// String returns the complete log.
func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.fetch("")
	return l.kept
}

// awaitEnd waits until the log is complete.
func (l *logbook) awaitEnd(t testing.TB) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.fetch("&follow=1"); err != nil && !errors.Is(err, errNoLog) {
		t.Fatal(err)
	}
}

// errNoLog means that the game session has ended and logged nothing.
var errNoLog = errors.New("no log")

func (l *logbook) fetch(query string) error {
	resp, err := l.host.Web.Get("http://" + l.host.Host.Addrs().API + "/debug/gamesession-log?id=" + url.QueryEscape(l.game) + query)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode == http.StatusNotFound {
		return errNoLog
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("log: %s: %s", resp.Status, text)
	}
	l.kept = string(text)
	return nil
}

var lineForm = regexp.MustCompile(`^(\d\d \w+ \d{4} \d\d:\d\d:\d\d,\d{3}) \[(\w+)\] \(([^)]*)\) (\d+): (.*)$`)

// all returns the lines of the log. An indented line belongs to the line before it.
func (l *logbook) all() (lines []script.Line) {
	for text := range strings.Lines(l.String()) {
		text = strings.TrimSuffix(text, "\n")
		m := lineForm.FindStringSubmatch(text)
		if m == nil {
			if len(lines) > 0 {
				lines[len(lines)-1].Text += "\n" + strings.TrimPrefix(text, "    ")
			}
			continue
		}
		row, _ := strconv.Atoi(m[4])
		level := script.LevelDebug
		for level.String() != m[2] && level < script.LevelCXFatal {
			level++
		}
		lines = append(lines, script.Line{Level: level, File: m[3], Row: row, Text: m[5]})
	}
	return lines
}

// await waits for a line that contains the text.
func (l *logbook) await(t testing.TB, text string) script.Line {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		for _, line := range l.all() {
			if strings.Contains(line.Text, text) {
				return line
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no line %q in the log:\n%s", text, l)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// has reports whether a line contains the text.
func (l *logbook) has(text string) bool { return strings.Contains(l.String(), text) }

// world is a host on an in-memory network that runs one script. Its clients end with the test.
type world struct {
	*testing.T
	net  hosttest.Network
	host *host.Host
	api  *gamelift.Client
	log  *logbook
}

// setup has deviations from the usual configuration.
type setup struct {
	Launch string // launch path; optional for a script with one file
	Args   string // launch parameters
	Node   string // Node.js version; empty means 10.x
	Config func(*host.Config)
}

// files writes a script with several files, given as alternating names and texts. It returns the folder.
func files(t testing.TB, nameAndText ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(nameAndText); i += 2 {
		name := filepath.Join(dir, filepath.FromSlash(nameAndText[i]))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(nameAndText[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// one writes a script with one file and returns its folder.
func one(t testing.TB, text string) string { return files(t, "script.js", text) }

// start starts a host with a script. path is a file or a folder.
func start(t *testing.T, e engine, path string, s setup) *world {
	t.Helper()
	if e.shared {
		path = shared(t, path)
	}
	return startWith(t, func(c *host.Config) {
		f := &c.Fleets[0]
		f.Script, f.LaunchPath, f.LaunchParameters, f.Engine, f.NodeVersion = path, s.Launch, s.Args, e.name, s.Node
		if s.Config != nil {
			s.Config(c)
		}
	}, nil)
}

// shared copies a script, and lets several of its game sessions share a process of Node.js.
func shared(t *testing.T, path string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(path)); err != nil {
		t.Fatal(err)
	}
	about := make(map[string]any)
	name := filepath.Join(dir, "package.json")
	if text, err := os.ReadFile(name); err == nil {
		if err := json.Unmarshal(text, &about); err != nil {
			t.Fatal(err)
		}
	}
	about["troupe"] = map[string]any{"engine": bundle.EngineNode, "gamesPerProcess": 50}
	text, err := json.Marshal(about)
	if err == nil {
		err = os.WriteFile(name, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// startWith starts a host. newHandler creates the games of fleets without a script.
func startWith(t *testing.T, config func(*host.Config), newHandler func(*messages.Fleet) script.Handler) *world {
	t.Helper()
	c := hosttest.Config(t)
	c.Script.Node.AllowUploaded = true // updates are uploaded, in both engines
	if config != nil {
		config(&c)
	}
	h := hosttest.Start(t, host.Options{Config: c, NewHandler: newHandler, Log: hosttest.Log(t)})
	return &world{t, h.Net, h.Host, h.API, &logbook{host: h}}
}

func (w *world) context() context.Context {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	w.Cleanup(cancel)
	return ctx
}

// create creates a game session without waiting until it is ACTIVE.
func (w *world) create(max int, properties ...types.GameProperty) string {
	w.Helper()
	out, err := w.api.CreateGameSession(w.context(), &gamelift.CreateGameSessionInput{
		FleetId: aws.String("fleet-dev"), MaximumPlayerSessionCount: aws.Int32(int32(max)), Name: aws.String("game"), GameProperties: properties,
	})
	if err != nil {
		w.Fatal(err)
	}
	w.log.of(*out.GameSession.GameSessionId)
	return *out.GameSession.GameSessionId
}

// newGame creates a game session and waits until it is ACTIVE.
func (w *world) newGame(max int, properties ...types.GameProperty) string {
	w.Helper()
	id := w.create(max, properties...)
	w.awaitStatus(id, types.GameSessionStatusActive)
	return id
}

func (w *world) awaitStatus(id string, want types.GameSessionStatus) {
	w.Helper()
	w.until("game session is "+string(want), func() error {
		g := w.game(id)
		if g.Status == types.GameSessionStatusTerminated && want != g.Status {
			w.Fatalf("the game session is over; log:\n%s", w.log)
		}
		if g.Status != want {
			return fmt.Errorf("it is %s; log:\n%s", g.Status, w.log)
		}
		return nil
	})
}

func (w *world) game(id string) types.GameSession {
	w.Helper()
	out, err := w.api.DescribeGameSessions(w.context(), &gamelift.DescribeGameSessionsInput{GameSessionId: aws.String(id)})
	if err != nil {
		w.Fatal(err)
	}
	return out.GameSessions[0]
}

func (w *world) games() []types.GameSession {
	w.Helper()
	out, err := w.api.DescribeGameSessions(w.context(), &gamelift.DescribeGameSessionsInput{FleetId: aws.String("fleet-dev")})
	if err != nil {
		w.Fatal(err)
	}
	return out.GameSessions
}

// terminate makes the host end a process in an orderly way.
func (w *world) terminate(game string) {
	w.Helper()
	_, err := w.api.TerminateGameSession(w.context(), &gamelift.TerminateGameSessionInput{
		GameSessionId: aws.String(game), TerminationMode: types.TerminationModeTriggerOnProcessTerminate,
	})
	if err != nil {
		w.Fatal(err)
	}
}

// seat reserves a player session and returns its id.
func (w *world) seat(game, name string) string {
	w.Helper()
	out, err := w.api.CreatePlayerSession(w.context(), &gamelift.CreatePlayerSessionInput{
		GameSessionId: aws.String(game), PlayerId: aws.String(name), PlayerData: aws.String("data of " + name),
	})
	if err != nil {
		w.Fatal(err)
	}
	return *out.PlayerSession.PlayerSessionId
}

// dial opens a stock client, which sends its LOGIN immediately.
func (w *world) dial(seat string, o stock.Options) *stock.Client {
	w.Helper()
	o.Network = w.net
	c, err := stock.Dial(w.context(), w.host.Addrs().WS, seat, o)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(c.Kill)
	return c
}

// login opens a stock client and waits for its login.
func (w *world) login(seat string, o stock.Options) *stock.Client {
	w.Helper()
	c := w.dial(seat, o)
	if _, err := c.AwaitLogin(w.context()); err != nil {
		w.Fatalf("login: %v; log:\n%s", err, w.log)
	}
	return c
}

// join reserves a player session and logs in without a fast channel.
func (w *world) join(game, name string) *stock.Client {
	w.Helper()
	return w.login(w.seat(game, name), stock.Options{NoUDP: true, Payload: []byte(name)})
}

// say sends a reliable text to the server.
func (w *world) say(c *stock.Client, op int32, text string) {
	w.Helper()
	w.send(c, stock.Message{OpCode: op, TargetPlayer: stock.ServerID, Payload: []byte(text), Reliable: true})
}

func (w *world) send(c *stock.Client, m stock.Message) {
	w.Helper()
	if err := c.Send(m); err != nil {
		w.Fatal(err)
	}
}

// hear takes the client's next packet with the op code.
func (w *world) hear(c *stock.Client, op int32) stock.Event {
	w.Helper()
	e, err := c.Expect(w.context(), stock.Op(op))
	if err != nil {
		w.Fatalf("no op code %d: %v; log:\n%s", op, err, w.log)
	}
	return e
}

// heard checks the text of the client's next packet with the op code.
func (w *world) heard(c *stock.Client, op int32, want string) {
	w.Helper()
	if got := string(w.hear(c, op).Payload); got != want {
		w.Fatalf("op code %d: %q, want %q", op, got, want)
	}
}

// awaitClose waits for the end of a client's connection.
func (w *world) awaitClose(c *stock.Client) {
	w.Helper()
	if err := c.AwaitClose(w.context()); err != nil {
		w.Fatalf("%v; log:\n%s", err, w.log)
	}
}

// until polls until why returns nil. On a timeout, it fails the test with the last error.
func (w *world) until(what string, why func() error) {
	w.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := why()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("%s: not within %v: %v", what, patience, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// noErrors fails the test if the log contains an error of the script or of the host.
func (w *world) noErrors() {
	w.Helper()
	for _, line := range w.log.all() {
		if line.Level >= script.LevelError {
			w.Errorf("in the log: %v", line)
		}
	}
	if n := w.host.Counters().ActorPanics.Load(); n != 0 {
		w.Errorf("%d actors panicked", n)
	}
	if n := w.host.Counters().HandlerErrors.Load(); n != 0 {
		w.Errorf("%d callbacks failed", n)
	}
}
