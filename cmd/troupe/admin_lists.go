package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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

type connectionShown struct {
	PlayerID, PlayerSession, State, Transport, Address, Reason, Node string
	RTTSeconds, InPerSecond, OutPerSecond                            *float64
	QueueBytes                                                       int
}

// perSecond formats a rate for a table. A rate is nil until the host has taken two samples.
func perSecond(f *float64) string {
	if f == nil {
		return ""
	}
	return fmt.Sprintf("%.1f", *f)
}

type closedShown struct {
	At                                                                    *time.Time
	LastedSeconds                                                         float64
	Transport, Address, PlayerID, PlayerSession, Reason, By, Detail, Node string
}

// why returns the reason, with the detail if there is one.
func (x *closedShown) why() string {
	if x.Detail == "" {
		return x.Reason
	}
	return x.Reason + " (" + x.Detail + ")"
}

func (c *connectionsCommand) Run(s streams) error {
	if c.Closed {
		titles := []string{"CLOSED", "PLAYER", "BY", "WHY", "LASTED", "TRANSPORT", "ADDRESS", "NODE"}
		q := given("player", c.Player, "by", c.By, "limit", number(c.Limit))
		return show(&c.consoleFlags, s, "connections/closed", q, "connections", titles, func(x *closedShown) []string {
			return []string{when(x.At), x.PlayerID, x.By, x.why(), briefly(x.LastedSeconds), x.Transport, x.Address, x.Node}
		})
	}
	if c.Player != "" || c.By != "" {
		return &exitError{exitUsage, errors.New("admin: --player and --by are for connections that have ended, with --closed")}
	}
	titles := []string{"PLAYER", "PLAYER SESSION", "STATE", "TRANSPORT", "ADDRESS", "ROUND TRIP", "IN/S", "OUT/S", "QUEUED BYTES", "NODE", "LAST REASON"}
	ctx, stop := s.interruptible()
	defer stop()
	var answer struct {
		Connections     json.RawMessage
		Matched, Silent int
		SilentNodes     []string
	}
	if err := c.read(ctx, "connections", given("sort", c.Sort, "limit", number(c.Limit)), &answer); err != nil {
		return fmt.Errorf("admin: %w", err)
	}
	err := printList(&c.consoleFlags, s, answer.Connections, titles, func(x *connectionShown) []string {
		trip := ""
		if x.RTTSeconds != nil {
			trip = time.Duration(*x.RTTSeconds * float64(time.Second)).Round(10 * time.Microsecond).String()
		}
		return []string{
			x.PlayerID, x.PlayerSession, x.State, x.Transport, x.Address, trip, perSecond(x.InPerSecond), perSecond(x.OutPerSecond), number(x.QueueBytes), x.Node, x.Reason,
		}
	})
	if err == nil && !c.JSON {
		_, err = fmt.Fprintln(s.out, sumUp(c.Limit, answer.Matched, answer.Silent))
	}
	if err != nil {
		return err
	}
	return tellSilent(s, answer.SilentNodes)
}

// sumUp returns the line below a table of players: how many of all players are shown, and how many game sessions do not
// answer.
func sumUp(limit, matched, silent int) string {
	text := fmt.Sprintf("%d of %s", min(limit, matched), count(int64(matched), "player"))
	if silent > 0 {
		text += fmt.Sprintf("; silent: %s, whose players are not there", count(int64(silent), "game session"))
	}
	return text
}

type fleetsCommand struct{ consoleFlags }

type fleetShown struct {
	ID, Name, Status, ScriptID, LaunchPath string
	Aliases                                []string
	Locations                              []struct {
		Location                          string
		GameSessions, Players, PlayersMax int
	}
}

func (c *fleetsCommand) Run(s streams) error {
	return show(&c.consoleFlags, s, "fleets", nil, "fleets", []string{"FLEET", "NAME", "STATUS", "SCRIPT", "ALIASES", "USE"}, func(f *fleetShown) []string {
		var use []string
		for _, l := range f.Locations {
			use = append(use, fmt.Sprintf("%s: %d game sessions, %d/%d players", l.Location, l.GameSessions, l.Players, l.PlayersMax))
		}
		return []string{f.ID, f.Name, f.Status, f.ScriptID, strings.Join(f.Aliases, " "), strings.Join(use, "; ")}
	})
}

type scriptsCommand struct {
	consoleFlags
	Running bool `help:"Instead of the scripts: which versions the ACTIVE game sessions run. After an update, those that run go on with the version that they began with."`
}

type runningShown struct {
	FleetID, ScriptVersion string
	GameSessions, Players  int
	Newest                 *time.Time
}

type scriptShown struct {
	ID, Name, Version, NodeVersion string
	SizeBytes, Contents            int
	Created                        *time.Time
}

func (c *scriptsCommand) Run(s streams) error {
	if c.Running {
		titles := []string{"FLEET", "VERSION", "GAME SESSIONS", "PLAYERS", "NEWEST"}
		return show(&c.consoleFlags, s, "scripts", nil, "running", titles, func(x *runningShown) []string {
			return []string{x.FleetID, x.ScriptVersion, number(x.GameSessions), number(x.Players), when(x.Newest)}
		})
	}
	titles := []string{"SCRIPT", "NAME", "VERSION", "CONTENTS", "NODE", "BYTES", "CREATED"}
	return show(&c.consoleFlags, s, "scripts", nil, "scripts", titles, func(x *scriptShown) []string {
		return []string{x.ID, x.Name, x.Version, number(x.Contents), x.NodeVersion, number(x.SizeBytes), when(x.Created)}
	})
}

type aliasesCommand struct{ consoleFlags }

type aliasShown struct{ ID, Name, FleetID, Message string }

func (c *aliasesCommand) Run(s streams) error {
	return show(&c.consoleFlags, s, "aliases", nil, "aliases", []string{"ALIAS", "NAME", "FLEET", "MESSAGE"}, func(x *aliasShown) []string {
		return []string{x.ID, x.Name, x.FleetID, x.Message}
	})
}

type locationsCommand struct{ consoleFlags }

type locationShown struct {
	Name            string
	Custom          bool
	GameSessionsMax int
}

func (c *locationsCommand) Run(s streams) error {
	titles := []string{"LOCATION", "CUSTOM", "GAME SESSIONS AT MOST"}
	return show(&c.consoleFlags, s, "locations", nil, "locations", titles, func(x *locationShown) []string {
		bound := "no bound"
		if x.GameSessionsMax != 0 {
			bound = number(x.GameSessionsMax)
		}
		return []string{x.Name, fmt.Sprint(x.Custom), bound}
	})
}

type eventsCommand struct {
	endpoint
	Follow bool `short:"f" help:"Print events as they happen, until a signal."`
}

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
	seen := make(map[string]bool) // the newest of the recent events may be repeated
	for lines.Scan() {
		if name, ok := bytes.CutPrefix(lines.Bytes(), []byte("event: ")); ok {
			kind = string(name)
			if kind == "overview" && !c.Follow { // the overview comes after the recent events
				return nil
			}
		}
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok || kind == "overview" {
			continue
		}
		var e struct{ ID string }
		_ = json.Unmarshal(data, &e) // without an id, e.ID stays empty
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
