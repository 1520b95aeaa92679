package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"troupe/cmd/internal/config"
	"troupe/cmd/troupe/internal/admin"
	"troupe/cmd/troupe/internal/reach"
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
	Events      eventsCommand      `cmd:"" help:"Print the last events, and with --follow those that come."`
	Kick        kickCommand        `cmd:"" help:"Remove a player from its game sessions."`
	Ban         banCommand         `cmd:"" help:"Keep a player out for a time, let one in again, or list the bans."`
	Terminate   terminateCommand   `cmd:"" help:"End a game session."`
	LogLevel    logLevelCommand    `cmd:"" help:"Print or change the level of the host's log."`
	Profile     profileCommand     `cmd:"" help:"Take a profile of the host, for go tool pprof."`
	Drain       drainCommand       `cmd:"" help:"Drain the host: it accepts no new game sessions, placements and players, and exits when its game sessions have ended or the grace is over."`
}

// listFlags are the flags of commands that list records of a host.
type listFlags struct {
	endpoint
	JSON bool `name:"json" help:"Print JSON, with the member names of the API."`
}

// list fetches and prints one list.
func list[T any](c *listFlags, s streams, ask func(context.Context, *admin.Client) ([]T, error), table func(io.Writer, []T) error) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	o := admin.Options{Endpoint: c.Endpoint, Region: c.Region, AccessKey: c.AccessKey, SecretKey: c.SecretKey, SessionToken: c.SessionToken}
	var err error
	if o.TLS, err = trusting(c.CA); err != nil {
		return err
	}
	client := admin.New(o)
	defer client.Close()
	items, err := ask(ctx, client)
	switch {
	case err != nil:
		return fmt.Errorf("admin: %w", reach.Explain(c.Endpoint, err))
	case c.JSON:
		return admin.PrintJSON(s.out, items)
	}
	return table(s.out, items)
}

type sessionsCommand struct {
	listFlags
	Fleet       string `placeholder:"ID" help:"Only game sessions of this fleet. Without --fleet, --alias and --game-session: of all fleets."`
	Alias       string `placeholder:"ID" help:"Only game sessions of this alias's fleet."`
	GameSession string `placeholder:"ARN" help:"Only this game session."`
	Location    string `placeholder:"NAME" help:"Only game sessions at this location of the fleet or alias."`
	Status      string `placeholder:"STATUS" help:"Only game sessions with this status: ACTIVATING, ACTIVE, TERMINATING, TERMINATED or ERROR."`
}

// Run lists game sessions.
func (c *sessionsCommand) Run(s streams) error {
	return list(&c.listFlags, s, func(ctx context.Context, a *admin.Client) ([]admin.GameSession, error) {
		return a.GameSessions(ctx, admin.Sessions{Fleet: c.Fleet, Alias: c.Alias, GameSession: c.GameSession, Location: c.Location, Status: c.Status})
	}, admin.PrintGameSessions)
}

type playersCommand struct {
	listFlags
	GameSession   string `placeholder:"ARN" help:"Only player sessions of this game session. Without --game-session, --player and --player-session: of all ACTIVE game sessions."`
	Player        string `placeholder:"ID" help:"Only player sessions of this player."`
	PlayerSession string `placeholder:"ID" help:"Only this player session."`
	Fleet         string `placeholder:"ID" help:"Only player sessions in ACTIVE game sessions of this fleet."`
	Status        string `placeholder:"STATUS" help:"Only player sessions with this status: RESERVED, ACTIVE, COMPLETED or TIMEDOUT. Has no effect with --player or --player-session."`
}

// Run lists player sessions.
func (c *playersCommand) Run(s streams) error {
	return list(&c.listFlags, s, func(ctx context.Context, a *admin.Client) ([]admin.PlayerSession, error) {
		return a.PlayerSessions(ctx, admin.Players{GameSession: c.GameSession, Player: c.Player, PlayerSession: c.PlayerSession, Fleet: c.Fleet, Status: c.Status})
	}, admin.PrintPlayerSessions)
}

type queuesCommand struct {
	listFlags
	Names []string `arg:"" optional:"" name:"queue" help:"Names of the queues to list. Without them: all queues."`
}

// Run lists queues.
func (c *queuesCommand) Run(s streams) error {
	return list(&c.listFlags, s, func(ctx context.Context, a *admin.Client) ([]admin.Queue, error) {
		return a.Queues(ctx, c.Names)
	}, admin.PrintQueues)
}

type keysCommand struct {
	Config string `placeholder:"FILE" help:"Configuration file of the host."`
	JSON   bool   `name:"json" help:"Print JSON."`
}

// keyShown is an access key without its secrets.
type keyShown struct {
	ID           string
	Secret       string // where the secret comes from
	SessionToken bool   // callers must send a session token
	Allow        []string
	Rate         float64 // calls a second; 0: no limit
	Burst        int
}

// Run lists access keys.
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

// Run generates a key.
func (c *newKeysCommand) Run(s streams) error {
	id, secret := awswire.NewKey()
	if c.JSON {
		return admin.PrintJSON(s.out, []map[string]string{{"id": id, "secret": secret}})
	}
	_, err := fmt.Fprintf(s.out, "id: %s\nsecret: %s\n", id, secret)
	return err
}
