package main

import (
	"fmt"
	"io"

	"troupe/actors"
	"troupe/actors/store"
)

type storeCommand struct {
	Check storeCheckCommand `cmd:"" help:"List damaged records and pages of a store, without changing it."`
}

type storeCheckCommand struct {
	Store string `required:"" placeholder:"FILE" help:"The store file (store.path). A host may be using it."`
}

// Run lists the damage in the store. It returns an error if there is any.
func (c *storeCheckCommand) Run(s streams) error {
	ctx, stop := s.interruptible()
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
	named := make(map[store.Damage]bool)
	for _, d := range damaged {
		named[store.Damage{Kind: d.Kind, ID: d.ID}] = true
	}
	senseless, err := actors.CheckStore(r)
	for _, d := range senseless {
		if !named[store.Damage{Kind: d.Kind, ID: d.ID}] {
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
	showDamaged(s.out, damaged)
	switch n := len(report.Broken) + len(damaged); {
	case len(report.Broken) > 0:
		return fmt.Errorf("%s: %d faults, and no host starts with it: restore a backup, or start with the readable records: troupe serve --skip-damaged", c.Store, n)
	case n > 0:
		return fmt.Errorf("%s: %d faults: a host starts without these records, and leaves them in the store", c.Store, n)
	}
	fmt.Fprintln(s.out, "nothing is damaged")
	return nil
}

// damagedShown is the maximum number of damaged records that are printed.
const damagedShown = 1000

// showDamaged lists damaged records and, for each, the consequence for a host that starts without it.
func showDamaged(out io.Writer, damaged []store.Damage) {
	for i, d := range damaged {
		if i == damagedShown {
			fmt.Fprintf(out, "and %d more\n", len(damaged)-i)
			return
		}
		fmt.Fprintf(out, "damaged: %v\n         %s\n", d, actors.Consequence(d.Kind))
	}
}
