package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"troupe/cmd/troupe/internal/storm"
	"troupe/transport/client"
)

type benchCommand struct {
	Run  benchRun  `cmd:"" default:"withargs" help:"Run workloads."`
	List benchList `cmd:"" help:"List the workloads."`
	Page benchPage `cmd:"" name:"report" help:"Write the page with plots from stored results; two files are shown side by side."`
	Bare benchBare `cmd:"" hidden:"" help:"Serve as the bare relay that hosts are compared with."`

	ReconnectStorm stormCommand `cmd:"" help:"Cut players' connections, one at a time and then all at once, and measure how long they take to reconnect."`
}

type stormCommand struct {
	Endpoint  string        `aliases:"api" placeholder:"URL" help:"Service API of a running host. Its limits per IP address must be raised. Without it, a host is started."`
	Set       []string      `placeholder:"KEY=VALUE" sep:"none" help:"Set a configuration key of the host that is started. May be repeated."`
	Region    string        `default:"us-east-1" placeholder:"NAME" help:"Region of the host (${default})."`
	Fleet     string        `default:"fleet-dev" placeholder:"ID" help:"Fleet to play on (${default})."`
	Transport string        `enum:"ws,kcp" default:"ws" help:"ws or kcp (${default})."`
	Players   int           `default:"5000" help:"Number of players (${default})."`
	Room      int           `default:"10" help:"Players per game session (${default})."`
	Rate      float64       `default:"0.5" placeholder:"HZ" help:"Messages per second and player, each to its whole game session (${default})."`
	Payload   int           `default:"64" placeholder:"BYTES" help:"Payload of a message (${default})."`
	Single    int           `default:"200" placeholder:"N" help:"How many connections to cut one at a time, before all are cut (${default})."`
	Every     time.Duration `default:"20ms" placeholder:"D" help:"Time between single cuts (${default})."`
	Seed      uint64        `default:"1" help:"Seed of the random choice of players to cut (${default})."`
	Patience  time.Duration `default:"30s" placeholder:"D" help:"How long all players may take to reconnect, and the last messages to arrive (${default})."`
	JSON      string        `name:"json" placeholder:"FILE" help:"Write the result to this file."`
	BarP99    float64       `name:"bar-p99" placeholder:"MS" help:"Fail if the p99 of single reconnects is above this."`
	BarBack   float64       `name:"bar-back" placeholder:"SECONDS" help:"Fail if reconnecting all players takes longer than this."`
	BarExact  bool          `name:"bar-exact" help:"Fail if a message was lost or arrived twice."`
}

// Run measures, prints the result and writes it to the JSON file.
func (c *stormCommand) Run(s streams) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	t, err := client.ParseTransport(c.Transport)
	if err != nil {
		return err
	}
	r, err := storm.Run(ctx, storm.Options{
		API: c.Endpoint, Host: c.Set, Region: c.Region, Fleet: c.Fleet, Transport: t, Players: c.Players, Room: c.Room,
		Rate: c.Rate, Payload: c.Payload, Single: c.Single, Every: c.Every, Seed: c.Seed, Patience: c.Patience,
	}, s.out)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "resumed %d, failed %d; messages %d, deliveries %d of %d, lost %d, duplicated %d, unsent %d, sent again %d, gaps %d\n",
		r.Resumed, r.Failed, r.Sent, r.Received, r.Expected, r.Lost, r.Duplicated, r.Unsent, r.Replayed, r.Gaps)
	if c.JSON != "" {
		text, err := json.MarshalIndent(r, "", "  ")
		if err == nil {
			err = os.WriteFile(c.JSON, append(text, '\n'), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return c.judge(&r)
}

// judge compares the result with the bars that are set.
func (c *stormCommand) judge(r *storm.Result) error {
	switch {
	case r.Failed > 0:
		return fmt.Errorf("%d players did not reconnect", r.Failed)
	case c.BarP99 > 0 && r.Single.P99 > c.BarP99:
		return fmt.Errorf("the p99 of single reconnects is %.2f ms, above the bar of %.2f ms", r.Single.P99, c.BarP99)
	case c.BarBack > 0 && r.StormSeconds > c.BarBack:
		return fmt.Errorf("reconnecting all players took %.2f s, longer than the bar of %.2f s", r.StormSeconds, c.BarBack)
	case c.BarExact && r.Lost+r.Duplicated+r.Unsent+r.Gaps > 0:
		return fmt.Errorf("lost %d, duplicated %d, unsent %d, gaps %d", r.Lost, r.Duplicated, r.Unsent, r.Gaps)
	}
	return nil
}
