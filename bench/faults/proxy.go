package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"troupe/transport"
)

// ProxyOptions configures proxies for clients of any kind.
type ProxyOptions struct {
	Plan     Plan // must not contain faults of the host
	Seed     uint64
	Players  int // number of proxies, 1 to PlayersMax; each has its own faults
	Quick    bool
	Repeat   bool   // restart the plan when it is over
	Listen   string // host:port of the first proxy; the others use the following ports; port 0: free ports
	TCP, UDP string // host:port of the host; UDP may be empty
	// PlayerSessions, if not nil, are printed with the addresses.
	PlayerSessions []string
	Out            io.Writer // written to by one goroutine only

	Network transport.Network // nil: the network of the operating system
}

// Check returns an error if the options are invalid.
func (o *ProxyOptions) Check() error {
	switch {
	case o.Players < 1 || o.Players > PlayersMax:
		return fmt.Errorf("--players must be 1 to %d", PlayersMax)
	case o.Plan.NeedsHost():
		return fmt.Errorf("%s breaks the host, which proxies cannot do: troupe faults run can", o.Plan.Name)
	}
	_, err := o.address(0)
	return err
}

// address returns the address that a player's proxy listens on.
func (o *ProxyOptions) address(player int) (string, error) {
	host, text, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return "", fmt.Errorf("--listen must be HOST:PORT: %w", err)
	}
	port, err := strconv.Atoi(text)
	if err != nil || port < 0 || port+o.Players > 1<<16 {
		return "", fmt.Errorf("--listen: %s is no port with room for %d", text, o.Players)
	}
	if port == 0 {
		return o.Listen, nil
	}
	return net.JoinHostPort(host, strconv.Itoa(port+player)), nil
}

// Proxy opens the proxies, prints their addresses, and plays the plan from the first connection on. When the plan is
// over, the proxies pass everything through until ctx ends. The end of ctx is not an error.
func Proxy(ctx context.Context, o ProxyOptions) (err error) {
	if err := o.Check(); err != nil {
		return err
	}
	plan := o.Plan
	if o.Quick {
		plan = plan.quick()
	}
	var paths []*Path
	defer func() {
		for _, p := range paths {
			err = errors.Join(err, p.Close())
		}
	}()
	first := make(chan struct{}, o.Players)
	for i := range o.Players {
		addr, err := o.address(i)
		if err != nil {
			return err
		}
		p, err := ListenPath(o.Network, addr, o.Seed, i, o.TCP, o.UDP)
		if err != nil {
			return err
		}
		paths = append(paths, p)
		go func() {
			select {
			case <-p.Used():
				first <- struct{}{}
			case <-ctx.Done():
			}
		}()
		fmt.Fprintf(o.Out, "player %d: %s", i, p.TCP())
		if o.UDP != "" {
			fmt.Fprintf(o.Out, ", kcp %s", p.UDP())
		}
		if o.PlayerSessions != nil {
			fmt.Fprintf(o.Out, ", player session %s", o.PlayerSessions[i])
		}
		fmt.Fprintln(o.Out)
	}
	fmt.Fprintf(o.Out, "%s, seed %d: the plan begins with the first connection and takes %v; Ctrl-C ends it\n", plan.Name, o.Seed, time.Duration(plan.Length))
	select {
	case <-first:
	case <-ctx.Done():
		return nil
	}
	events := plan.Expand(o.Seed, o.Players)
	for {
		began := time.Now()
		note := func(text string) { fmt.Fprintf(o.Out, "%8.3f s  %s\n", time.Since(began).Seconds(), text) }
		note("the plan begins")
		err := schedule(ctx, events, time.Duration(plan.Length), func(e Event) (func() error, error) {
			note(e.words())
			end := paths[e.Player].Begin(e)
			if end == nil {
				return nil, nil
			}
			return func() error {
				end()
				note(e.String() + " is over")
				return nil
			}, nil
		})
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if !o.Repeat {
			note("the plan is over; everything passes")
			<-ctx.Done()
			return nil
		}
	}
}

// words describes the event with its length and conditions.
func (e Event) words() string {
	row := e.row()
	text := e.String()
	if row.For != "" {
		text += " for " + row.For
	}
	if row.Conditions != "" {
		text += ": " + row.Conditions
	}
	return text
}
