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
		New  newKeysCommand `cmd:"" help:"Make up a new access key. Nothing is stored: put it into the configuration."`
	} `cmd:"" help:"Access keys of the service API."`
	Sessions   sessionsCommand   `cmd:"" help:"List game sessions."`
	Players    playersCommand    `cmd:"" help:"List player sessions."`
	Placements placementsCommand `cmd:"" help:"Describe placements."`
	Queues     queuesCommand     `cmd:"" help:"List game session queues."`
	Drain      drainCommand      `cmd:"" help:"Have the host take no new game sessions and seats, and end when its games have, or its grace is over."`
}

// asked are the flags of what asks a host.
type asked struct {
	endpoint
	JSON bool `name:"json" help:"Print JSON, with the members of the API."`
}

// list asks and prints one list.
func list[T any](c *asked, s streams, ask func(context.Context, *admin.Client) ([]T, error), table func(io.Writer, []T) error) error {
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
	asked
	Fleet       string `placeholder:"ID" help:"Of this fleet. Without fleet, alias and game session: of all fleets."`
	Alias       string `placeholder:"ID" help:"Of the fleet of this alias."`
	GameSession string `placeholder:"ARN" help:"This one."`
	Location    string `placeholder:"NAME" help:"At this location of the fleet or alias."`
	Status      string `placeholder:"STATUS" help:"With this status: ACTIVATING, ACTIVE, TERMINATING, TERMINATED or ERROR."`
}

// Run lists game sessions.
func (c *sessionsCommand) Run(s streams) error {
	return list(&c.asked, s, func(ctx context.Context, a *admin.Client) ([]admin.GameSession, error) {
		return a.GameSessions(ctx, admin.Sessions{Fleet: c.Fleet, Alias: c.Alias, GameSession: c.GameSession, Location: c.Location, Status: c.Status})
	}, admin.PrintGameSessions)
}

type playersCommand struct {
	asked
	GameSession   string `placeholder:"ARN" help:"Of this game session. Without it, player and player session: of all that are ACTIVE."`
	Player        string `placeholder:"ID" help:"Of this player."`
	PlayerSession string `placeholder:"ID" help:"This one."`
	Fleet         string `placeholder:"ID" help:"Of the ACTIVE game sessions of this fleet."`
	Status        string `placeholder:"STATUS" help:"With this status: RESERVED, ACTIVE, COMPLETED or TIMEDOUT. Not with player or player session."`
}

// Run lists player sessions.
func (c *playersCommand) Run(s streams) error {
	return list(&c.asked, s, func(ctx context.Context, a *admin.Client) ([]admin.PlayerSession, error) {
		return a.PlayerSessions(ctx, admin.Players{GameSession: c.GameSession, Player: c.Player, PlayerSession: c.PlayerSession, Fleet: c.Fleet, Status: c.Status})
	}, admin.PrintPlayerSessions)
}

type placementsCommand struct {
	asked
	IDs []string `arg:"" name:"placement" help:"Ids of placements: the service API has no list of them."`
}

// Run describes placements.
func (c *placementsCommand) Run(s streams) error {
	return list(&c.asked, s, func(ctx context.Context, a *admin.Client) ([]admin.Placement, error) {
		return a.Placements(ctx, c.IDs)
	}, admin.PrintPlacements)
}

type queuesCommand struct {
	asked
	Names []string `arg:"" optional:"" name:"queue" help:"Names of queues. Without them: all."`
}

// Run lists queues.
func (c *queuesCommand) Run(s streams) error {
	return list(&c.asked, s, func(ctx context.Context, a *admin.Client) ([]admin.Queue, error) {
		return a.Queues(ctx, c.Names)
	}, admin.PrintQueues)
}

type keysCommand struct {
	Config string `placeholder:"FILE" help:"The configuration file of the host."`
	JSON   bool   `name:"json" help:"Print JSON."`
}

// keyShown is an access key without what is secret about it.
type keyShown struct {
	ID           string
	Secret       string // where it comes from
	SessionToken bool   // callers must show one
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

// Run makes up a key.
func (c *newKeysCommand) Run(s streams) error {
	id, secret := awswire.NewKey()
	if c.JSON {
		return admin.PrintJSON(s.out, []map[string]string{{"id": id, "secret": secret}})
	}
	_, err := fmt.Fprintf(s.out, "id: %s\nsecret: %s\n", id, secret)
	return err
}
