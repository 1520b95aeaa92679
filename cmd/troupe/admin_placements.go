package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

type placementsCommand struct {
	consoleFlags
	IDs    []string `arg:"" optional:"" name:"placement" help:"Ids of placements. Without them: the newest."`
	Queue  string   `placeholder:"NAME" help:"Only placements of this queue."`
	Status string   `enum:"any,PENDING,FULFILLED,CANCELLED,TIMED_OUT,FAILED" default:"any" placeholder:"STATUS" help:"Only placements with this status: PENDING, FULFILLED, CANCELLED, TIMED_OUT or FAILED."`
	Limit  int      `default:"50" placeholder:"N" help:"At most so many, up to 200 (${default})."`
}

type placementShown struct {
	ID, Queue, Status, Waits, GameSessionID, Location, Node string
	Players, MaxPlayers                                     int
	Started, Ended                                          *time.Time
}

func (c *placementsCommand) Run(s streams) error {
	// WHY is last because it may be long
	titles := []string{"PLACEMENT", "QUEUE", "STATUS", "PLAYERS", "GAME SESSION", "LOCATION", "NODE", "STARTED", "ENDED", "WHY"}
	texts := func(p *placementShown) []string {
		players := fmt.Sprintf("%d/%d", p.Players, p.MaxPlayers)
		return []string{p.ID, p.Queue, p.Status, players, c.shortGame(p.GameSessionID), p.Location, p.Node, when(p.Started), when(p.Ended), p.Waits}
	}
	if len(c.IDs) == 0 {
		q := given("queue", c.Queue, "status", c.Status, "limit", number(c.Limit))
		return show(&c.consoleFlags, s, "placements", q, "placements", titles, texts)
	}
	if c.Queue != "" || c.Status != "any" {
		return &exitError{exitUsage, errors.New("admin: --queue and --status are for the list, without ids")}
	}
	ctx, stop := s.interruptible()
	defer stop()
	found := make([]json.RawMessage, len(c.IDs))
	for i, id := range c.IDs {
		if err := c.decode(ctx, http.MethodGet, "placement", given("id", id), &found[i]); err != nil {
			return fmt.Errorf("admin: %w", err)
		}
	}
	return printAll(&c.consoleFlags, s, found, titles, texts)
}

type whyPlacementCommand struct {
	consoleFlags
	ID string `arg:"" name:"placement" help:"Id of the placement."`
}

func (c *whyPlacementCommand) Run(s streams) error {
	return c.do(s, http.MethodGet, "placement", given("id", c.ID), func(p map[string]any) string {
		switch {
		case p["status"] == "PENDING":
			return fmt.Sprintf("PENDING in queue %v: %v", p["queue"], p["waits"])
		case p["status"] == "FULFILLED":
			return strings.TrimSuffix(fmt.Sprintf("FULFILLED in %v: %v\nwhile it waited: %v", p["location"], p["gameSessionId"], p["waits"]), "\nwhile it waited: ")
		}
		return strings.TrimSuffix(fmt.Sprintf("%v\nat its end: %v", p["status"], p["waits"]), "\nat its end: ")
	})
}
