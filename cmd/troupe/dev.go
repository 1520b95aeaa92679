package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"troupe/actors/script/bundle"
	"troupe/messages"
	"troupe/transport/host"
)

type devCommand struct {
	settings
	Script    string   `arg:"" optional:"" name:"script" placeholder:"SCRIPT" help:"The game's logic: a JavaScript or TypeScript file (which may import files beside it), a folder, a .zip, or a folder of troupe new game, with server/ and page/. It is checked and reloaded on each save. Or a game server: an executable that speaks the GameLift Server SDK. Without it, game sessions only relay messages."`
	Args      []string `arg:"" optional:"" name:"args" help:"Arguments of the game server, after --; {port} in them is the port of each of its processes."`
	Page      string   `placeholder:"DIR" help:"Folder of the game's web page, served at /game/ to browsers on this machine. Without it: page/ of a folder of troupe new game."`
	Main      string   `placeholder:"FILE" help:"File of the folder or .zip to start. Without it: main of its package.json, or its only file."`
	Nodes     int      `default:"1" placeholder:"N" help:"Run a cluster of N hosts and a member of etcd in this process, without a file for their records. Host 1 has the usual ports."`
	Processes int      `default:"2" placeholder:"N" help:"Number of processes of a game server, each for one game session (${default})."`
	Ports     string   `default:"7777-7876" placeholder:"FROM-TO" help:"Ports for the processes of a game server (${default})."`
	Engine    string   `enum:",embedded,node" default:"" placeholder:"ENGINE" help:"Engine for the script: embedded or node. Without it: as its package.json says."`
}

// devGrace is the drain grace of troupe dev. It is long enough for messages in transit and short enough for a user who
// waits for the prompt.
const devGrace = time.Second

// Run runs a host with development defaults.
func (c *devCommand) Run(s streams) error {
	defaults := host.Defaults()
	defaults.Log.Format, defaults.Log.GameSessions.Show, defaults.Drain.Grace = "pretty", true, devGrace
	defaults.API.Auth, defaults.Script.EndEarlier = "none", true
	defaults.Events.SSE.Own = true // the console shows these events
	cfg, err := c.load(defaults, s.err)
	if err != nil {
		return err
	}
	if c.Engine != "" && c.Script == "" {
		return &exitError{exitUsage, errors.New("--engine needs a script: troupe dev SCRIPT")}
	}
	if c.Main != "" && c.Script == "" {
		return &exitError{exitUsage, errors.New("--main needs a script: troupe dev SCRIPT")}
	}
	server, err := c.server(&cfg.Fleets[0])
	if err != nil {
		return err
	}
	if server != nil {
		c.Script = ""
	}
	path, page := gameFolder(c.Script)
	if c.Page != "" {
		page = c.Page
	}
	if err := checkDevPage(page, path); err != nil {
		return err
	}
	if c.Nodes < 1 || c.Nodes > devNodesMax {
		return &exitError{exitUsage, fmt.Errorf("--nodes must be 1 to %d", devNodesMax)}
	}
	game := &devScript{path: path, main: c.Main, engine: c.Engine, fleet: messages.FleetID(cfg.Fleets[0].ID), limits: bundle.Limits{UnpackedMax: int64(cfg.Script.UnpackedMax)}, out: s.out}
	if path != "" {
		cfg.Fleets[0].Script, cfg.Fleets[0].LaunchPath, cfg.Fleets[0].Engine = path, c.Main, c.Engine
		if err := game.check(); err != nil {
			return fmt.Errorf("%s does not run:\n%w", path, err)
		}
	}
	game.tells.Store(path != "")
	cluster, err := newDevCluster(&cfg, c.Nodes, s)
	if err != nil {
		return err
	}
	defer cluster.close()
	return runHost(cfg, s, hostOptions{dev: true, page: page, origin: c.origin, quiet: game.told, started: func(h *host.Host) (func(), error) {
		if err := cluster.startHosts(h, cfg, s); err != nil {
			return nil, err
		}
		if err := game.runs(h); err != nil {
			return nil, fmt.Errorf("%s does not run:\n%w", path, err)
		}
		game.tells.Store(false)
		if server != nil {
			ready, err := awaitServer(h, server)
			if err != nil {
				return nil, fmt.Errorf("%s does not run:\n%w", server.path, err)
			}
			welcome(s.out, &cfg, h.Addrs(), "", page, ready)
			return func() {}, nil
		}
		welcome(s.out, &cfg, h.Addrs(), path, page, readyCompute(h, &cfg))
		if path == "" {
			return func() {}, nil
		}
		return game.watch(h), nil
	}})
}

// gameFolder returns the script and the page of a game folder that `troupe new game` has created: its subfolders server
// and page. Any other path is returned as the script.
func gameFolder(path string) (script, page string) {
	server, page := filepath.Join(path, "server"), filepath.Join(path, "page")
	index, err := os.Stat(filepath.Join(page, "index.html"))
	if path == "" || err != nil || index.IsDir() {
		return path, ""
	}
	if info, err := os.Stat(server); err != nil || !info.IsDir() {
		return path, ""
	}
	return server, page
}

// checkDevPage returns an error if a folder cannot be the page of a game with this script. Players can download
// everything in the page's folder, so the script must not be inside it.
func checkDevPage(page, script string) error {
	if page == "" {
		return nil
	}
	info, err := os.Stat(page)
	if err != nil || !info.IsDir() {
		return fmt.Errorf("--page %s: there is no such folder", page)
	}
	if script == "" {
		return nil
	}
	page, err = resolved(page)
	if err == nil {
		script, err = resolved(script)
	}
	if err != nil {
		return err
	}
	if inside, err := filepath.Rel(page, script); err == nil && filepath.IsLocal(inside) {
		return errors.New("the page's folder has the script in it, which players must not see: give the page a folder of its own")
	}
	return nil
}

// resolved returns the absolute path without symbolic links.
func resolved(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}
