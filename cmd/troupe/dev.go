package main

import (
	"fmt"
	"io"
	"time"

	"troupe/transport/host"
)

type devCommand struct {
	settings
}

// devGrace is long enough for a message that is under way, and short enough for
// somebody who waits for the prompt.
const devGrace = time.Second

// Run serves with the defaults for development.
func (c *devCommand) Run(s streams) error {
	defaults := host.Defaults()
	defaults.Log.Format, defaults.Log.GameSessions.Show, defaults.Drain.Grace = "pretty", true, devGrace
	cfg, err := c.load(defaults)
	if err != nil {
		return err
	}
	return runHost(cfg, s, func(a host.Announcement) { welcome(s.out, &cfg, a) })
}

func orNone(s string) string {
	if s == "" {
		return "off"
	}
	return s
}

// welcome says where the host is and what to try.
func welcome(out io.Writer, cfg *host.Config, a host.Announcement) {
	api := ""
	if a.API != "127.0.0.1:8080" {
		api = " --api http://" + a.API
	}
	fleet := ""
	if len(cfg.Fleets) > 0 && cfg.Fleets[0].ID != defaultFleet {
		fleet = " --fleet " + cfg.Fleets[0].ID
	}
	fmt.Fprintf(out, `
  service API, health, metrics  http://%s
  WebSocket                     ws://%s
  fast channel (UDP)            %s
  secured: WebSocket            wss://%s
           fast channel (DTLS)  %s
  KCP (inside DTLS)             %s
  trust anchors of these three  %s

Try next, in another terminal:
  troupe client --bots 4%s%s
  troupe client%s%s
  aws gamelift describe-game-sessions --fleet-id %s --endpoint-url http://%s --region %s --no-sign-request

Ctrl-C stops.

`, a.API, a.WS, a.Fast, orNone(a.WSS), orNone(a.DTLS), orNone(a.KCP), orNone(a.CA), api, fleet, api, fleet, cfg.Fleets[0].ID, a.API, cfg.Region)
}
