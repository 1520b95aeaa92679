package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"
)

type logsCommand struct {
	endpoint
	Follow bool   `short:"f" help:"Wait for more until the game session has ended, or Ctrl-C."`
	ID     string `arg:"" optional:"" name:"game-session" help:"ARN of the game session, or its last part. Without it: which game sessions have a log."`
}

// Run prints a log, or the list of them.
func (c *logsCommand) Run(s streams) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if c.Follow && c.ID == "" {
		return errors.New("--follow needs a game session")
	}
	q := url.Values{}
	if c.ID != "" {
		q.Set("id", c.ID)
	}
	if c.Follow {
		q.Set("follow", "1")
	}
	resp, err := c.operator(ctx, http.MethodGet, "/debug/gamesession-log", q)
	if err != nil {
		return fmt.Errorf("logs: %w", err)
	}
	defer resp.Body.Close()
	_, err = io.Copy(s.out, resp.Body)
	if ctx.Err() != nil {
		return nil // somebody has seen enough
	}
	if err != nil {
		return fmt.Errorf("logs: %w", err)
	}
	return nil
}
