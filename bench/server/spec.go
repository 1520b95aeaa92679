package server

import (
	"cmp"
	"slices"
)

// Kind determines how a server is started and accessed.
type Kind int

// The kinds of server.
const (
	Bare Kind = iota + 1
	Troupe
	Plain // a command that announces nothing; Args is its whole command line
)

// Spec describes a server to start.
type Spec struct {
	Name    string   // name in tables; empty: the kind
	Kind    Kind     // required
	Bin     string   // path of the binary; required
	Args    []string // arguments that precede the generated ones
	FleetID string   // Troupe only; empty: fleet-dev
	Config  string   // Troupe only: path of a configuration file; empty: none
	Sets    []string // Troupe only: additional KEY=VALUE settings
	Env     []string // KEY=VALUE, in addition to the environment of the benchmark
	// Within, if set, must call the function that starts the process, for example inside a control group.
	Within func(start func() error) error
}

// liftedLimits disables (0) the limits per address that many clients on one machine would reach.
var liftedLimits = []string{
	"limits.unauthenticated=0",
	"limits.unauthenticatedPerIP=0",
	"limits.connectionsPerIPPerSecond=0",
	"limits.loginFailuresPerIPPerMinute=0",
	"dtls.halfOpenPerIP=0",
}

// logsDir is the folder of the game session logs, relative to the folder of the run.
const logsDir = "logs"

// secured configures the secure listeners on free ports, and a certificate authority, logs and an in-memory store for
// this run only.
var secured = []string{"wss.addr=127.0.0.1:0", "dtls.addr=127.0.0.1:0", "kcp.addr=127.0.0.1:0", "tls.dir=tls", "log.gameSessions.dir=" + logsDir, "store.memory=true"}

// Title returns the name for tables.
func (s Spec) Title() string {
	return cmp.Or(s.Name, map[Kind]string{Bare: "bare", Troupe: "troupe", Plain: "command"}[s.Kind])
}

// args returns the command line: loopback addresses and free ports, which the server announces in a file.
func (s Spec) args(announce string) []string {
	switch s.Kind {
	case Plain:
		return s.Args
	case Bare:
		return slices.Concat(s.Args, []string{"--addr", "127.0.0.1:0", "--announce", announce})
	}
	args := slices.Concat(s.Args, []string{
		"serve", "--api-addr", "127.0.0.1:0", "--ws-addr", "127.0.0.1:0", "--fast-addr", "127.0.0.1:0",
		"--announce", announce,
	})
	if s.Config != "" {
		args = append(args, "--config", s.Config)
	}
	for _, set := range slices.Concat(liftedLimits, secured, s.Sets) {
		args = append(args, "--set", set)
	}
	return args
}
