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
	ReconnectStorm stormCommand `cmd:"" help:"Cut players off, one at a time and all at once, and see how they come back."`
}

type stormCommand struct {
	Endpoint  string        `aliases:"api" placeholder:"URL" help:"Service API of a running host, whose limits per address must be lifted. Without it a host is started."`
	Set       []string      `placeholder:"KEY=VALUE" sep:"none" help:"A setting of the host that is started; may be repeated."`
	Region    string        `default:"us-east-1" placeholder:"NAME" help:"Region of the host (${default})."`
	Fleet     string        `default:"fleet-dev" placeholder:"ID" help:"Fleet to play on (${default})."`
	Transport string        `enum:"ws,kcp" default:"ws" help:"ws or kcp (${default})."`
	Players   int           `default:"5000" help:"Players (${default})."`
	Room      int           `default:"10" help:"Players of a game session (${default})."`
	Rate      float64       `default:"0.5" placeholder:"HZ" help:"Messages per second and player, each to its whole game session (${default})."`
	Payload   int           `default:"64" placeholder:"BYTES" help:"Payload of a message (${default})."`
	Single    int           `default:"200" placeholder:"N" help:"Cuts one at a time, before the one of all (${default})."`
	Every     time.Duration `default:"20ms" placeholder:"D" help:"Time between those (${default})."`
	Seed      uint64        `default:"1" help:"Seed of who is cut (${default})."`
	Patience  time.Duration `default:"30s" placeholder:"D" help:"How long all may take to be back, and the last messages to arrive (${default})."`
	JSON      string        `name:"json" placeholder:"FILE" help:"Write the result there."`
	BarP99    float64       `name:"bar-p99" placeholder:"MS" help:"Fail if the p99 of single resumes is above."`
	BarBack   float64       `name:"bar-back" placeholder:"SECONDS" help:"Fail if the last one of all is back later."`
	BarExact  bool          `name:"bar-exact" help:"Fail if anything was lost or came twice."`
}

// Run measures, prints and stores.
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

// judge holds the result against the bars that are set.
func (c *stormCommand) judge(r *storm.Result) error {
	switch {
	case r.Failed > 0:
		return fmt.Errorf("%d players did not come back", r.Failed)
	case c.BarP99 > 0 && r.Single.P99 > c.BarP99:
		return fmt.Errorf("p99 of single resumes is %.2f ms, the bar %.2f", r.Single.P99, c.BarP99)
	case c.BarBack > 0 && r.StormSeconds > c.BarBack:
		return fmt.Errorf("all were back after %.2f s, the bar is %.2f", r.StormSeconds, c.BarBack)
	case c.BarExact && r.Lost+r.Duplicated+r.Unsent+r.Gaps > 0:
		return fmt.Errorf("lost %d, duplicated %d, unsent %d, gaps %d", r.Lost, r.Duplicated, r.Unsent, r.Gaps)
	}
	return nil
}
