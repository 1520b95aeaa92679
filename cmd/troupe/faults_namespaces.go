package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"troupe/bench/faults"
	"troupe/bench/faults/netns"
)

// insideRequest is one run that another process of this program makes, in a network namespace of its own.
type insideRequest struct {
	Flags   faultsFlags
	Plan    faults.Plan
	Events  []faults.Event
	Seed    uint64
	Players int
	Quick   bool
}

// inside has such a process run. What there is to say it says itself, and its exit code is this one's.
func (c *faultsFlags) inside(ctx context.Context, s streams, o faults.Options) error {
	bin, err := os.Executable()
	if err != nil {
		return err
	}
	request, err := json.Marshal(insideRequest{*c, o.Plan, o.Events, o.Seed, o.Players, o.Quick})
	if err != nil {
		return err
	}
	cmd, err := netns.Start(func() *exec.Cmd {
		cmd := exec.Command(bin, "faults", "inside")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(request), s.out, s.err
		return cmd
	})
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("faults: %w", withoutRights(err))}
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) }) // harmless if it has ended
	defer stop()
	err = cmd.Wait()
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.Exited() {
		return &exitError{code: exit.ExitCode()}
	}
	return err
}

// withoutRights says what can be done where a namespace cannot.
func withoutRights(err error) error {
	if errors.Is(err, netns.ErrUnsupported) {
		return fmt.Errorf("--layer %s: %w (--layer %s needs no rights)", faults.LayerNamespaces, err, faults.LayerProxies)
	}
	return err
}

type faultsInside struct{}

// Run makes one run in the namespace in which this process is alone. Its errors are those of faultsRun.
func (faultsInside) Run(s streams) error {
	var r insideRequest
	if err := json.NewDecoder(s.in).Decode(&r); err != nil {
		return &exitError{exitUsage, fmt.Errorf("faults: read what to run: %w", err)}
	}
	return r.Flags.here(s, faults.Options{Plan: r.Plan, Events: r.Events, Seed: r.Seed, Players: r.Players, Quick: r.Quick, Namespaces: true})
}
