package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"troupe/cmd/troupe/internal/admin"
	"troupe/transport/ops"
)

type drainCommand struct {
	endpoint
	Node   string         `arg:"" optional:"" help:"The node of a cluster that drains. Without it: the host that answers."`
	Cancel bool           `xor:"how" help:"Cancel the drain: the host accepts new game sessions again."`
	Grace  *time.Duration `xor:"how" placeholder:"DURATION" help:"How long game sessions with players may continue, at most 168h (the host's drain.grace by default)."`
	Show   bool           `xor:"how" help:"Only print the progress of a drain; a key that reads is enough."`
	JSON   bool           `name:"json" help:"Print JSON."`
}

func (c *drainCommand) Run(s streams) error {
	ctx, stop := s.interruptible()
	defer stop()
	method, q := http.MethodPost, url.Values{}
	switch {
	case c.Cancel:
		method = http.MethodDelete
	case c.Show:
		method = http.MethodGet
	case c.Grace != nil && *c.Grace < 0:
		return &exitError{exitUsage, errors.New("--grace must not be negative")}
	case c.Grace != nil:
		q.Set("grace", c.Grace.String())
	}
	if c.Node != "" {
		q.Set("node", c.Node)
	}
	var state ops.DrainState
	if err := c.decode(ctx, method, "drain", q, &state); err != nil {
		return fmt.Errorf("admin: %w", err)
	}
	if c.JSON {
		return admin.PrintJSON(s.out, []ops.DrainState{state})
	}
	printDrain(s.out, cmp.Or(c.Node, "the host"), &state)
	return nil
}

// printDrain prints the progress of a drain in one line.
func printDrain(out io.Writer, who string, d *ops.DrainState) {
	games := fmt.Sprintf("%s, %s", count(d.GameSessions, "game session"), count(d.Players, "player"))
	if d.Detached > 0 {
		games += fmt.Sprintf(" (%d detached)", d.Detached)
	}
	if !d.Draining {
		fmt.Fprintf(out, "%s is not draining: %s\n", who, games)
		return
	}
	left := time.Duration(d.GraceSeconds * float64(time.Second)).Round(time.Second)
	fmt.Fprintf(out, "%s is draining: %s left; game sessions that have not ended in %v are terminated\n", who, games, left)
}

// count returns a number with its noun.
func count(n int64, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}
