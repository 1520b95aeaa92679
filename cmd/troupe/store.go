package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"troupe/actors"
	"troupe/actors/store"
)

type storeCommand struct {
	Check storeCheckCommand `cmd:"" help:"Name what is damaged in a store, and change nothing."`
}

type storeCheckCommand struct {
	Store string `required:"" placeholder:"FILE" help:"The store, as store.path names it. A host may be using it."`
}

// Run names what is damaged; it is an error if something is.
func (c *storeCheckCommand) Run(s streams) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	r, err := store.OpenReader(c.Store)
	if err != nil {
		return err
	}
	defer r.Close()
	report, err := r.Check(ctx)
	if err != nil {
		return err
	}
	damaged := report.Damaged
	named := make(map[string]bool)
	for _, d := range damaged {
		named[string(d.Kind)+" "+d.ID] = true
	}
	senseless, err := actors.CheckStore(r)
	for _, d := range senseless {
		if !named[string(d.Kind)+" "+d.ID] {
			damaged = append(damaged, d)
		}
	}
	if err != nil && len(report.Broken) == 0 {
		return err
	}
	summarize(s.out, "checked: "+c.Store, report.Summary)
	for _, text := range report.Broken {
		fmt.Fprintln(s.out, "damaged:", text)
	}
	for _, d := range damaged {
		fmt.Fprintln(s.out, "damaged:", d)
	}
	if n := len(report.Broken) + len(damaged); n > 0 {
		return fmt.Errorf("%s: %d faults: restore a backup, or start without what is damaged: troupe serve --skip-damaged", c.Store, n)
	}
	fmt.Fprintln(s.out, "nothing is damaged")
	return nil
}
