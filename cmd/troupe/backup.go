package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"troupe/actors/store"
)

type backupCommand struct {
	Store string `required:"" placeholder:"FILE" help:"The store, as store.path names it. A host may be using it."`
	Out   string `arg:"" name:"out" help:"File to write, which is not there yet."`
}

// Run writes a backup and checks it.
func (c *backupCommand) Run(s streams) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	sum, err := store.Backup(ctx, c.Store, c.Out)
	if err != nil {
		return err
	}
	summarize(s.out, "written and checked: "+c.Out, sum)
	if n := len(sum.Damaged); n > 0 {
		showDamaged(s.out, sum.Damaged)
		return fmt.Errorf("%s is written, with %d damaged records of the store: see troupe store check", c.Out, n)
	}
	return nil
}

type restoreCommand struct {
	Store string `required:"" placeholder:"FILE" help:"The store to replace, as store.path names it. No host may be using it."`
	In    string `arg:"" name:"in" help:"The backup."`
}

// Run checks a backup and puts it in the place of a store.
func (c *restoreCommand) Run(s streams) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	sum, err := store.Restore(ctx, c.Store, c.In)
	if err != nil {
		return err
	}
	summarize(s.out, "checked and restored: "+c.Store, sum)
	if sum.Replaced != "" {
		fmt.Fprintf(s.out, "what was there is now %s\n", sum.Replaced)
	}
	return nil
}

func summarize(out io.Writer, what string, sum store.Summary) {
	fmt.Fprintf(out, "%s\n%d bytes, schema version %d\n", what, sum.Bytes, sum.Version)
	for _, kind := range slices.Sorted(maps.Keys(sum.Records)) {
		fmt.Fprintf(out, "%8d %s\n", sum.Records[kind], kind)
	}
}
