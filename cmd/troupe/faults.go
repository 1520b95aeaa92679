package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"troupe/bench/faults"
	"troupe/bench/faults/disk"
	"troupe/bench/result"
	"troupe/cmd/troupe/internal/reach"
	"troupe/transport/client"
)

type faultsCommand struct {
	Run    faultsRun    `cmd:"" default:"withargs" help:"Break the players' networks, or the host, by a scenario."`
	List   faultsList   `cmd:"" help:"List the scenarios."`
	Replay faultsReplay `cmd:"" help:"Play the faults of a stored run again."`
	Proxy  faultsProxy  `cmd:"" help:"Open proxies that break the networks of your own clients, of any kind, by a scenario."`

	Behind faultsBehind `cmd:"" hidden:"" help:"Serve with a disk that a troupe faults breaks."`
}

// faultsFlags are the flags that run and replay share.
type faultsFlags struct {
	Against string `placeholder:"URL" help:"Service API of a host that runs already. Without it, a host is started here and ended again."`
	Fleet   string `default:"fleet-dev" placeholder:"ID" help:"Fleet to play on, with --against (${default})."`
	caller

	Transport []string `placeholder:"NAME" help:"ws, wss or kcp; of several the players take turns. Default: ws and kcp, with --against ws."`
	WSSAddr   string   `name:"wss-addr" placeholder:"HOST:PORT" help:"Address of wss, with --against."`
	KCPAddr   string   `name:"kcp-addr" placeholder:"HOST:PORT" help:"Address of KCP, with --against."`
	Script    string   `placeholder:"FILE" help:"Your own script: a file, or a folder, for the host that is started."`
	Set       []string `placeholder:"KEY=VALUE" sep:"none" help:"A setting of the host that is started; may be repeated."`
	JSON      string   `name:"json" placeholder:"FILE" help:"Write the report there."`
	Report    string   `placeholder:"DIR" help:"Write a page with the time line there, report.html, and the report, faults.json."`
}

// faultsRun runs one scenario.
type faultsRun struct {
	Scenario string `arg:"" help:"A scenario, as \"troupe faults list\" shows them, or a file with a plan of your own (.yaml)."`
	faultsFlags

	Seed    *uint64 `placeholder:"N" help:"Seed of the plan. Default: the plan's own, or a random one, which is printed."`
	Players *int    `placeholder:"N" help:"Players, 200 at most. Default: the plan's own, or 8."`
	Quick   bool    `help:"All times of the plan are a tenth, but for outages that the host is to notice."`
}

// Run runs the scenario. It fails with exitFailure if a promise is broken, and with exitUsage if nothing could be
// judged.
func (c *faultsRun) Run(s streams) error {
	plan, err := faults.Find(c.Scenario)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("faults: %w", err)}
	}
	o := faults.Options{Plan: plan, Seed: seedOf(c.Seed, plan), Players: cmp.Or(plan.Players, 8), Quick: c.Quick}
	if c.Players != nil {
		o.Players = *c.Players
	}
	if len(c.Transport) == 0 && c.Against == "" && plan.Transports != "" {
		c.Transport = strings.Split(plan.Transports, ",")
	}
	return c.run(s, o)
}

// faultsReplay repeats the run of a stored report.
type faultsReplay struct {
	File string `arg:"" help:"What troupe faults run --json has written."`
	faultsFlags
}

// Run plays the same faults at the same times. Its errors are those of faultsRun.Run.
func (c *faultsReplay) Run(s streams) error {
	report, err := faults.Read(c.File)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("faults: %w", err)}
	}
	if len(c.Transport) == 0 && (c.Against != "") == report.Against {
		c.Transport = report.Transports
	}
	plan := faults.Plan{Name: report.Scenario, About: report.About, Length: report.Length}
	if report.Plan != nil {
		plan = *report.Plan
	}
	return c.run(s, faults.Options{Plan: plan, Events: report.Events, Seed: report.Seed, Players: report.Players, Quick: report.Quick})
}

// faultsBehind is the command with which troupe faults starts a host with disk faults.
type faultsBehind struct {
	Socket string   `arg:""`
	Words  []string `arg:"" passthrough:""`
}

// Run executes this program again with the arguments Words. It returns only on error.
func (c *faultsBehind) Run() error {
	bin, err := os.Executable()
	if err != nil {
		return err
	}
	return disk.Exec(c.Socket, append([]string{bin}, c.Words...))
}

