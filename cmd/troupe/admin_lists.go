package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

type connectionsCommand struct {
	consoleFlags
	Closed bool   `help:"Those that have ended, and why and by whom (the last 1000)."`
	Player string `placeholder:"ID" help:"Only those of this player; with --closed."`
	By     string `enum:",host,client,network" default:"" placeholder:"WHO" help:"Only those that the host, the client or the network has ended; with --closed."`
	Sort   string `enum:"queue,rtt,rate,newest" default:"queue" placeholder:"ORDER" help:"queue: the longest queue first; rtt: the slowest first; rate: the most messages a second first; newest; without --closed (${default})."`
	Limit  int    `default:"50" placeholder:"N" help:"At most so many, up to 200 (${default})."`
}

// Help returns examples.
func (connectionsCommand) Help() string {
	return "Who is slow:\n\n    troupe admin connections --sort rtt --limit 10\n\nWhy was ann thrown out:\n\n    troupe admin connections --closed --player ann"
}

type connectionShown struct {
	PlayerID, PlayerSession, State, Transport, Address, Reason string
	RTTSeconds, InPerSecond, OutPerSecond                      *float64
	QueueBytes                                                 int
}

// perSecond is a rate in a table, which is not known at the first look.
func perSecond(f *float64) string {
	if f == nil {
		return ""
	}
	return fmt.Sprintf("%.1f", *f)
}

type closedShown struct {
	At                                                              *time.Time
	LastedSeconds                                                   float64
	Transport, Address, PlayerID, PlayerSession, Reason, By, Detail string
}

// why is the reason with what is known beyond it.
func (x *closedShown) why() string {
	if x.Detail == "" {
		return x.Reason
	}
	return x.Reason + " (" + x.Detail + ")"
}

// Run lists connections.
func (c *connectionsCommand) Run(s streams) error {
	if c.Closed {
		return show(&c.consoleFlags, s, "connections/closed", given("player", c.Player, "by", c.By, "limit", number(c.Limit)), "connections",
			column[closedShown]{"CLOSED", func(x *closedShown) string { return when(x.At) }}, column[closedShown]{"PLAYER", func(x *closedShown) string { return x.PlayerID }},
			column[closedShown]{"BY", func(x *closedShown) string { return x.By }}, column[closedShown]{"WHY", (*closedShown).why},
			column[closedShown]{"LASTED", func(x *closedShown) string { return briefly(x.LastedSeconds) }}, column[closedShown]{"TRANSPORT", func(x *closedShown) string { return x.Transport }},
			column[closedShown]{"ADDRESS", func(x *closedShown) string { return x.Address }})
	}
	if c.Player != "" || c.By != "" {
		return &exitError{exitUsage, errors.New("admin: --player and --by are for connections that have ended, with --closed")}
	}
	answer, err := showAll(&c.consoleFlags, s, "connections", given("sort", c.Sort, "limit", number(c.Limit)), "connections",
		column[connectionShown]{"PLAYER", func(x *connectionShown) string { return x.PlayerID }}, column[connectionShown]{"PLAYER SESSION", func(x *connectionShown) string { return x.PlayerSession }},
		column[connectionShown]{"STATE", func(x *connectionShown) string { return x.State }}, column[connectionShown]{"TRANSPORT", func(x *connectionShown) string { return x.Transport }},
		column[connectionShown]{"ADDRESS", func(x *connectionShown) string { return x.Address }},
		column[connectionShown]{"ROUND TRIP", func(x *connectionShown) string {
			if x.RTTSeconds == nil {
				return ""
			}
			return time.Duration(*x.RTTSeconds * float64(time.Second)).Round(10 * time.Microsecond).String()
		}},
		column[connectionShown]{"IN/S", func(x *connectionShown) string { return perSecond(x.InPerSecond) }}, column[connectionShown]{"OUT/S", func(x *connectionShown) string { return perSecond(x.OutPerSecond) }},
		column[connectionShown]{"QUEUED BYTES", func(x *connectionShown) string { return number(x.QueueBytes) }}, column[connectionShown]{"LAST REASON", func(x *connectionShown) string { return x.Reason }})
	if err != nil || c.JSON {
		return err
	}
	return sumUp(s.out, answer, c.Limit)
}

// sumUp says how many connections there are beside those that are shown, and how many game
// sessions do not answer.
func sumUp(out io.Writer, answer map[string]json.RawMessage, limit int) error {
	var matched, silent int
	if err := errors.Join(json.Unmarshal(answer["matched"], &matched), json.Unmarshal(answer["silent"], &silent)); err != nil {
		return fmt.Errorf("admin: %w", err)
	}
	text := fmt.Sprintf("%d of %s", min(limit, matched), count(int64(matched), "player"))
	if silent > 0 {
		text += fmt.Sprintf("; silent: %s, whose players are not there", count(int64(silent), "game session"))
	}
	_, err := fmt.Fprintln(out, text)
	return err
}

type fleetsCommand struct{ consoleFlags }

// Help returns an example.
func (fleetsCommand) Help() string { return "Example:\n\n    troupe admin fleets" }

type fleetShown struct {
	ID, Name, Status, ScriptID, LaunchPath string
	Aliases                                []string
	Locations                              []struct {
		Location                          string
		GameSessions, Players, PlayersMax int
	}
}

