package main

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"troupe/actors/store"
)

type backupCommand struct {
	Store string `required:"" placeholder:"FILE" help:"The store file (store.path). A host may be using it."`
	Out   string `arg:"" name:"out" help:"Backup file to write. It must not exist yet."`
}

func (c *backupCommand) Run(s streams) error {
	ctx, stop := s.interruptible()
	defer stop()
	sum, err := store.Backup(ctx, c.Store, c.Out)
	if err != nil {
		return err
	}
	summarize(s.out, "written and checked: "+c.Out, sum)
	if n := len(sum.Damaged); n > 0 {
		showDamaged(s.out, sum.Damaged)
		return fmt.Errorf("%s is written, but %d records of the store are damaged: see troupe store check", c.Out, n)
	}
	return nil
}

type restoreCommand struct {
	Store string `required:"" placeholder:"FILE" help:"The store file to replace (store.path). No host may be using it."`
	In    string `arg:"" name:"in" help:"Backup file to restore."`
}

func (c *restoreCommand) Run(s streams) error {
	ctx, stop := s.interruptible()
	defer stop()
	sum, err := store.Restore(ctx, c.Store, c.In)
	if err != nil {
		return err
	}
	summarize(s.out, "checked and restored: "+c.Store, sum)
	if sum.Replaced != "" {
		fmt.Fprintf(s.out, "the old store is kept as %s\n", sum.Replaced)
	}
	return nil
}

func summarize(out io.Writer, what string, sum store.Summary) {
	fmt.Fprintf(out, "%s\n%d bytes, schema version %d\n", what, sum.Bytes, sum.Version)
	for _, kind := range slices.Sorted(maps.Keys(sum.Records)) {
		fmt.Fprintf(out, "%8d %s\n", sum.Records[kind], kind)
	}
}