// run plays the faults for both faultsRun and faultsReplay.
func (c *faultsFlags) run(s streams, o faults.Options) error {
	ctx, stop := s.interruptible()
	defer stop()
	report, err := c.judge(ctx, s, o)
	if err != nil {
		return unjudged(c.Against, err)
	}
	if !report.Broken() {
		return nil
	}
	again, err := c.again(report)
	if err != nil {
		return &exitError{exitFailure, fmt.Errorf("faults: a promise is broken; --seed %d makes the same plan (the report could not be kept: %w)", report.Seed, err)}
	}
	return &exitError{exitFailure, fmt.Errorf("faults: a promise is broken; the same faults again: %s", again)}
}

// unjudged returns the error of a run that could not judge anything.
func unjudged(against string, err error) error {
	if against != "" {
		err = reach.Explain(hostURL(against), err)
	}
	return &exitError{exitUsage, fmt.Errorf("faults: %w", err)}
}

// seedOf returns the seed from the flag, from the plan, or a random seed, in this order.
func seedOf(flag *uint64, plan faults.Plan) uint64 {
	if seed := cmp.Or(flag, plan.Seed); seed != nil {
		return *seed
	}
	return rand.Uint64N(1 << 32)
}

// again returns the command that plays the same faults again. If the report is not stored yet, again stores it in the
// temporary folder.
func (c *faultsFlags) again(report faults.Report) (string, error) {
	file := c.JSON
	switch {
	case file == "" && c.Report != "":
		file = filepath.Join(c.Report, faults.StoreFile)
	case file == "":
		folder, err := os.MkdirTemp("", "troupe-faults-")
		if err != nil {
			return "", err
		}
		file = filepath.Join(folder, report.Scenario+".json")
		if err := report.Store(file); err != nil {
			return "", err
		}
	}
	words := []string{"troupe faults replay", file}
	if c.Against != "" {
		words = append(words, "--against", c.Against)
	}
	if c.Script != "" {
		words = append(words, "--script", c.Script)
	}
	for _, set := range c.Set {
		words = append(words, "--set", set)
	}
	return strings.Join(words, " "), nil
}

func (c *faultsFlags) judge(ctx context.Context, s streams, o faults.Options) (report faults.Report, err error) {
	if o.Bin, err = os.Executable(); err != nil {
		return report, err
	}
	o.Behind = []string{"faults", "behind"}
	o.Sets, o.Script, o.WSSAddr, o.KCPAddr = c.Set, c.Script, c.WSSAddr, c.KCPAddr
	names := c.Transport
	if len(names) == 0 && c.Against == "" {
		names = []string{"ws", "kcp"}
	} else if len(names) == 0 {
		names = []string{"ws"}
	}
	for _, name := range names {
		t, err := client.ParseTransport(name)
		if err != nil {
			return report, errors.New("--transport must be ws, wss or kcp")
		}
		if addr := map[client.Transport]string{client.WS: "as the API says", client.WSS: c.WSSAddr, client.KCP: c.KCPAddr}; c.Against != "" && addr[t] == "" {
			return report, fmt.Errorf("--transport %s with --against needs --%s-addr", name, name)
		}
		o.Transports = append(o.Transports, t)
	}
	if err := awaitResults(c.JSON, c.Report, faults.PageFile, faults.StoreFile); err != nil {
		return report, err
	}
	if c.Against != "" {
		if o.Against, err = c.remote(ctx, c.Against, c.Fleet); err != nil {
			return report, err
		}
		if o.TLS, err = trusting(c.CA); err != nil {
			return report, err
		}
	}
	o.Watch, o.Network = result.NewProgress(s.err, o.Plan.Name), s.network
	if report, err = faults.Run(ctx, o); err != nil {
		return report, err
	}
	report.Print(s.out)
	if c.JSON != "" {
		err = report.Store(c.JSON)
	}
	if c.Report != "" {
		err = errors.Join(err, report.WritePage(c.Report))
	}
	return report, err
}

type faultsList struct {
	Matrix bool `help:"List the plans of the specification's fault matrix instead, a row and a name in each line."`
}

func (c *faultsList) Run(s streams) error {
	if c.Matrix {
		for _, p := range faults.Matrix() {
			fmt.Fprintln(s.out, p.Row, p.Name)
		}
		return nil
	}
	t := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SCENARIO\tTAKES\tFLAGS\tWHAT IT STANDS FOR")
	for _, p := range slices.Concat(faults.Scenarios(), faults.ClusterScenarios()) {
		flags := "--against"
		if p.NeedsHost() {
			flags = ""
		}
		length, err := p.Length.MarshalText()
		if err != nil {
			return err
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", p.Name, length, flags, p.About)
	}
	return t.Flush()
}