// Run lists fleets.
func (c *fleetsCommand) Run(s streams) error {
	return show(&c.consoleFlags, s, "fleets", nil, "fleets",
		column[fleetShown]{"FLEET", func(f *fleetShown) string { return f.ID }}, column[fleetShown]{"NAME", func(f *fleetShown) string { return f.Name }},
		column[fleetShown]{"STATUS", func(f *fleetShown) string { return f.Status }}, column[fleetShown]{"SCRIPT", func(f *fleetShown) string { return f.ScriptID }},
		column[fleetShown]{"ALIASES", func(f *fleetShown) string { return strings.Join(f.Aliases, " ") }},
		column[fleetShown]{"USE", func(f *fleetShown) string {
			var all []string
			for _, l := range f.Locations {
				all = append(all, fmt.Sprintf("%s: %d game sessions, %d/%d players", l.Location, l.GameSessions, l.Players, l.PlayersMax))
			}
			return strings.Join(all, "; ")
		}})
}

type scriptsCommand struct {
	consoleFlags
	Running bool `help:"Instead of the scripts: which versions the ACTIVE game sessions run. After an update, those that run go on with the version that they began with."`
}

// Help returns examples.
func (scriptsCommand) Help() string {
	return "Examples:\n\n    troupe admin scripts --json\n    troupe admin scripts --running"
}

type runningShown struct {
	FleetID, ScriptVersion string
	GameSessions, Players  int
	Newest                 *time.Time
}

type scriptShown struct {
	ID, Name, Version, NodeVersion string
	SizeBytes                      int64
	Contents                       int
	Created                        *time.Time
}

// Run lists scripts, or the versions that run.
func (c *scriptsCommand) Run(s streams) error {
	if c.Running {
		return show(&c.consoleFlags, s, "scripts", nil, "running",
			column[runningShown]{"FLEET", func(x *runningShown) string { return x.FleetID }}, column[runningShown]{"VERSION", func(x *runningShown) string { return x.ScriptVersion }},
			column[runningShown]{"GAME SESSIONS", func(x *runningShown) string { return number(x.GameSessions) }}, column[runningShown]{"PLAYERS", func(x *runningShown) string { return number(x.Players) }},
			column[runningShown]{"NEWEST", func(x *runningShown) string { return when(x.Newest) }})
	}
	return show(&c.consoleFlags, s, "scripts", nil, "scripts",
		column[scriptShown]{"SCRIPT", func(x *scriptShown) string { return x.ID }}, column[scriptShown]{"NAME", func(x *scriptShown) string { return x.Name }},
		column[scriptShown]{"VERSION", func(x *scriptShown) string { return x.Version }}, column[scriptShown]{"CONTENTS", func(x *scriptShown) string { return number(x.Contents) }},
		column[scriptShown]{"NODE", func(x *scriptShown) string { return x.NodeVersion }}, column[scriptShown]{"BYTES", func(x *scriptShown) string { return number(int(x.SizeBytes)) }},
		column[scriptShown]{"CREATED", func(x *scriptShown) string { return when(x.Created) }})
}

type aliasesCommand struct{ consoleFlags }

// Help returns an example.
func (aliasesCommand) Help() string { return "Example:\n\n    troupe admin aliases" }

type aliasShown struct{ ID, Name, FleetID, Message string }

// Run lists aliases.
func (c *aliasesCommand) Run(s streams) error {
	return show(&c.consoleFlags, s, "aliases", nil, "aliases",
		column[aliasShown]{"ALIAS", func(x *aliasShown) string { return x.ID }}, column[aliasShown]{"NAME", func(x *aliasShown) string { return x.Name }},
		column[aliasShown]{"FLEET", func(x *aliasShown) string { return x.FleetID }}, column[aliasShown]{"MESSAGE", func(x *aliasShown) string { return x.Message }})
}

type locationsCommand struct{ consoleFlags }

// Help returns an example.
func (locationsCommand) Help() string { return "Example:\n\n    troupe admin locations" }

type locationShown struct {
	Name            string
	Custom          bool
	GameSessionsMax int
}

// Run lists locations.
func (c *locationsCommand) Run(s streams) error {
	return show(&c.consoleFlags, s, "locations", nil, "locations",
		column[locationShown]{"LOCATION", func(x *locationShown) string { return x.Name }}, column[locationShown]{"CUSTOM", func(x *locationShown) string { return fmt.Sprint(x.Custom) }},
		column[locationShown]{"GAME SESSIONS AT MOST", func(x *locationShown) string {
			if x.GameSessionsMax == 0 {
				return "no bound"
			}
			return number(x.GameSessionsMax)
		}})
}

type eventsCommand struct {
	endpoint
	Follow bool `short:"f" help:"Print events as they happen, until a signal."`
}

// Help returns an example.
func (eventsCommand) Help() string {
	return "One event per line, as JSON, the oldest first. Example:\n\n    troupe admin events --follow"
}

// Run prints events.
func (c *eventsCommand) Run(s streams) error {
	ctx, stop := s.interruptible()
	defer stop()
	resp, err := c.call(ctx, http.MethodGet, "events", nil)
	if err != nil {
		return fmt.Errorf("admin: %w", err)
	}
	defer resp.Body.Close()
	lines, kind := bufio.NewScanner(resp.Body), ""
	lines.Buffer(nil, 8<<20)
	seen := make(map[string]bool) // the newest of the recent ones may come twice
	for lines.Scan() {
		if name, ok := bytes.CutPrefix(lines.Bytes(), []byte("event: ")); ok {
			kind = string(name)
			if kind == "overview" && !c.Follow { // follows the recent events
				return nil
			}
		}
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok || kind == "overview" {
			continue
		}
		var e struct{ ID string }
		_ = json.Unmarshal(data, &e) // then it has no id
		if seen[e.ID] && e.ID != "" {
			continue
		}
		if kind == "recent" {
			seen[e.ID] = true
		}
		if _, err := fmt.Fprintf(s.out, "%s\n", data); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("admin: the host has ended the stream: %w", err)
	}
	return errors.New("admin: the host has ended the stream")
}
