package main

import (
	"errors"
	"fmt"
	"time"

	"troupe/messages"
	"troupe/transport/host"
)

type devCommand struct {
	settings
	Script string `arg:"" optional:"" name:"script" placeholder:"SCRIPT" help:"The game's logic: a JavaScript or TypeScript file (which may import files beside it), a folder, or a .zip. It is checked and reloaded on each save. Without it, game sessions only relay messages."`
	Main   string `placeholder:"FILE" help:"File of the folder or .zip to start. Without it: main of its package.json, or its only file."`
	Engine string `enum:",embedded,node" default:"" placeholder:"ENGINE" help:"Engine for the script: embedded or node. Without it: as its package.json says."`
}

// devGrace is long enough for messages in transit, and short enough for a person who
// waits for the prompt.
const devGrace = time.Second

// Run runs a host with the defaults for development.
func (c *devCommand) Run(s streams) error {
	defaults := host.Defaults()
	defaults.Log.Format, defaults.Log.GameSessions.Show, defaults.Drain.Grace = "pretty", true, devGrace
	defaults.API.Auth, defaults.Script.EndEarlier = "none", true
	defaults.Events.SSE.Own = true // the console shows them
	cfg, err := c.load(defaults, s.err)
	if err != nil {
		return err
	}
	if c.Engine != "" && c.Script == "" {
		return errors.New("--engine needs a script: troupe dev SCRIPT")
	}
	if c.Main != "" && c.Script == "" {
		return errors.New("--main needs a script: troupe dev SCRIPT")
	}
	game := devScript{path: c.Script, main: c.Main, engine: c.Engine, fleet: messages.FleetID(cfg.Fleets[0].ID), out: s.out}
	if c.Script != "" {
		cfg.Fleets[0].Script, cfg.Fleets[0].LaunchPath, cfg.Fleets[0].Engine = c.Script, c.Main, c.Engine
		if err := game.check(); err != nil {
			return fmt.Errorf("%s does not run:\n%w", c.Script, err)
		}
	}
	return runHost(cfg, s, true, c.origin, nil, func(h *host.Host) (func(), error) {
		if err := game.runs(h); err != nil {
			return nil, fmt.Errorf("%s does not run:\n%w", c.Script, err)
		}
		welcome(s.out, &cfg, h.Addrs(), c.Script)
		if c.Script == "" {
			return func() {}, nil
		}
		return game.watch(h), nil
	})
}
