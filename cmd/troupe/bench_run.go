package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"troupe/bench/barerelay"
	"troupe/bench/peers"
	"troupe/bench/result"
	"troupe/bench/suite"
	"troupe/cmd/troupe/internal/reach"
)

// benchRun runs workloads. Load parameters that are not given have the workload's values.
type benchRun struct {
	Workload []string `arg:"" help:"Workloads, as \"troupe bench list\" shows them; cluster and ticks: all whose names begin with that."`

	Against string `placeholder:"URL" help:"Service API of a host that runs already. Without it, hosts are started here and ended again."`
	Fleet   string `default:"fleet-dev" placeholder:"ID" help:"Fleet to play on, with --against (${default})."`
	caller

	Script  string   `placeholder:"FILE" help:"Your own script: a file, or a folder, for the host that is started."`
	Message string   `placeholder:"TEXT" help:"What players send to the script. {{stamp}} in it is the time, which the script sends back for latencies. Without it, a payload with the time."`
	OpCode  *int32   `placeholder:"N" help:"Op code of what players send to the script (7)."`
	Set     []string `placeholder:"KEY=VALUE" sep:"none" help:"A setting of the hosts that are started; may be repeated."`
	Only    []string `placeholder:"NAME" help:"Measure these columns of the table only; may be repeated."`
	Peers   string   `placeholder:"FILE" help:"Other servers to measure, a JSON list of names and commands (make bench-peers writes one)."`

	Quick   bool           `help:"A run of a second or two that shows that a workload works; goals are not judged."`
	Rounds  *int           `placeholder:"N" help:"How often each is measured, in turns."`
	Rooms   *int           `placeholder:"N" help:"Rooms."`
	Players *int           `placeholder:"N" help:"Players of a room, 200 at most."`
	Servers *int           `placeholder:"N" help:"Game servers with the Server SDK."`
	Hz      *float64       `placeholder:"N" help:"Messages per second and player."`
	Rate    *float64       `placeholder:"N" help:"Joins or calls per second, where there are such."`
	Payload *int           `placeholder:"BYTES" help:"Bytes of a message, 16 to 4096."`
	Warmup  *time.Duration `placeholder:"D" help:"Load before the measured part."`
	Measure *time.Duration `placeholder:"D" help:"Length of the measured part."`
	Rest    *time.Duration `placeholder:"D" help:"Rest before memory is read."`

	JSON   string `name:"json" placeholder:"FILE" help:"Write the results there."`
	Report string `placeholder:"DIR" help:"Write a page with plots there, report.html, and the results, results.json."`
}

// Run measures, prints and stores. It fails with exitUsage if it could not measure, with exitFailure if a goal is
// missed, and with exitVoid if invalid figures prevent judging a goal or if no figure is valid.
func (c *benchRun) Run(s streams) error {
	ctx, stop := s.interruptible()
	defer stop()
	_, missing := os.Stat(c.Report)
	results, err := c.measure(ctx, s)
	switch {
	case err != nil && ctx.Err() != nil:
		err = fmt.Errorf("interrupted after %d of %d workloads", len(results), len(c.Workload))
	case err != nil && c.Against != "":
		err = reach.Explain(hostURL(c.Against), err)
	}
	if len(results) > 0 { // includes the workloads that ran before a failed one
		err = errors.Join(err, c.store(results))
	} else if c.Report != "" && errors.Is(missing, fs.ErrNotExist) {
		_ = os.Remove(c.Report) // awaitResults created the file, and it is still empty
	}
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("bench: %w", err)}
	}
	if c.Report != "" {
		fmt.Fprintf(s.out, "\n%s\n", filepath.Join(c.Report, pageFile))
	}
	return outcome(results)
}

// outcome returns nil if all goals hold. A missed goal takes precedence over a goal that could not be judged, because
// it is certain.
func outcome(results []result.Result) error {
	switch {
	case slices.ContainsFunc(results, func(r result.Result) bool { return r.Missed() }):
		return &exitError{exitFailure, errors.New("bench: a goal is missed")}
	case slices.ContainsFunc(results, func(r result.Result) bool { return r.Unproven() }):
		return &exitError{exitVoid, errors.New("bench: figures prove nothing, for the reasons above")}
	}
	return nil
}

