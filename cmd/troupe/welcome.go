package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"troupe/messages/lazy"
	"troupe/transport/host"
)

// welcome prints the addresses of the host and commands to try. compute is a paragraph about game servers with the Server
// SDK.
func welcome(out io.Writer, cfg *host.Config, a host.Announcement, script, page, compute string) {
	if page != "" {
		page = "  your game: open it in two windows   " + a.APIURL + "/game/\n\n"
	}
	if script != "" {
		script = fmt.Sprintf("\nGame sessions of %s run %s. Each save is checked and used by new game sessions. Game sessions\nof earlier versions end when they have no players.\n", cfg.Fleets[0].ID, script)
	}
	ca := orNone(a.CA, "")
	if a.CA != "" {
		ca += "\n                                (troupe tls trust says how, also for browsers)"
	}
	fmt.Fprintf(out, `
%s  console, service API, metrics %s
  WebSocket                     ws://%s
  fast channel (UDP)            %s
  secured: WebSocket            %s
           fast channel (DTLS)  %s
  KCP (inside DTLS)             %s
  CA to trust for these three   %s
%s%s
Try next, in another terminal:
  %s

Ctrl-C stops.

`, page, a.APIURL, a.WS, a.Fast, orNone(a.WSS, "wss://"), orNone(a.DTLS, ""), orNone(a.KCP, ""), ca, script, compute, strings.Join(tryNext(invocation(), cfg, a, page != ""), "\n  "))
}

// orNone returns an address with its scheme, or "off" if addr is empty.
func orNone(addr, scheme string) string {
	if addr == "" {
		return "off"
	}
	return scheme + addr
}

// tryNext returns shell commands that work unchanged in any folder. It omits bots and chat for a game with a page: such
// a game is played in a browser, and bots and chat need a script that relays messages between players.
func tryNext(troupe string, cfg *host.Config, a host.Announcement, page bool) []string {
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
	if fleet.Server.Path != "" {
		made := strings.Replace(aws, "describe-game-sessions", "create-game-session", 1) + " --maximum-player-session-count 4"
		return []string{made, adminLine(troupe, cfg, a, "sessions"), adminLine(troupe, cfg, a, "events --follow"), aws}
	}
	if page {
		return []string{adminLine(troupe, cfg, a, "sessions"), adminLine(troupe, cfg, a, "events --follow"), aws}
	}
	if cfg.Cluster.Name != "" {
		return []string{client + " --bots 4", adminLine(troupe, cfg, a, "nodes"), aws}
	}
	return []string{client + " --bots 4", client, aws}
}

// adminLine returns a command line for troupe admin.
func adminLine(troupe string, cfg *host.Config, a host.Announcement, command string) string {
	line := troupe + " admin " + command
	if a.APIURL != defaultEndpoint {
		line += " --endpoint " + quoted(a.APIURL)
	}
	if cfg.API.TLS {
		line += " --ca " + quoted(a.CA)
	}
	return line
}

// invocation returns how to call this program from a shell: by name if it is in PATH, otherwise by its path.
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

var plainWord = lazy.Regexp(`^[A-Za-z0-9_@%+=:,./-]+$`)

// quoted quotes a word for a POSIX shell.
func quoted(s string) string {
	if plainWord().MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
