package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

type kickCommand struct {
	consoleFlags
	Player      string `arg:"" help:"Id of the player."`
	GameSession string `placeholder:"ID" help:"Only from this game session. Without it: from all where the player has a seat."`
	Reason      string `placeholder:"TEXT" help:"For the log of the game session, at most 256 bytes."`
}

func (c *kickCommand) Run(s streams) error {
	return c.do(s, http.MethodPost, "players/kick", given("player", c.Player, "gameSession", c.gameARN(c.GameSession), "reason", c.Reason), ending)
}

// ending describes the result of a kick.
func ending(a map[string]any) string {
	text := fmt.Sprintf("player sessions that end: %v", a["kicked"])
	if n, _ := a["silent"].(float64); n > 0 {
		text += fmt.Sprintf("; game sessions that do not answer now, and remove the player when they do: %v", n)
	}
	if nodes, _ := a["silentNodes"].([]any); len(nodes) > 0 {
		text += "; nodes that do not answer now: " + strings.Trim(fmt.Sprint(nodes), "[]")
	}
	return text
}

type banCommand struct {
	consoleFlags
	Player string        `arg:"" optional:"" help:"Id of the player. Without it, the bans are listed."`
	For    time.Duration `xor:"how" placeholder:"DURATION" help:"How long the player is kept out of all game sessions, such as 24h."`
	Lift   bool          `xor:"how" help:"Let the player in again."`
	Reason string        `placeholder:"TEXT" help:"For the list of bans and the log of game sessions, at most 256 bytes."`
}

type banShown struct {
	PlayerID, Reason, By string
	Until                *time.Time
}

func (c *banCommand) Run(s streams) error {
	switch {
	case c.Player == "" && (c.Lift || c.For != 0):
		return &exitError{exitUsage, errors.New("admin: which player?")}
	case c.Player == "":
		return show(&c.consoleFlags, s, "bans", nil, "bans", []string{"PLAYER", "UNTIL", "WHY", "BY"}, func(b *banShown) []string {
			return []string{b.PlayerID, when(b.Until), b.Reason, b.By}
		})
	case c.Lift:
		return c.do(s, http.MethodDelete, "bans", given("player", c.Player), func(map[string]any) string { return "the ban is lifted" })
	case c.For < time.Second:
		return &exitError{exitUsage, errors.New("admin: --for must be a second or more, such as 24h")}
	}
	q := given("player", c.Player, "seconds", number(int(c.For/time.Second)), "reason", c.Reason)
	return c.do(s, http.MethodPost, "bans", q, func(a map[string]any) string {
		return fmt.Sprintf("banned until %v; %s", a["until"], ending(a))
	})
}

type terminateCommand struct {
	consoleFlags
	GameSession string `arg:"" name:"game-session" help:"ARN of the game session."`
	Force       bool   `help:"Do not ask the game."`
}

func (c *terminateCommand) Run(s streams) error {
	q := given("id", c.gameARN(c.GameSession), "force", map[bool]string{true: "true"}[c.Force])
	return c.do(s, http.MethodPost, "game-session/terminate", q, func(a map[string]any) string {
		return fmt.Sprintf("the game session is %v", a["status"])
	})
}

type logLevelCommand struct {
	consoleFlags
	Level string `arg:"" optional:"" enum:",debug,info,warn,error" default:"" help:"debug, info, warn or error. Without it, the level is printed."`
}

func (c *logLevelCommand) Run(s streams) error {
	method := http.MethodGet
	if c.Level != "" {
		method = http.MethodPost
	}
	return c.do(s, method, "log-level", given("level", c.Level), func(a map[string]any) string { return fmt.Sprint(a["level"]) })
}

type profileCommand struct {
	endpoint
	Kind    string `enum:"cpu,heap,goroutine,allocs" default:"cpu" placeholder:"KIND" help:"cpu, heap, goroutine or allocs (${default})."`
	Seconds int    `default:"10" placeholder:"N" help:"How long the processor is watched, 1 to 120 (${default})."`
	Output  string `short:"o" placeholder:"FILE" help:"File to write (troupe-KIND.pprof)."`
}

func (c *profileCommand) Run(s streams) error {
	ctx, stop := s.interruptible()
	defer stop()
	resp, err := c.call(ctx, http.MethodPost, "profile", given("kind", c.Kind, "seconds", number(c.Seconds)))
	if err != nil {
		return fmt.Errorf("admin: %w", err)
	}
	defer resp.Body.Close()
	name := cmp.Or(c.Output, "troupe-"+c.Kind+".pprof")
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("admin: %w", err)
	}
	n, err := io.Copy(f, resp.Body)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("admin: %w", err)
	}
	_, err = fmt.Fprintf(s.out, "%s: %d bytes\n", name, n)
	return err
}
