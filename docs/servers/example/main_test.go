package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/lxzan/gws"
	"go.uber.org/goleak"
)

// asExample is an environment variable. If it is set, or is the first argument, this test binary runs the example.
const asExample = "TEST_AS_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asExample) != "" || len(os.Args) > 1 && os.Args[1] == asExample {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// The example must stay short enough to be read completely.
func TestUnder150Lines(t *testing.T) {
	text, err := os.ReadFile("main.go")
	if n := bytes.Count(text, []byte("\n")); err != nil || n >= 150 {
		t.Errorf("%d lines, %v", n, err)
	}
}

// troupe is an endpoint that the test answers for.
type troupe struct {
	gws.BuiltinEventHandler
	queries chan string
	conns   chan *gws.Conn
	frames  chan fields
}

// ServeHTTP implements http.Handler.
func (e *troupe) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	conn, err := gws.NewUpgrader(e, nil).Upgrade(w, r)
	if err != nil {
		return
	}
	e.queries <- r.URL.RawQuery
	e.conns <- conn
	conn.ReadLoop()
}

// OnMessage implements gws.Event.
func (e *troupe) OnMessage(conn *gws.Conn, frame *gws.Message) {
	var f fields
	_ = json.Unmarshal(frame.Bytes(), &f)
	status := 200
	if f["PlayerSessionId"] == "psess-foreign" {
		status = 400
	}
	_ = conn.WriteString(fmt.Sprintf(`{"Action":%q,"RequestId":%q,"StatusCode":%d,"ErrorMessage":"Player session not found."}`, f["Action"], f["RequestId"], status))
	e.frames <- f
}

// expect returns when a request of the action has come.
func (e *troupe) expect(t *testing.T, action string) fields {
	t.Helper()
	hangs := time.After(5 * time.Minute)
	for {
		select {
		case f := <-e.frames:
			if f["Action"] == action {
				return f
			}
		case <-hangs:
			t.Fatalf("no %s", action)
		}
	}
}

func start(t *testing.T) (e *troupe, port string, run *exec.Cmd) {
	t.Helper()
	e = &troupe{queries: make(chan string, 10), conns: make(chan *gws.Conn, 10), frames: make(chan fields, 100)}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ = net.SplitHostPort(free.Addr().String())
	_ = free.Close()
	run = exec.Command(os.Args[0])
	run.Env = []string{
		asExample + "=1", "PORT=" + port, "GAMELIFT_SDK_WEBSOCKET_URL=" + strings.Replace(server.URL, "http", "ws", 1) + "/server-sdk", "GAMELIFT_SDK_AUTH_TOKEN=token-1",
		"GAMELIFT_SDK_FLEET_ID=fleet-1", "GAMELIFT_SDK_HOST_ID=dev", "GAMELIFT_SDK_PROCESS_ID=process-1",
	}
	log := &bytes.Buffer{}
	run.Stderr = log
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
		if t.Failed() {
			t.Log(log)
		}
	})
	return e, port, run
}

// player joins, and reads the line that says so.
func player(t *testing.T, port, id, want string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	fmt.Fprintln(conn, id)
	lines := bufio.NewReader(conn)
	read(t, lines, want)
	return conn, lines
}

func read(t *testing.T, lines *bufio.Reader, want string) {
	t.Helper()
	if line, err := lines.ReadString('\n'); err != nil || line != want+"\n" {
		t.Errorf("%q, %v", line, err)
	}
}

// Two players chat; the game is over when both have left.
func TestGame(t *testing.T) {
	e, port, run := start(t)
	want := "Authorization=token-1&FleetId=fleet-1&ComputeId=dev&pID=process-1&sdkVersion=5.6.0&sdkLanguage=Go"
	if q := <-e.queries; q != want {
		t.Error(q)
	}
	if f := e.expect(t, "ActivateServerProcess"); fmt.Sprint(f["Port"]) != port || f["LogPaths"] == nil {
		t.Errorf("%v", f)
	}
	if f := e.expect(t, "HeartbeatServerProcess"); f["HealthStatus"] != true {
		t.Errorf("%v", f)
	}
	conn := <-e.conns
	_ = conn.WriteString(`{"Action":"CreateGameSession","GameSessionId":"arn:1","GameProperties":{}}`)
	if f := e.expect(t, "ActivateGameSession"); f["GameSessionId"] != "arn:1" {
		t.Errorf("%v", f)
	}
	ann, anns := player(t, port, "psess-ann", "psess-ann joined")
	player(t, port, "psess-foreign", "AcceptPlayerSession: 400 Player session not found.")
	bob, bobs := player(t, port, "psess-bob", "psess-bob joined")
	read(t, anns, "psess-bob joined")
	fmt.Fprintln(bob, "hello")
	read(t, anns, "psess-bob hello")
	read(t, bobs, "psess-bob hello")

	_ = conn.WriteString(`{"Action":"RefreshConnection","RefreshConnectionEndpoint":"ws://` + conn.LocalAddr().String() + `/new","AuthToken":"token-2"}`)
	if q := <-e.queries; q != strings.Replace(want, "token-1", "token-2", 1) {
		t.Error(q)
	}
	conn = <-e.conns
	_ = conn.NetConn().Close() // the network drops, and the server comes back
	if q := <-e.queries; q != strings.Replace(want, "token-1", "token-2", 1) {
		t.Error(q)
	}
	fmt.Fprintln(ann)
	if f := e.expect(t, "RemovePlayerSession"); f["PlayerSessionId"] != "psess-ann" || f["GameSessionId"] != "arn:1" {
		t.Errorf("%v", f)
	}
	_ = bob.Close()
	e.expect(t, "RemovePlayerSession")
	e.expect(t, "TerminateServerProcess")
	if err := run.Wait(); err != nil {
		t.Error(err)
	}
}

func TestTerminateProcess(t *testing.T) {
	e, _, run := start(t)
	e.expect(t, "HeartbeatServerProcess")
	_ = (<-e.conns).WriteString(`{"Action":"TerminateProcess","TerminationTime":1767226200000}`)
	e.expect(t, "TerminateServerProcess")
	if err := run.Wait(); err != nil {
		t.Error(err)
	}
}