// measure runs the workloads. If it fails, it returns the results of the workloads that had finished.
func (c *benchRun) measure(ctx context.Context, s streams) (results []result.Result, err error) {
	o, err := c.options(ctx)
	if err != nil {
		return nil, err
	}
	c.Workload = suite.Expand(c.Workload)
	for _, o.Workload = range c.Workload { // check all workloads before the first one runs
		if err := suite.Check(o); err != nil {
			return nil, named(o.Workload, err)
		}
	}
	for i, name := range c.Workload {
		o.Workload, o.Command, o.Watch = name, c.command(name), result.NewProgress(s.err, name)
		r, err := suite.Run(ctx, o)
		if err != nil {
			return results, named(name, err)
		}
		if i > 0 {
			fmt.Fprintln(s.out)
		}
		r.Print(s.out)
		results = append(results, r)
	}
	return results, nil
}

// named adds the name of the workload to an error.
func named(workload string, err error) error {
	if errors.Is(err, suite.ErrUnknown) {
		return err
	}
	return fmt.Errorf("%s: %w", workload, err)
}

// params returns the parameters from the command line. An explicit zero is an error, because zero means the workload's
// value in suite.Params.
func (c *benchRun) params() (p suite.Params, op int32, err error) {
	p = suite.Params{
		Rooms: notZero(&err, "rooms", c.Rooms), Players: notZero(&err, "players", c.Players), Hz: notZero(&err, "hz", c.Hz), Payload: notZero(&err, "payload", c.Payload),
		Warmup: notZero(&err, "warmup", c.Warmup), Measure: notZero(&err, "measure", c.Measure), Rest: notZero(&err, "rest", c.Rest),
		Rounds: notZero(&err, "rounds", c.Rounds), Rate: notZero(&err, "rate", c.Rate), Servers: notZero(&err, "servers", c.Servers),
	}
	return p, notZero(&err, "op-code", c.OpCode), err
}

// notZero returns the value of a flag, or zero if the flag is absent. It sets err if the flag is zero. suite.Params
// checks the bounds.
func notZero[T int | int32 | float64 | time.Duration](err *error, flag string, v *T) T {
	if v == nil {
		return 0
	}
	if *v == 0 && *err == nil {
		*err = fmt.Errorf("--%s must not be 0; leave it out for what the workload has", flag)
	}
	return *v
}

func (c *benchRun) options(ctx context.Context) (o suite.Options, err error) {
	o = suite.Options{Quick: c.Quick, Sets: c.Set, Script: c.Script, Message: c.Message, Only: c.Only}
	if o.Params, o.OpCode, err = c.params(); err != nil {
		return o, err
	}
	if c.Peers != "" {
		if o.Peers, err = peers.ReadList(c.Peers); err != nil {
			return o, err
		}
	}
	bin, err := os.Executable()
	if err != nil {
		return o, err
	}
	o.Self = suite.Self{Bin: bin, Bare: []string{"bench", "bare"}}
	if err := awaitResults(c.JSON, c.Report, pageFile, storeFile); err != nil {
		return o, err
	}
	if c.Against == "" {
		return o, nil
	}
	o.Against, err = c.remote(ctx, c.Against, c.Fleet)
	return o, err
}

// command returns the command line for the stored result. It contains only the last part of paths, and no secrets.
func (c *benchRun) command(workload string) string {
	words := []string{"troupe bench", workload}
	add := func(name, value string) {
		if value != "" && value != "0" && value != "0s" {
			words = append(words, "--"+name+"="+quoted(value))
		}
	}
	if c.Against != "" {
		add("against", "HOST")
	}
	if c.Script != "" {
		add("script", filepath.Base(c.Script))
	}
	p, op, _ := c.params()
	for _, v := range []struct {
		name  string
		value any
	}{
		{"rounds", p.Rounds}, {"rooms", p.Rooms}, {"players", p.Players}, {"servers", p.Servers}, {"hz", p.Hz}, {"rate", p.Rate}, {"payload", p.Payload},
		{"warmup", p.Warmup}, {"measure", p.Measure}, {"rest", p.Rest}, {"op-code", op},
	} {
		add(v.name, fmt.Sprint(v.value))
	}
	add("message", c.Message)
	if c.Quick {
		words = append(words, "--quick")
	}
	for _, set := range c.Set {
		key, value, _ := strings.Cut(set, "=")
		add("set", key+"="+filepath.Base(value))
	}
	if c.Peers != "" {
		add("peers", filepath.Base(c.Peers))
	}
	for _, name := range c.Only {
		add("only", name)
	}
	return strings.Join(words, " ")
}

