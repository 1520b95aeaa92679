package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"troupe/messages"
	"troupe/transport/host"
)

type devCommand struct {
	settings
	Script string `arg:"" optional:"" name:"script" placeholder:"SCRIPT" help:"The game's logic: a JavaScript or TypeScript file with what lies beside it, a folder, or a .zip. It is checked and used on each save. Without it, game sessions are relays."`
	Engine string `enum:",embedded,node" default:"" placeholder:"ENGINE" help:"Run the script in the embedded engine, or in node; otherwise as its package.json says."`
}

// devGrace is long enough for a message that is under way, and short enough for
// somebody who waits for the prompt.
const devGrace = time.Second

// Run serves with the defaults for development.
func (c *devCommand) Run(s streams) error {
	defaults := host.Defaults()
	defaults.Log.Format, defaults.Log.GameSessions.Show, defaults.Drain.Grace = "pretty", true, devGrace
	defaults.API.Auth = "none"
	cfg, err := c.load(defaults, s.err)
	if err != nil {
		return err
	}
	if c.Engine != "" && c.Script == "" {
		return errors.New("--engine is for a script, and none is given")
	}
	game := devScript{path: c.Script, engine: c.Engine, fleet: messages.FleetID(cfg.Fleets[0].ID), out: s.out}
	if c.Script != "" {
		cfg.Fleets[0].Script, cfg.Fleets[0].Engine = c.Script, c.Engine
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

func orNone(s string) string {
	if s == "" {
		return "off"
	}
	return s
}

// welcome says where the host is and what to try.
func welcome(out io.Writer, cfg *host.Config, a host.Announcement, script string) {
	api := ""
	if a.API != "127.0.0.1:8080" {
		api = " --api " + a.APIURL
	}
	fleet := ""
	if len(cfg.Fleets) > 0 && cfg.Fleets[0].ID != defaultFleet {
		fleet = " --fleet " + cfg.Fleets[0].ID
	}
	if script != "" {
		script = fmt.Sprintf("\nGame sessions of %s run %s. Each save is checked; new game sessions use it.\n", cfg.Fleets[0].ID, script)
	}
	fmt.Fprintf(out, `
  service API, health, metrics  %s
  WebSocket                     ws://%s
  fast channel (UDP)            %s
  secured: WebSocket            wss://%s
           fast channel (DTLS)  %s
  KCP (inside DTLS)             %s
  trust anchors of these three  %s
%s
Try next, in another terminal:
  troupe client --bots 4%s%s
  troupe client%s%s
  aws gamelift describe-game-sessions --fleet-id %s --endpoint-url %s --region %s --no-sign-request

Ctrl-C stops.

`, a.APIURL, a.WS, a.Fast, orNone(a.WSS), orNone(a.DTLS), orNone(a.KCP), orNone(a.CA), script, api, fleet, api, fleet, cfg.Fleets[0].ID, a.APIURL, cfg.Region)
}
