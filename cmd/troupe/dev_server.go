package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"troupe/messages"
	"troupe/transport/host"
)

// devServer is the game server of `troupe dev`.
type devServer struct {
	path  string // as the user has written it
	fleet messages.FleetID
	conf  *host.GameServer
}

// scriptNames are the endings of files that are scripts even if they may be executed.
var scriptNames = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".zip"}

// executable reports whether a path is a game server: an executable file that is no script.
func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && !slices.Contains(scriptNames, strings.ToLower(filepath.Ext(path)))
}

// server configures the fleet for a game server, and returns it, or nil if the path is a script.
func (c *devCommand) server(f *host.Fleet) (*devServer, error) {
	usage := func(text string) error { return &exitError{exitUsage, errors.New(text)} }
	if !executable(c.Script) {
		if len(c.Args) > 0 {
			return nil, usage("arguments go with a game server, which is an executable file: troupe dev ./my-server -- ARGUMENTS")
		}
		return nil, nil
	}
	if c.Main != "" || c.Engine != "" {
		return nil, usage("--main and --engine go with a script, and " + c.Script + " is an executable")
	}
	if c.Nodes != 1 {
		return nil, usage("--nodes goes with a script: the processes of a game server on several hosts would have the same ports")
	}
	f.Server = host.GameServer{Path: c.Script, Args: c.Args, Ports: c.Ports, Processes: c.Processes}
	f.GameSessionsMax = 0
	return &devServer{path: c.Script, fleet: messages.FleetID(f.ID), conf: &f.Server}, nil
}

// readyWait is how long the start of troupe dev waits for the first process of a game server.
const readyWait = 15 * time.Second

// awaitServer waits until the first process is ready, and returns what the welcome text says. It returns an error with the
// last lines of a process that has ended.
func awaitServer(h *host.Host, d *devServer) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), readyWait)
	defer cancel()
	status, err := serverStatus(ctx, h, d.fleet)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("\nGame sessions of %s run in %d processes of %s, ports %s. A process that has ended is started again.\n", d.fleet, d.conf.Processes, d.path, d.conf.Ports)
	if status != messages.FleetActive {
		text += "No process is ready yet: it must call InitSDK, which finds all it needs in the environment, and then ProcessReady with its port.\n"
	}
	return text, nil
}

// serverStatus returns the status of a fleet when it is ACTIVE, or when ctx ends. If the fleet is in ERROR, the error says
// why.
func serverStatus(ctx context.Context, h *host.Host, id messages.FleetID) (messages.FleetStatus, error) {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		fleets, err := messages.Do(context.WithoutCancel(ctx), h.System(), messages.FleetQuery{})
		if err != nil {
			return 0, err
		}
		i := slices.IndexFunc(fleets, func(f *messages.Fleet) bool { return f.ID == id })
		switch {
		case i < 0:
			return 0, fmt.Errorf("fleet %s is not there", id)
		case fleets[i].Status == messages.FleetErrored:
			return 0, lastFailure(h, id)
		case fleets[i].Status == messages.FleetActive:
			return messages.FleetActive, nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fleets[i].Status, nil
		}
	}
}

// lastFailure returns the last event of a fleet that says why it is in ERROR.
func lastFailure(h *host.Host, id messages.FleetID) error {
	events, err := messages.Do(context.Background(), h.System(), messages.FleetEventQuery{ID: id})
	if err != nil {
		return err
	}
	for _, e := range slices.Backward(events) {
		if e.Code != "FLEET_STATE_"+messages.FleetErrored.String() {
			return errors.New(e.Message)
		}
	}
	return errors.New("no event says why")
}
