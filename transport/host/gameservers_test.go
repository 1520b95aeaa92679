package host

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/serverprocess/launch"
	"troupe/messages"
)

// withServer returns a configuration whose fleet has a game server that could be started.
func withServer(t *testing.T) Config {
	c := Defaults()
	path := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	c.Fleets[0].GameSessionsMax = 0
	c.Fleets[0].Server = GameServer{Path: path, Args: []string{"-port={port}"}, Ports: "7777-7780", Processes: 4}
	return c
}

func TestGameServersAreChecked(t *testing.T) {
	if launch.Supported() != nil {
		t.Skip("no game servers are started on this system")
	}
	for want, change := range map[string]func(f *Fleet, s *GameServer){
		"fleets[0].server: has settings":                                                     func(_ *Fleet, s *GameServer) { s.Path = "" },
		"fleets[0].server: is there as well as a script":                                     func(f *Fleet, _ *GameServer) { f.Script = "x.js" },
		"fleets[0].launchParameters: ":                                                       func(f *Fleet, _ *GameServer) { f.LaunchParameters = "x" },
		"fleets[0].certificates: is for players":                                             func(f *Fleet, _ *GameServer) { f.Certificates = "GENERATED" },
		"fleets[0].gameSessionsMax: ":                                                        func(f *Fleet, _ *GameServer) { f.GameSessionsMax = -1 },
		"fleets[0].server.path: cannot be read":                                              func(_ *Fleet, s *GameServer) { s.Path = "/nowhere/server" },
		"fleets[0].server.path: must be an executable":                                       func(_ *Fleet, s *GameServer) { s.Path = filepath.Dir(s.Path) },
		"fleets[0].server.processes: must be 1":                                              func(_ *Fleet, s *GameServer) { s.Processes = 0 },
		"fleets[0].server.env[1]: must be NAME=value":                                        func(_ *Fleet, s *GameServer) { s.Env = []string{"A=b", "C"} },
		"fleets[0].server.env[0]: is set by the host":                                        func(_ *Fleet, s *GameServer) { s.Env = []string{"GAMELIFT_SDK_PROCESS_ID=p"} },
		"fleets[0].server.memoryMax: ":                                                       func(_ *Fleet, s *GameServer) { s.MemoryMax = 1000 },
		"fleets[0].server.cpus: ":                                                            func(_ *Fleet, s *GameServer) { s.CPUs = -1 },
		"fleets[0].server.user: user \"nobody-of-this-name\" ":                               func(_ *Fleet, s *GameServer) { s.User = "nobody-of-this-name" },
		"fleets[0].server.ports: must be a range":                                            func(_ *Fleet, s *GameServer) { s.Ports = "7780-7777" },
		"fleets[0].server.ports: must be a range like":                                       func(_ *Fleet, s *GameServer) { s.Ports = "60001" },
		"fleets[0].server.ports: has ports of api.addr as well":                              func(_ *Fleet, s *GameServer) { s.Ports = "8070-8080" },
		"fleets[0].server.ports: has ports of dtls.addr as well":                             func(_ *Fleet, s *GameServer) { s.Ports = "33401-33500" },
		"fleets[0].server.ports: must be there":                                              func(_ *Fleet, s *GameServer) { s.Ports = "" },
		"fleets[0].server.ports: fleet fleet-dev has 4 ports, and 5 processes need one each": func(_ *Fleet, s *GameServer) { s.Processes = 5 },
	} {
		c := withServer(t)
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&c.Fleets[0], &c.Fleets[0].Server)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	c := withServer(t)
	c.Fleets[0].Locations = []FleetLocation{{Name: c.Region}} // it is there once
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	other := c.Fleets[0]
	other.ID, other.Server.Ports = "fleet-other", "7780-7790"
	c.Fleets = append(c.Fleets, other)
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "fleets[1].server.ports: has ports of fleets[0].server.ports as well") {
		t.Error(err)
	}
}

func TestAGameServerIsARuntimeConfiguration(t *testing.T) {
	c := withServer(t)
	f := c.fleetRecords(time.Now())[0]
	path := c.Fleets[0].Server.Path
	want := &messages.GameServer{Path: path, Args: []string{"-port={port}"}, PortFrom: 7777, PortTo: 7780}
	if !reflect.DeepEqual(f.Server, want) || f.LaunchPath != path || f.LaunchParams != "-port={port}" || f.GameSessionsMax != 0 {
		t.Errorf("%+v of %+v", f.Server, f)
	}
	if want := []messages.ServerProcess{{LaunchPath: path, Parameters: "-port={port}", Concurrent: 4}}; !reflect.DeepEqual(f.Runtime.Processes, want) {
		t.Errorf("%+v", f.Runtime)
	}
}

func TestAHostThatRunsAsRootSaysWhoseServersDoSo(t *testing.T) {
	var log bytes.Buffer
	h := &Host{log: zerolog.New(&log)}
	h.warnOfRoot([]Fleet{{ID: "fleet-root", Server: GameServer{Path: "/srv/x"}}, {ID: "fleet-user", Server: GameServer{Path: "/srv/x", User: "game"}}, {ID: "fleet-script"}})
	want := ""
	if os.Geteuid() == 0 {
		want = `{"level":"warn","fleet_id":"fleet-root","message":"the host runs as root, and so do the game servers of this fleet: name another user in its server.user, or run the host as one"}` + "\n"
	}
	if log.String() != want {
		t.Error(log.String())
	}
}
