package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/term"

	"troupe/cmd/troupe/internal/admin"
)

type topCommand struct {
	endpoint
	Sort  string        `enum:"rate,queue,rtt,players" default:"rate" placeholder:"ORDER" help:"What comes first: the most messages a second (rate), the longest queue, the slowest round trip (rtt) or the most players (${default})."`
	Every time.Duration `default:"2s" placeholder:"TIME" help:"Time between two looks, from 1s on (${default})."`
	Limit int           `default:"50" placeholder:"N" help:"At most so many game sessions and so many players, up to 200 (${default})."`
	Once  bool          `help:"Print one look as a table, and end; so it is, too, if the output is no terminal."`
	JSON  bool          `name:"json" help:"Print one look as JSON, as the operator's API answers."`
}

func (c *topCommand) Run(s streams) error {
	if c.Every < time.Second {
		return &exitError{exitUsage, fmt.Errorf("top: --every must be at least 1s")}
	}
	ctx, stop := s.interruptible(syscall.SIGHUP)
	defer stop()
	in, out := terminal(s.in), terminal(s.out)
	if c.Once || c.JSON || in == nil || out == nil || os.Getenv("TERM") == "dumb" {
		if err := c.once(ctx, s); err != nil {
			return fmt.Errorf("top: %w", err)
		}
		return nil
	}
	o := admin.Options{In: in, Out: out, Host: c.Endpoint, Order: c.Sort, Every: c.Every, Ask: func(ctx context.Context, order string) (*admin.Snapshot, error) {
		overview, rows, err := c.look(ctx, order)
		if err != nil {
			return nil, err
		}
		return admin.Decode(overview, rows)
	}}
	if err := admin.Watch(ctx, o); err != nil {
		return fmt.Errorf("top: %w", err)
	}
	return nil
}

// terminal returns the file of a stream if it is a terminal, otherwise nil.
func terminal(stream any) *os.File {
	if f, ok := stream.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// look requests the overview and the rows.
func (c *topCommand) look(ctx context.Context, order string) (overview, rows json.RawMessage, err error) {
	if err = c.read(ctx, "overview", nil, &overview); err == nil {
		err = c.read(ctx, "top", given("sort", order, "limit", number(c.Limit)), &rows)
	}
	return overview, rows, err
}

// onceRest is slightly longer than the interval between two requests that the host needs to compute rates.
const onceRest = 1200 * time.Millisecond

// once makes two requests and prints the second answer.
func (c *topCommand) once(ctx context.Context, s streams) error {
	if _, _, err := c.look(ctx, c.Sort); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(onceRest):
	}
	overview, rows, err := c.look(ctx, c.Sort)
	switch {
	case err != nil:
		return err
	case c.JSON:
		both, err := json.Marshal(map[string]json.RawMessage{"overview": overview, "top": rows})
		if err != nil {
			return err
		}
		return printRaw(s.out, both)
	}
	now, err := admin.Decode(overview, rows)
	if err != nil {
		return err
	}
	return admin.Text(s.out, now, c.Endpoint)
}
