package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"troupe/bench/barerelay"
	"troupe/bench/loadgen"
)

// engines are the ways to run the bare relay. The payloads either fit into one read or arrive in pieces. "another
// protocol" runs Realtime as a loadgen.Protocol; it must work like the built-in Realtime.
var engines = map[string]struct {
	serve    func(ctx context.Context, addr, announce string) error
	payload  int
	protocol loadgen.Protocol
}{
	"goroutines":       {serveGoroutines, 200, nil},
	"another protocol": {serveGoroutines, 200, foreign{}},
	"gathering": {func(ctx context.Context, addr, announce string) error {
		return barerelay.Serve(ctx, addr, announce, 15*time.Millisecond)
	}, 16, nil},
	"epoll":           {barerelay.ServeEpoll, 200, nil},
	"epoll in pieces": {barerelay.ServeEpoll, 70_000, nil},
}

func serveGoroutines(ctx context.Context, addr, announce string) error {
	return barerelay.Serve(ctx, addr, announce, 0)
}

// The swarm and the bare relay test each other. Each message is delivered to the whole room, even if several frames
// arrive in one read. A login that names no seat is rejected.
func TestRelayDeliversToWholeRooms(t *testing.T) {
	t.Parallel()
	for name, engine := range engines {
		if strings.HasPrefix(name, "epoll") && runtime.GOOS != "linux" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := start(t, engine.serve)
			swarm, err := loadgen.New(loadgen.Config{Addr: addr, Hz: 100, PayloadBytes: engine.payload, Protocol: engine.protocol})
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range []string{"", "psess-1", "room-1", "room-x-1", "room-1-x"} {
				err := swarm.Connect(t.Context(), []loadgen.Login{{PlayerSessionID: id}})
				if _, closed := errors.AsType[*loadgen.DialError](err); !closed || errors.Is(err, loadgen.ErrRefused) {
					t.Errorf("%q: %v", id, err)
				}
			}
			for room := range 2 {
				var wave []loadgen.Login
				for i := range 3 {
					wave = append(wave, loadgen.Login{Room: room, PlayerSessionID: "room-" + strconv.Itoa(room) + "-" + strconv.Itoa(i)})
				}
				if err := swarm.Connect(t.Context(), wave); err != nil {
					t.Fatal(err)
				}
			}
			const runs = 2 // each run has its own result
			for range runs {
				res, err := swarm.Run(t.Context(), loadgen.Plan{Measure: 50 * time.Millisecond, Drain: time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				if res.Sent != 30 || res.Expected != 90 || res.Delivered != 90 || res.Other != 0 || res.SendErrors != 0 || res.Latency.Max <= 0 || res.Latency.Max > time.Minute/2 {
					t.Errorf("%+v", res)
				}
			}
			if lost, first := swarm.Disconnects(); lost != 0 {
				t.Errorf("%d players lost: %v", lost, first)
			}
			if err := swarm.Close(); err != nil {
				t.Error(err)
			}
			if got := statsOf(t, addr); got.Inbound != 30*runs || got.Delivered != 90*runs || got.Mallocs == 0 || got.Goroutines == 0 {
				t.Errorf("the relay counted %+v", got)
			}
			framesTogether(t, addr)
		})
	}
	if _, err := loadgen.New(loadgen.Config{Protocol: foreign{}, To: loadgen.ToSelf}); err == nil {
		t.Error("another protocol has rooms only")
	}
}

// framesTogether sends a login and messages in a single write.
func framesTogether(t *testing.T, addr string) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(c, "GET /websocket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(c)
	if res, err := http.ReadResponse(in, nil); err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", res, err)
	}
	var together []byte
	said := []string{"one", "two"}
	for _, unit := range [][]byte{
		loadgen.AppendLogin(nil, "room-9-0"),
		loadgen.AppendGroupMessage(nil, loadgen.OpLoad, 1, loadgen.AllPlayers, []byte(said[0])),
		loadgen.AppendGroupMessage(nil, loadgen.OpLoad, 1, loadgen.AllPlayers, []byte(said[1])),
	} {
		together = append(together, 0x82, 0x80|byte(len(unit)), 0, 0, 0, 0) // a masking key of zeros leaves the payload unchanged
		together = append(together, unit...)
	}
	if _, err := c.Write(together); err != nil {
		t.Fatal(err)
	}
	for _, want := range append([]string{""}, said...) { // the answer to the login comes first
		head, payload := make([]byte, 2), []byte(nil)
		_, err := io.ReadFull(in, head)
		if err == nil {
			payload = make([]byte, head[1])
			_, err = io.ReadFull(in, payload)
		}
		if err != nil {
			t.Fatal(err)
		}
		if p, err := loadgen.ParseUnit(payload); err != nil || string(p.Payload) != want {
			t.Errorf("%+v, %v, want %q", p, err, want)
		}
	}
}

// foreign implements Realtime as a loadgen.Protocol.
type foreign struct{}

func (foreign) Path(context.Context, string, loadgen.Login) (string, error) { return "/websocket", nil }

func (foreign) Hello(login loadgen.Login) []byte {
	return loadgen.AppendLogin(nil, login.PlayerSessionID)
}

func (foreign) Joining(_ loadgen.Login, message []byte) ([][]byte, bool, error) {
	p, err := loadgen.ParseUnit(message)
	return nil, p.OpCode == loadgen.OpLoginResponse, err
}

func (foreign) Message(payload []byte) []byte {
	return loadgen.AppendGroupMessage(nil, loadgen.OpLoad, 1, loadgen.AllPlayers, payload)
}

func (foreign) Next(message []byte) (loadgen.Part, []byte, error) {
	p, err := loadgen.ParseUnit(message)
	return loadgen.Part{Payload: p.Payload}, nil, err
}

func statsOf(t *testing.T, addr string) (s struct{ Mallocs, Inbound, Delivered, Goroutines int64 }) {
	t.Helper()
	res, err := http.Get("http://" + addr + "/stats")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

// start serves on a free port until the test ends.
func start(t *testing.T, serve func(ctx context.Context, addr, announce string) error) (addr string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "announce.json")
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- serve(ctx, "127.0.0.1:0", file) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	var said struct {
		WS    string
		Stats bool
	}
	for tick := time.Tick(time.Millisecond); said.WS == ""; <-tick {
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &said)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if !said.Stats {
		t.Error("the relay does not say that it has /stats")
	}
	return said.WS
}
