package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"troupe/transport/host"
)

// welcome says where the host is and what to try.
func welcome(out io.Writer, cfg *host.Config, a host.Announcement, script string) {
	if script != "" {
		script = fmt.Sprintf("\nGame sessions of %s run %s. Each save is checked; new game sessions use it, and those of\nearlier versions end when nobody plays them.\n", cfg.Fleets[0].ID, script)
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
  %s

Ctrl-C stops.

`, a.APIURL, a.WS, a.Fast, orNone(a.WSS), orNone(a.DTLS), orNone(a.KCP), orNone(a.CA), script, strings.Join(tryNext(invocation(), cfg, a), "\n  "))
}

func orNone(s string) string {
	if s == "" {
		return "off"
	}
	return s
}

// tryNext are commands for a shell that work as they are, in whatever folder.
func tryNext(troupe string, cfg *host.Config, a host.Announcement) []string {
	client, aws := troupe+" client", "aws gamelift describe-game-sessions"
	fleet := cfg.Fleets[0]
	if fleet.ID != defaultFleet {
		client += " --fleet " + quoted(fleet.ID)
	}
	if a.APIURL != defaultEndpoint {
		client += " --endpoint " + quoted(a.APIURL)
	}
	secured := fleet.Certificates == "GENERATED"
	if secured {
		client += " --transport wss"
	}
	if secured || cfg.API.TLS {
		client += " --ca " + quoted(a.CA)
	}
	aws += " --fleet-id " + quoted(fleet.ID) + " --endpoint-url " + quoted(a.APIURL) + " --region " + quoted(cfg.Region) + " --no-sign-request"
	if cfg.API.TLS {
		aws += " --ca-bundle " + quoted(a.CA)
	}
	return []string{client + " --bots 4", client, aws}
}

// invocation is how a shell calls this program: by its name if it is found by that, else
// by its path.
func invocation() string {
	own, err := os.Executable()
	if err != nil {
		return "troupe"
	}
	return invocationOf(own, exec.LookPath)
}

func invocationOf(own string, lookPath func(string) (string, error)) string {
	const name = "troupe"
	if found, err := lookPath(name); err == nil {
		a, errA := os.Stat(found)
		b, errB := os.Stat(own)
		if errA == nil && errB == nil && os.SameFile(a, b) {
			return name
		}
	}
	return quoted(own)
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// quoted is a word of a POSIX shell's command line.
func quoted(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
