// Command troupe is the game host and its companions: `troupe dev` and `troupe
// serve` run a host, `troupe client` plays on one, `troupe logs` shows what its
// games say, `troupe backup` and `troupe restore` copy its store, `troupe store
// check` looks for damage in it. This package is wiring: configuration is cmd/internal/config, the host
// is transport/host, what the client does is internal/play.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"
)

// Exit codes.
const (
	exitFailure = 1 // it was tried and did not work
	exitUsage   = 2 // the command line makes no sense
)

// streams are what a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

type commands struct {
	Dev     devCommand     `cmd:"" help:"Run a host for development: everything on loopback, a fleet and an alias ready to use, readable log."`
	Serve   serveCommand   `cmd:"" help:"Run a host."`
	Client  clientCommand  `cmd:"" help:"Play: chat from the terminal, or let bots play."`
	Logs    logsCommand    `cmd:"" help:"Print the log of a game session that runs or has ended."`
	Admin   adminCommand   `cmd:"" help:"Show access keys, game sessions, players, placements and queues."`
	Backup  backupCommand  `cmd:"" help:"Copy a host's store, also while the host runs."`
	Restore restoreCommand `cmd:"" help:"Put a backup in the place of a store, while no host runs."`
	TLS     tlsCommand     `cmd:"" name:"tls" help:"Show or replace the certificate authority that players trust."`
	Store   storeCommand   `cmd:"" help:"Look after a host's store."`
	Bench   benchCommand   `cmd:"" help:"Measure."`
	Version versionCommand `cmd:"" help:"Print the version."`

	Licenses licensesCommand `cmd:"" help:"Print the licences of what this binary is linked from."`
}

func main() {
	os.Exit(run(os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// run runs one command line and returns the exit code. Only --help ends the
// process by itself.
func run(args []string, s streams) int {
	parser, err := kong.New(&commands{},
		kong.Name("troupe"),
		kong.Description("A self-hosted game host, compatible with Amazon GameLift Realtime."),
		kong.Writers(s.out, s.err),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Bind(s),
	)
	if err != nil {
		fmt.Fprintln(s.err, "troupe:", err)
		return exitUsage
	}
	command, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(s.err, "troupe: %v\nTry troupe --help.\n", err)
		return exitUsage
	}
	if err := command.Run(); err != nil {
		fmt.Fprintln(s.err, "troupe:", err)
		return exitFailure
	}
	return 0
}
