package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"troupe/messages"
)

type sessionsCommand struct {
	consoleFlags
	Fleet       string `xor:"fleet" placeholder:"ID" help:"Only game sessions of this fleet. Without --fleet, --alias and --game-session: of all fleets."`
	Alias       string `xor:"fleet" placeholder:"ID" help:"Only game sessions of this alias's fleet."`
	GameSession string `placeholder:"ID" help:"Only this game session, as lists show it or by its ARN; with --json with its players and groups."`
	Location    string `placeholder:"NAME" help:"Only game sessions at this location."`
	Status      string `enum:"any,ACTIVATING,ACTIVE,TERMINATING,TERMINATED,ERROR" default:"any" placeholder:"STATUS" help:"Only game sessions with this status: ACTIVATING, ACTIVE, TERMINATING, TERMINATED or ERROR."`
	Filter      string `placeholder:"EXPRESSION" help:"Only game sessions that match a FilterExpression of SearchGameSessions."`
	Sort        string `placeholder:"EXPRESSION" help:"In the order of a SortExpression of SearchGameSessions, instead of the newest first."`
}

type sessionShown struct {
	ID, Name, Status, Address, Location, Node string
	Players, MaxPlayers                       int
	Created                                   *time.Time
}

func (c *sessionsCommand) Run(s streams) error {
	titles := []string{"GAME SESSION", "NAME", "STATUS", "PLAYERS", "ADDRESS", "LOCATION", "NODE", "CREATED"}
	texts := func(g *sessionShown) []string {
		return []string{c.shortGame(g.ID), g.Name, g.Status, fmt.Sprintf("%d/%d", g.Players, g.MaxPlayers), g.Address, g.Location, g.Node, when(g.Created)}
	}
	if c.GameSession == "" {
		return showPages(&c.consoleFlags, s, "game-sessions", "gameSessions", []string{
			"fleet", c.Fleet, "alias", c.Alias, "location", c.Location, "status", c.Status, "filter", c.Filter, "sort", c.Sort,
		}, titles, texts)
	}
	if c.Fleet+c.Alias+c.Location+c.Filter+c.Sort != "" || c.Status != "any" {
		return &exitError{exitUsage, errors.New("admin: --game-session names one game session: give it without the flags that choose among all")}
	}
	ctx, stop := s.interruptible()
	defer stop()
	var one json.RawMessage
	if err := c.read(ctx, "game-session", given("id", c.gameARN(c.GameSession)), &one); err != nil {
		return fmt.Errorf("admin: %w", err)
	}
	return printAll(&c.consoleFlags, s, []json.RawMessage{one}, titles, texts)
}

type playersCommand struct {
	consoleFlags
	GameSession   string `xor:"whose" placeholder:"ID" help:"Only player sessions of this game session. Without --game-session, --player, --player-session and --fleet: of all ACTIVE game sessions."`
	Player        string `xor:"whose" placeholder:"ID" help:"Only player sessions of this player."`
	PlayerSession string `xor:"whose" placeholder:"ID" help:"Only this player session: its id, or as much of it as logs and lists show."`
	Fleet         string `xor:"whose" placeholder:"ID" help:"Only player sessions in ACTIVE game sessions of this fleet."`
	Status        string `enum:"any,RESERVED,ACTIVE,COMPLETED,TIMEDOUT" default:"any" placeholder:"STATUS" help:"Only player sessions with this status: RESERVED, ACTIVE, COMPLETED or TIMEDOUT."`
}

type seatShown struct {
	PlayerSession, PlayerID, Status, GameSessionID, Node string
	Created                                              *time.Time
}

func (c *playersCommand) Run(s streams) error {
	short := ""
	if c.PlayerSession != "" { // send only the short id, because the rest of the id is a secret
		short = "psess-" + messages.PlayerSessionID(c.PlayerSession).Short()
	}
	return showPages(&c.consoleFlags, s, "players", "players", []string{
		"gameSession", c.gameARN(c.GameSession), "player", c.Player, "playerSession", short, "fleet", c.Fleet, "status", c.Status,
	}, []string{"PLAYER SESSION", "PLAYER", "STATUS", "GAME SESSION", "NODE", "CREATED"}, func(p *seatShown) []string {
		return []string{p.PlayerSession, p.PlayerID, p.Status, c.shortGame(p.GameSessionID), p.Node, when(p.Created)}
	})
}

type queuesCommand struct {
	consoleFlags
	Names []string `arg:"" optional:"" name:"queue" help:"Names of the queues to list. Without them: all queues."`
}

type queueShown struct {
	Name           string
	TimeoutSeconds float64
	Destinations   []string // ARNs
	Policies       []struct{}
}

func (c *queuesCommand) Run(s streams) error {
	ctx, stop := s.interruptible()
	defer stop()
	var all struct{ Queues []json.RawMessage }
	if err := c.read(ctx, "queues", nil, &all); err != nil {
		return fmt.Errorf("admin: %w", err)
	}
	chosen := all.Queues
	if len(c.Names) > 0 {
		named := make(map[string]json.RawMessage)
		for _, raw := range all.Queues {
			var q queueShown
			if err := json.Unmarshal(raw, &q); err != nil {
				return fmt.Errorf("admin: %s: %w", c.Endpoint, err)
			}
			named[q.Name] = raw
		}
		chosen = nil
		for _, name := range c.Names {
			if named[name] == nil {
				return fmt.Errorf("admin: there is no queue %s", name)
			}
			chosen = append(chosen, named[name])
		}
	}
	return printAll(&c.consoleFlags, s, chosen, []string{"QUEUE", "TIMEOUT", "DESTINATIONS", "LATENCY POLICIES"}, func(q *queueShown) []string {
		to := make([]string, len(q.Destinations))
		for i, arn := range q.Destinations {
			to[i] = arn[strings.LastIndex(arn, "/")+1:]
		}
		return []string{q.Name, fmt.Sprintf("%gs", q.TimeoutSeconds), strings.Join(to, " "), number(len(q.Policies))}
	})
}
