package main

import (
	"fmt"
	"strconv"
	"strings"

	"troupe/cmd/internal/config"
	"troupe/cmd/troupe/internal/admin"
	"troupe/transport/awswire"
	"troupe/transport/host"
)

type adminCommand struct {
	Keys struct {
		List keysCommand    `cmd:"" default:"withargs" help:"Print the access keys of a configuration, without their secrets."`
		New  newKeysCommand `cmd:"" help:"Generate an access key. It is not stored: add it to the configuration."`
	} `cmd:"" help:"Access keys of the service API."`
	Sessions    sessionsCommand    `cmd:"" help:"List game sessions."`
	Players     playersCommand     `cmd:"" help:"List player sessions."`
	Connections connectionsCommand `cmd:"" help:"List connections of players, the slowest first, or those that have ended, and why."`
	Placements  struct {
		List placementsCommand   `cmd:"" default:"withargs" help:"List placements: those that wait, and why, and those that have ended last."`
		Why  whyPlacementCommand `cmd:"" help:"Say why a placement waits, or why one that has ended waited last."`
	} `cmd:"" help:"List placements, or say why one waits."`
	Queues      queuesCommand      `cmd:"" help:"List game session queues."`
	Matchmaking matchmakingCommand `cmd:"" help:"Matchmaking: how many tickets wait, and why."`
	Fleets      fleetsCommand      `cmd:"" help:"List fleets and their use."`
	Scripts     scriptsCommand     `cmd:"" help:"List scripts."`
	Aliases     aliasesCommand     `cmd:"" help:"List aliases."`
	Locations   locationsCommand   `cmd:"" help:"List locations."`
	Compute     struct {
		Env computeEnvCommand `cmd:"" help:"Print shell commands that set what a process with the Server SDK needs: URL, fleet, compute and a token that is valid for three hours."`
	} `cmd:"" help:"Computes of ANYWHERE fleets, for game servers with the GameLift Server SDK."`
	Events    eventsCommand    `cmd:"" help:"Print the last events, and with --follow those that come."`
	Kick      kickCommand      `cmd:"" help:"Remove a player from its game sessions."`
	Ban       banCommand       `cmd:"" help:"Keep a player out for a time, let one in again, or list the bans."`
	Terminate terminateCommand `cmd:"" help:"End a game session."`
	LogLevel  logLevelCommand  `cmd:"" help:"Print or change the level of the host's log."`
	Profile   profileCommand   `cmd:"" help:"Take a profile of the host, for go tool pprof."`
	Nodes     nodesCommand     `cmd:"" help:"List the nodes of a cluster: who is live, who leads, and why a node is not live."`
	Forget    forgetCommand    `cmd:"" help:"Declare a node of a cluster lost at once, at your own risk: its game sessions are TERMINATED, and end there too if it still runs."`
	Cluster   clusterCommand   `cmd:"" help:"Certificates with which the nodes of a cluster know each other."`
	Drain     drainCommand     `cmd:"" help:"Drain the host: it accepts no new game sessions, placements and players, and exits when its game sessions have ended or the grace is over."`
}

type keysCommand struct {
	Config string `placeholder:"FILE" help:"Configuration file of the host."`
	JSON   bool   `name:"json" help:"Print JSON."`
}

// keyShown is an access key without its secret parts.
type keyShown struct {
	ID           string
	Secret       string // where the secret comes from
	SessionToken bool   // callers must send a session token
	Allow        []string
	Rate         float64 // calls per second; 0: no limit
	Burst        int
}

func (c *keysCommand) Run(s streams) error {
	cfg, err := config.Load(config.Sources{Defaults: host.Defaults(), File: c.Config})
	if err != nil {
		return err
	}
	shown := []keyShown{}
	var rows [][]string
	for _, k := range cfg.API.Keys {
		rate, burst := cfg.API.Limits(&k)
		one := keyShown{ID: k.ID, Secret: "configuration", SessionToken: k.SessionToken != "", Allow: k.Allow, Rate: rate, Burst: burst}
		if k.SecretFile != "" {
			one.Secret = "file " + k.SecretFile
		} else if k.SecretEnv != "" {
			one.Secret = "environment " + k.SecretEnv
		}
		if len(one.Allow) == 0 {
			one.Allow = []string{"gamelift:*"}
		}
		limit := "none"
		if rate > 0 {
			limit = strconv.FormatFloat(rate, 'g', -1, 64) + "/s, " + strconv.Itoa(burst) + " at once"
		}
		shown = append(shown, one)
		rows = append(rows, []string{one.ID, one.Secret, strconv.FormatBool(one.SessionToken), strings.Join(one.Allow, " "), limit})
	}
	if c.JSON {
		return admin.PrintJSON(s.out, shown)
	}
	return admin.PrintTable(s.out, []string{"ACCESS KEY", "SECRET", "SESSION TOKEN", "ALLOWED", "LIMIT"}, rows)
}

type newKeysCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

func (c *newKeysCommand) Run(s streams) error {
	id, secret := awswire.NewKey()
	if c.JSON {
		return admin.PrintJSON(s.out, []map[string]string{{"id": id, "secret": secret}})
	}
	_, err := fmt.Fprintf(s.out, "id: %s\nsecret: %s\n", id, secret)
	return err
}
