package main

import (
	"cmp"
	"net/http"
	"strings"
	"time"
)

type nodesCommand struct{ consoleFlags }

type nodeShown struct {
	Name, State, Why, Version   string
	Leads, Draining             bool
	Locations                   []string
	GameSessions, Players, Room int
	LagSeconds                  *float64
}

func (c *nodesCommand) Run(s streams) error {
	titles := []string{"NODE", "STATE", "VERSION", "LOCATIONS", "GAME SESSIONS", "PLAYERS", "ROOM", "LAG", "LEADS", "WHY"}
	return show(&c.consoleFlags, s, "nodes", nil, "nodes", titles, func(n *nodeShown) []string {
		state, leads, late := n.State, "", ""
		if n.Draining {
			state += ", draining"
		}
		if n.Leads {
			leads = "yes"
		}
		if n.LagSeconds != nil {
			late = time.Duration(*n.LagSeconds * float64(time.Second)).Round(100 * time.Microsecond).String()
		}
		return []string{n.Name, state, n.Version, cmp.Or(strings.Join(n.Locations, " "), "all"), number(n.GameSessions), number(n.Players), number(n.Room), late, leads, n.Why}
	})
}

type forgetCommand struct {
	consoleFlags
	Node string `arg:"" help:"Name of the node. It must not be registered."`
}

func (c *forgetCommand) Run(s streams) error {
	return c.do(s, http.MethodPost, "nodes/forget", given("id", c.Node), func(map[string]any) string {
		return "node " + c.Node + " is lost: its game sessions are TERMINATED"
	})
}
