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

// Help returns examples.
func (placementsCommand) Help() string {
	return "What waits, and why:\n\n    troupe admin placements --status PENDING\n\nOne placement:\n\n    troupe admin placements my-placement"
}

type placementShown struct {
	ID, Queue, Status, Waits, GameSessionID, Location string
	Players, MaxPlayers                               int
	Started, Ended                                    *time.Time
}

// Run lists placements.
func (c *placementsCommand) Run(s streams) error {
	columns := []column[placementShown]{
		{"PLACEMENT", func(p *placementShown) string { return p.ID }}, {"QUEUE", func(p *placementShown) string { return p.Queue }},
		{"STATUS", func(p *placementShown) string { return p.Status }},
		{"PLAYERS", func(p *placementShown) string { return fmt.Sprintf("%d/%d", p.Players, p.MaxPlayers) }},
		{"GAME SESSION", func(p *placementShown) string { return c.shortGame(p.GameSessionID) }}, {"LOCATION", func(p *placementShown) string { return p.Location }},
		{"STARTED", func(p *placementShown) string { return when(p.Started) }}, {"ENDED", func(p *placementShown) string { return when(p.Ended) }},
		{"WHY", func(p *placementShown) string { return p.Waits }}, // last, as it is long
	}
	if len(c.IDs) == 0 {
		return show(&c.consoleFlags, s, "placements", given("queue", c.Queue, "status", c.Status, "limit", number(c.Limit)), "placements", columns...)
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
	raw, err := json.Marshal(found)
	if err != nil {
		return fmt.Errorf("admin: %s: %w", c.Endpoint, err)
	}
	return printList(&c.consoleFlags, s, raw, columns...)
}

type whyPlacementCommand struct {
	consoleFlags
	ID string `arg:"" name:"placement" help:"Id of the placement."`
}

// Help returns an example.
func (whyPlacementCommand) Help() string {
	return "Example:\n\n    troupe admin placements why my-placement"
}

// Run says why a placement waits, or how it has ended.
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
