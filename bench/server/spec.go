package server

import (
	"cmp"
	"slices"
)

// Kind says how a server is started and spoken to.
type Kind int

// The kinds of server.
const (
	Bare Kind = iota + 1
	Troupe
)

// Spec says which server to start.
type Spec struct {
	Name    string   // in tables; empty = the kind
	Kind    Kind     // required
	Bin     string   // path of the binary; required
	Args    []string // that come before the others
	FleetID string   // troupe only; empty = fleet-dev
	Config  string   // troupe only: a configuration file; empty = none
	Sets    []string // troupe only: further KEY=VALUE settings
	Env     []string // KEY=VALUE besides the environment of the benchmark
	// Within, if set, calls the function that starts the process, in a control group for example.
	Within func(start func() error) error
}

// liftedLimits are the per-address limits that one machine full of clients would run into. 0 is off.
var liftedLimits = []string{
	"limits.unauthenticated=0",
	"limits.unauthenticatedPerIP=0",
	"limits.connectionsPerIPPerSecond=0",
	"limits.loginFailuresPerIPPerMinute=0",
	"dtls.halfOpenPerIP=0",
}

// logsDir is where a host writes the logs of its game sessions, in the run's own folder.
const logsDir = "logs"

// secured puts the secured listeners on free ports, with a certificate authority, logs and a store of the run's own.
var secured = []string{"wss.addr=127.0.0.1:0", "dtls.addr=127.0.0.1:0", "kcp.addr=127.0.0.1:0", "tls.dir=tls", "log.gameSessions.dir=" + logsDir, "store.memory=true"}

// Title is the name for tables.
func (s Spec) Title() string {
	return cmp.Or(s.Name, map[Kind]string{Bare: "bare", Troupe: "troupe"}[s.Kind])
}

// args is the command line: loopback only, free ports, addresses announced in a file.
func (s Spec) args(announce string) []string {
	if s.Kind == Bare {
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