// File names of a report.
const (
	pageFile  = "report.html"
	storeFile = "results.json"
)

// store writes the requested files.
func (c *benchRun) store(results []result.Result) error {
	if c.JSON != "" {
		if err := result.WriteFile(c.JSON, results); err != nil {
			return err
		}
	}
	if c.Report == "" {
		return nil
	}
	if err := result.WriteFile(filepath.Join(c.Report, storeFile), results); err != nil {
		return err
	}
	return writePage(c.Report, []result.Set{{Results: results}})
}

// writePage writes the page into folder.
func writePage(folder string, sets []result.Set) error {
	var page bytes.Buffer
	if err := result.WritePage(&page, "Troupe benchmarks", sets); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, pageFile), page.Bytes(), 0o644); err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	return nil
}

// benchPage generates a page from stored results.
type benchPage struct {
	Files  []string `arg:"" name:"file" help:"Results of troupe bench --json."`
	Report string   `default:"." placeholder:"DIR" help:"Write report.html there (${default})."`

	Markdown string `placeholder:"DIR" help:"Write performance.md and performance.json there instead."`
}

func (c *benchPage) Run(s streams) error {
	var sets []result.Set
	var all []result.Result
	for _, file := range c.Files {
		results, err := result.ReadFile(file)
		if err != nil {
			return &exitError{exitUsage, fmt.Errorf("bench: %w", err)}
		}
		all = append(all, results...)
		sets = append(sets, result.Set{Results: results})
	}
	if len(sets) > 1 {
		for i, name := range apart(c.Files) {
			sets[i].Name = name
		}
	}
	if c.Markdown != "" {
		if err := writeDocument(c.Markdown, all); err != nil {
			return &exitError{exitUsage, fmt.Errorf("bench: --markdown: %w", err)}
		}
		fmt.Fprintln(s.out, filepath.Join(c.Markdown, "performance.md"))
		return nil
	}
	err := os.MkdirAll(c.Report, 0o755)
	if err == nil {
		err = writePage(c.Report, sets)
	}
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("bench: %w", err)}
	}
	if len(sets) > 1 {
		result.PrintSets(s.out, sets)
	}
	fmt.Fprintln(s.out, filepath.Join(c.Report, pageFile))
	return nil
}

// apart returns a distinct name for each file: the base name, the base name with its folder if several files have the
// same base name, or otherwise the path.
func apart(files []string) []string {
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = strings.TrimSuffix(filepath.Base(file), ".json")
	}
	again := func(name string) bool {
		n := 0
		for _, other := range names {
			if other == name {
				n++
			}
		}
		return n > 1
	}
	out := slices.Clone(names)
	for i, name := range names {
		if again(name) {
			out[i] = filepath.Join(filepath.Base(filepath.Dir(files[i])), name)
		}
	}
	if len(slices.Compact(slices.Sorted(slices.Values(out)))) < len(out) {
		return files
	}
	return out
}

// writeDocument writes docs/performance.md and docs/performance.json into a folder.
func writeDocument(folder string, results []result.Result) error {
	files, err := result.Document(results)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

type benchList struct{}

func (benchList) Run(s streams) error {
	t := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "WORKLOAD\tFLAGS\tWHAT IT IS")
	for _, w := range suite.Workloads() {
		var flags []string
		if w.Against {
			flags = append(flags, "--against")
		}
		if w.Script {
			flags = append(flags, "--script")
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", w.Name, strings.Join(flags, " "), w.About)
	}
	return t.Flush()
}

// benchBare is the bare relay, which `troupe bench` starts as a baseline.
type benchBare struct {
	Addr     string `default:"127.0.0.1:0"`
	Announce string
	Engine   string        `enum:"goroutines,epoll" default:"goroutines"`
	Interval time.Duration `help:"Gather what goes to a room for so long; of goroutines only."`
}

// Run serves until it receives a signal.
func (c *benchBare) Run(s streams) error {
	ctx, stop := s.interruptible()
	defer stop()
	if c.Engine == "epoll" {
		return barerelay.ServeEpoll(ctx, c.Addr, c.Announce)
	}
	return barerelay.Serve(ctx, c.Addr, c.Announce, c.Interval)
}
