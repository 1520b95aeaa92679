package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/transport/host"
)

func TestAnExecutableIsAGameServer(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"server": 0o755, "server.x86_64": 0o755, "main.js": 0o755, "game.ZIP": 0o755, "notes": 0o644, "run.sh": 0o755} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{"server": true, "server.x86_64": true, "run.sh": true, "main.js": false, "game.ZIP": false, "notes": false, ".": false, "none": false} {
		f := host.Defaults().Fleets[0]
		c := devCommand{Script: filepath.Join(dir, name), Nodes: 1, Processes: 3, Ports: "7000-7009"}
		s, err := c.server(&f)
		if err != nil || (s != nil) != want {
			t.Errorf("%s: %v, %v", name, s, err)
		}
		if want && (f.Server.Path != c.Script || f.Server.Processes != 3 || f.Server.Ports != "7000-7009" || f.GameSessionsMax != 0) {
			t.Errorf("%s: %+v", name, f)
		}
	}
	server := filepath.Join(dir, "server")
	for want, c := range map[string]*devCommand{
		"arguments go with a game server": {Script: filepath.Join(dir, "main.js"), Args: []string{"-x"}, Nodes: 1},
		"--main and --engine go with":     {Script: server, Main: "x.js", Nodes: 1},
		"--nodes goes with a script":      {Script: server, Nodes: 2},
	} {
		if _, err := c.server(new(host.Fleet)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	cfg := host.Defaults()
	cfg.Fleets[0].Server.Path = server
	next := tryNext("troupe", &cfg, host.Announcement{APIURL: defaultEndpoint}, false)
	if !strings.HasPrefix(next[0], "aws gamelift create-game-session --fleet-id fleet-dev ") || next[1] != "troupe admin sessions" {
		t.Errorf("%q", next)
	}
}
