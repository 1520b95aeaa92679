package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
)

type logsCommand struct {
	endpoint
	Follow bool   `short:"f" help:"Keep printing new lines until the game session has ended, or Ctrl-C."`
	All    bool   `help:"List all game sessions that have a log, not only running and recently ended ones."`
	ID     string `arg:"" optional:"" name:"game-session" help:"ARN of the game session, its last part, or the first characters of that. Without it: list the game sessions that have a log."`
}

func (c *logsCommand) Run(s streams) error {
	ctx, stop := s.interruptible()
	defer stop()
	if c.Follow && c.ID == "" {
		return &exitError{exitUsage, errors.New("--follow needs a game session")}
	}
	flag := map[bool]string{true: "1"}
	q := given("id", c.gameARN(c.ID), "all", flag[c.All], "follow", flag[c.Follow])
	resp, err := c.operator(ctx, http.MethodGet, "/debug/gamesession-log", q)
	if err != nil {
		return fmt.Errorf("logs: %w", err)
	}
	defer resp.Body.Close()
	n, err := io.Copy(s.out, resp.Body)
	if n == 0 && err == nil && c.ID == "" {
		fmt.Fprintln(s.out, "no game session has a log yet")
	}
	if ctx.Err() != nil {
		return nil // interrupted by the user
	}
	if err != nil {
		return fmt.Errorf("logs: %w", err)
	}
	return nil
}
