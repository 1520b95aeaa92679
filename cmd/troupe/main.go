// Command troupe is the game host and its tools:
//
//   - `troupe dev` and `troupe serve` run a host.
//   - `troupe new game` creates a new game.
//   - `troupe client` plays on a host.
//   - `troupe config` checks and prints configurations.
//   - `troupe logs` prints the logs of game sessions.
//   - `troupe admin` lists the state of a host, acts on it and drains it.
//   - `troupe health` asks whether a host is running.
//   - `troupe top` shows a live view of a host.
//   - `troupe backup` and `troupe restore` copy the store.
//   - `troupe store check` looks for damage in the store.
//   - `troupe etcd` runs a member of etcd.
//   - `troupe bench` runs benchmarks.
//   - `troupe faults` injects faults into networks and hosts.
//   - `troupe match` tests matchmaking rule sets.
//
// This package only wires parts together: cmd/internal/config reads the configuration, transport/host is the host, and
// internal/play is the client.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/rs/zerolog"
	"github.com/willabides/kongplete"

	"troupe/transport"
)

// Exit codes.
const (
	exitFailure = 1 // the command failed
	exitUsage   = 2 // the command line is invalid, or a benchmark or a fault run had nothing to measure
	exitVoid    = 3 // figures of a benchmark are invalid
)

// exitError is an error with an exit code. If err is nil, everything has been printed already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// streams holds the standard streams, the signal source and the network of a command.
type streams struct {
	in       io.Reader
	out, err io.Writer
	signals  signals           // nil: signals of the process
	network  transport.Network // nil: network of the operating system
}

// signals is a source of signals: package os/signal, or a test that runs the command inside its own process.
type signals interface {
	Notify(c chan<- os.Signal, of ...os.Signal)
	Stop(c chan<- os.Signal)
}

type processSignals struct{}

func (processSignals) Notify(c chan<- os.Signal, of ...os.Signal) { signal.Notify(c, of...) }
func (processSignals) Stop(c chan<- os.Signal)                    { signal.Stop(c) }

// notify delivers signals to c until stop is called.
func (s streams) notify(c chan<- os.Signal, of ...os.Signal) (stop func()) {
	from := s.signals
	if from == nil {
		from = processSignals{}
	}
	from.Notify(c, of...)
	return func() { from.Stop(c) }
}

// interruptible returns a context that ends on SIGTERM, on an interrupt, on one of the other signals, or when stop is
// called. After stop, signals have their default effect again.
func (s streams) interruptible(others ...os.Signal) (ctx context.Context, stop context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	c := make(chan os.Signal, 1)
	forget := s.notify(c, append(others, syscall.SIGTERM, os.Interrupt)...)
	go func() {
		defer cancel()
		select {
		case <-c:
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		forget()
		cancel()
	}
}

type commands struct {
	Dev     devCommand     `cmd:"" help:"Run a host for development: all listeners on loopback, a fleet and an alias ready to use, a readable log."`
	New     newCommand     `cmd:"" help:"Make the folder of a new game."`
	Serve   serveCommand   `cmd:"" help:"Run a host."`
	Client  clientCommand  `cmd:"" help:"Play on a host: chat from the terminal, or let bots play."`
	Config  configCommand  `cmd:"" help:"Check a configuration, print the one in force, or print its JSON Schema."`
	Logs    logsCommand    `cmd:"" help:"Print the log of a running or ended game session."`
	Admin   adminCommand   `cmd:"" help:"See what a host does, and act on it: game sessions, players, connections, placements, kick, ban, drain."`
	Health  healthCommand  `cmd:"" help:"Ask whether a host runs, or with --ready takes players: exit code 0 if so. For images that have no curl."`
	Top     topCommand     `cmd:"" help:"Watch a host: its busiest game sessions and players, by rate, queue or round trip."`
	Backup  backupCommand  `cmd:"" help:"Copy a host's store. The host may be running."`
	Restore restoreCommand `cmd:"" help:"Replace a host's store with a backup. No host may be running on it."`
	Etcd    etcdCommand    `cmd:"" help:"Run a member of etcd for a cluster, save and restore snapshots."`
	TLS     tlsCommand     `cmd:"" name:"tls" help:"Show or replace the certificate authority that players trust."`
	Store   storeCommand   `cmd:"" help:"Check a host's store for damage."`
	Bench   benchCommand   `cmd:"" help:"Measure how fast this or another host is, on this machine."`
	Faults  faultsCommand  `cmd:"" help:"Break players' networks or the host on purpose, and see which promises hold."`
	Match   matchCommand   `cmd:"" help:"Check a rule set of matchmaking, or try it on players."`
	Version versionCommand `cmd:"" help:"Print the version."`

	Completion completionCommand `cmd:"" help:"Print a script with which a shell completes commands and flags."`

	Licenses    licensesCommand `cmd:"" help:"Print the licences of this program and its libraries."`
	ShowVersion versionFlag     `name:"version" help:"Print the version."`
}

func main() {
	zerolog.TimeFieldFormat = "2006-01-02T15:04:05.000Z07:00" // RFC 3339 with milliseconds
	os.Exit(run(os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

// run runs one command line and returns the exit code.
func run(args []string, s streams) int {
	shown := false // set by --help and --version: there is nothing else to do
	parser, err := newParser(s, kong.Exit(func(int) { shown = true }))
	if err != nil {
		fmt.Fprintln(s.err, "troupe:", err)
		return exitUsage
	}
	if os.Getenv("COMP_LINE") != "" { // a shell requests completions
		kongplete.Complete(parser, kongplete.WithExitFunc(func(int) { shown = true }))
		return 0
	}
	if len(args) > 0 && args[0] == "help" { // for example, troupe help faults run
		args = append(slices.Clone(args[1:]), "--help")
	}
	command, err := parser.Parse(args)
	if shown {
		return 0
	}
	if err != nil {
		fmt.Fprintf(s.err, "troupe: %v\nTry troupe --help.\n", err)
		return exitUsage
	}
	if err := command.Run(); err != nil {
		coded := new(exitError)
		special := errors.As(err, &coded)
		if !special || coded.err != nil {
			fmt.Fprintln(s.err, "troupe:", err)
		}
		if special {
			return coded.code
		}
		return exitFailure
	}
	return 0
}
