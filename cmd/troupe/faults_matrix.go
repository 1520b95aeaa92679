package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"time"

	"troupe/bench/faults"
	"troupe/bench/faults/kills"
)

// faultsMatrix is for those who work on Troupe: make faults.
type faultsMatrix struct {
	Only   string `placeholder:"REGEXP" help:"Rows to try, such as RL-10[1-3]."`
	Seed   uint64 `default:"1" placeholder:"N" help:"Seed of the plans (${default})."`
	AtOnce int    `default:"3" placeholder:"N" help:"Runs at a time (${default})."`
}

// Run fails with exitFailure if a promise or a figure is missed, and with exitUsage if it could not find out.
func (c *faultsMatrix) Run(s streams) error {
	only, err := regexp.Compile(c.Only)
	if err == nil && c.AtOnce < 1 {
		err = errors.New("--at-once must be at least 1")
	}
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("faults matrix: %w", err)}
	}
	return s.withThisProgram("faults matrix", func(ctx context.Context, bin string) (bool, error) {
		return faults.RunMatrix(ctx, faults.MatrixOptions{Bin: bin, Seed: c.Seed, Only: only, AtOnce: c.AtOnce, Log: s.err}, s.out)
	})
}

// withThisProgram gives do the path of this program, and turns what it finds into an exit code.
func (s streams) withThisProgram(name string, do func(ctx context.Context, bin string) (good bool, err error)) error {
	return s.untilSignal(func(ctx context.Context) error {
		bin, err := os.Executable()
		good := false
		if err == nil {
			good, err = do(ctx, bin)
		}
		switch {
		case err != nil:
			return &exitError{exitUsage, fmt.Errorf("%s: %w", name, err)}
		case !good:
			return &exitError{exitFailure, errors.New(name + ": a promise is broken")}
		}
		return nil
	})
}

// faultsKills is for those who work on Troupe: make bench-kills, with a program that has failpoints.
type faultsKills struct {
	Points  []string      `placeholder:"NAME" help:"Failpoints. Default: all that this program has, and random moments."`
	Rounds  int           `default:"5" placeholder:"N" help:"Kills at each (${default})."`
	Workers int           `default:"32" placeholder:"N" help:"Callers (${default})."`
	Load    time.Duration `default:"2s" placeholder:"TIME" help:"Load before a host is killed from outside (${default})."`
	Seed    uint64        `placeholder:"N" help:"Seed of the moments. Default: a new one."`
	JSON    string        `name:"json" placeholder:"FILE" help:"Write the result there."`
}

// Run fails with exitFailure if something was lost, and with exitUsage if it could not find out.
func (c *faultsKills) Run(s streams) error {
	return s.withThisProgram("faults kills", func(ctx context.Context, bin string) (bool, error) {
		rows, err := kills.Run(ctx, kills.Options{Bin: bin, Points: c.Points, Rounds: c.Rounds, Workers: c.Workers, Load: c.Load, Seed: c.Seed, Log: s.err})
		if err == nil && c.JSON != "" {
			err = kills.Store(c.JSON, rows)
		}
		return err == nil && kills.Print(s.out, rows), err
	})
}
