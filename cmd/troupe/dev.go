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
	Script string `arg:"" optional:"" name:"script" placeholder:"SCRIPT" help:"The game's logic: a JavaScript or TypeScript file with what lies beside it, a folder, or a .zip. It is checked and used on each save. Without it, game sessions are relays."`
	Main   string `placeholder:"FILE" help:"Which file of a folder or .zip to start; otherwise main of its package.json, or the only one."`
	Engine string `enum:",embedded,node" default:"" placeholder:"ENGINE" help:"Run the script in the embedded engine, or in node; otherwise as its package.json says."`
}

// devGrace is long enough for a message that is under way, and short enough for
// somebody who waits for the prompt.
const devGrace = time.Second

// Run serves with the defaults for development.
func (c *devCommand) Run(s streams) error {
	defaults := host.Defaults()
	defaults.Log.Format, defaults.Log.GameSessions.Show, defaults.Drain.Grace = "pretty", true, devGrace
	defaults.API.Auth, defaults.Script.EndEarlier = "none", true
	cfg, err := c.load(defaults, s.err)
	if err != nil {
		return err
	}
	if c.Engine != "" && c.Script == "" {
		return errors.New("--engine is for a script, and none is given")
	}
	if c.Main != "" && c.Script == "" {
		return errors.New("--main is for a script, and none is given")
	}
	game := devScript{path: c.Script, main: c.Main, engine: c.Engine, fleet: messages.FleetID(cfg.Fleets[0].ID), out: s.out}
	if c.Script != "" {
		cfg.Fleets[0].Script, cfg.Fleets[0].LaunchPath, cfg.Fleets[0].Engine = c.Script, c.Main, c.Engine
		if err := game.check(); err != nil {
			return fmt.Errorf("%s does not run:\n%w", c.Script, err)
		}
	}
	return runHost(cfg, s, func(h *host.Host) (func(), error) {
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
