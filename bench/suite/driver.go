package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/peers"
	"troupe/bench/result"
	"troupe/bench/server"
)

// Options configures a run.
type Options struct {
	Workload string
	Params   Params   // parameters from the caller; zero values are those of the workload
	Quick    bool     // run for only a second or two, to show that the workload works; goals are not judged
	Sets     []string // KEY=VALUE settings of the started hosts
	// Against is a host that is already running. It is the only subject.
	Against *server.Remote
	// Script is the file or folder of the user's own script for the started hosts.
	Script string
	// Message is what players send to such a script. Each loadgen.Placeholder in it is replaced by the send time. If
	// Message is empty, players send a payload with the send time. OpCode is the op code of the messages.
	Message string
	OpCode  int32
	// Only, if not empty, lists the subjects to measure.
	Only []string
	// Peers are other servers to compare with. They accept the flags of the bare relay and announce their protocol (see
	// bench/peers).
	Peers   []peers.Peer
	Self    Self
	Command string // command line for the stored result
	Watch   *result.Progress
}

// own reports whether players send messages for the user's own script.
func (o *Options) own() bool { return o.Script != "" || o.Message != "" || o.OpCode != 0 }

// Self is how a workload starts this program: Bin with a `serve` command line as a host, and Bin with the arguments
// Bare as the bare relay.
type Self struct {
	Bin  string
	Bare []string
}

// run is one run of a workload.
type run struct {
	o    Options
	w    Workload
	p    Params
	dir  string          // folder for the files of the run
	now  string          // name of the subject that is being measured
	gone map[string]bool // peers that could not be measured

	mu       sync.Mutex // guards the fields below
	warnings []string
	void     []string
	absent   []string
	limits   map[string]limit   // by subject: figures that the generator limited
	others   map[string]float64 // by subject: largest share of the machine that other programs used
	versions map[string]string  // by subject: announced version
}

// Check validates the options of a run. It does not start anything.
func Check(o Options) error {
	w, err := Find(o.Workload)
	if err != nil {
		return err
	}
	r := &run{o: o, w: w, p: w.params(o)}
	if err := r.check(); err != nil {
		return err
	}
	_, err = r.chosen()
	return err
}

// Run runs one workload. If it returns an error, the result is missing or incomplete.
func Run(ctx context.Context, o Options) (res result.Result, err error) {
	w, err := Find(o.Workload)
	if err != nil {
		return res, err
	}
	r := &run{o: o, w: w, p: w.params(o)}
	if err := r.check(); err != nil {
		return res, err
	}
	if o.Against != nil {
		if err := o.Against.Probe(ctx); err != nil {
			return res, err
		}
		proc := server.Attach(*o.Against)
		if err := proc.AwaitFleet(ctx, orDev(o.Against.Fleet)); err != nil {
			return res, r.told(err, proc)
		}
	}
	if r.dir, err = os.MkdirTemp("", "troupe-bench-"); err != nil {
		return res, fmt.Errorf("make a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.dir)) }()
	subjects, err := r.chosen()
	if err != nil {
		return res, err
	}
	load := r.p
	if o.Message != "" {
		load.Payload = loadgen.MessageBytes(o.Message)
	}
	res = result.Result{
		Format: result.Format, Workload: w.Name, About: w.About, Load: load.words(), Started: time.Now().UTC().Truncate(time.Second),
		Command: o.Command, Machine: result.ThisMachine(), Rounds: r.p.Rounds,
	}
	for _, s := range subjects {
		res.Subjects = append(res.Subjects, result.Subject{Name: s.name, Build: s.build, Rounds: make([]result.Round, r.p.Rounds)})
	}
	about := r.p.lasts()
	if w.lasts != nil {
		about = w.lasts(r.p)
	}
	for round := range r.p.Rounds {
		for turn := range subjects {
			i := turn
			if round%2 == 1 {
				i = len(subjects) - 1 - turn
			}
			r.now = subjects[i].name
			o.Watch.Begin(fmt.Sprintf("round %d of %d, %s", round+1, r.p.Rounds, r.now), round*len(subjects)+turn, r.p.Rounds*len(subjects), about)
			if r.gone[r.now] {
				continue
			}
			one, err := subjects[i].measure(ctx)
			if err != nil && ctx.Err() == nil && r.isPeer(r.now) {
				r.without(r.now, err)
				continue
			}
			if err != nil {
				return res, fmt.Errorf("%s, round %d: %w", r.now, round+1, err)
			}
			res.Subjects[i].Rounds[round] = one
			o.Watch.End(digest(one.Figures))
		}
	}
	for _, s := range subjects {
		if share := r.others[s.name]; share > 0 {
			r.warnings = append(r.warnings, fmt.Sprintf("%s: others used up to %.0f %% of the machine", s.name, 100*share))
		}
	}
	res.Subjects = slices.DeleteFunc(res.Subjects, func(s result.Subject) bool { return r.gone[s.Name] })
	for name := range r.gone { // they have no figures
		r.void = slices.DeleteFunc(r.void, func(text string) bool { return strings.HasPrefix(text, name+": ") })
	}
	for i := range res.Subjects {
		s := &res.Subjects[i]
		s.Build = cmp.Or(s.Build, r.versions[s.Name])
	}
	res.Warnings, res.Void, res.Absent = r.warnings, r.void, r.absent
	goals := w.Goals
	if o.own() { // the goals apply only to the workload's own messages
		goals, res.About = nil, "your own script: what players send to it, and what it sends to them"
	}
	if o.Quick {
		goals = nil
		res.Warnings = append(res.Warnings, "a quick run: it shows that the workload works, and nothing else")
	}
	res.Summarise(goals)
	r.excuseMissed(&res)
	return res, nil
}

// check validates the options. It does not start anything.
func (r *run) check() error {
	if err := r.p.validate(); err != nil {
		return err
	}
	o := &r.o
	switch {
	case o.Against != nil && !r.w.Against:
		return errors.New("it starts hosts of its own: leave --against out")
	case o.Against != nil && o.Script != "":
		return errors.New("a host that runs already has its script: leave --script out, and name the fleet that runs it with --fleet")
	case o.Against != nil && (len(o.Sets) > 0 || len(o.Peers) > 0):
		return errors.New("--set and --peers are for hosts that are started here: leave them out, or --against")
	case o.Script != "" && len(o.Peers) > 0:
		return errors.New("other servers do not run your script: leave --peers out")
	case loadgen.MessageBytes(o.Message) > payloadMax:
		return fmt.Errorf("--message must be at most %d bytes, with 16 for each {{stamp}}", payloadMax)
	case o.Message != "" && o.Params.Payload != 0:
		return errors.New("--message is as long as it is: leave --payload out")
	case o.Script != "" && !r.w.Script:
		return errors.New("it does not run scripts: troupe bench list shows which do")
	case o.Script == "" && o.Against == nil && (o.Message != "" || o.OpCode != 0):
		return errors.New("--message and --op-code are what a script understands: name it with --script")
	}
	if o.Script != "" {
		if _, err := os.Stat(o.Script); err != nil {
			return fmt.Errorf("--script: %w", err)
		}
	}
	connections := r.p.Rooms * r.p.Players
	if r.w.connections != nil {
		connections = r.w.connections(r.p)
	}
	return enoughFiles(connections + filesSpare)
}

// chosen returns the subjects to measure.
func (r *run) chosen() ([]subject, error) {
	all := r.w.subjects(r)
	if len(r.o.Only) == 0 {
		return all, nil
	}
	var names []string
	for _, s := range all {
		names = append(names, s.name)
	}
	var some []subject
	for _, name := range r.o.Only {
		i := slices.Index(names, name)
		if i < 0 {
			return nil, fmt.Errorf("it has no %q to measure; it has %s", name, strings.Join(names, ", "))
		}
		some = append(some, all[i])
	}
	return some, nil
}

// noise records the largest share of the machine that other programs used.
func (r *run) noise(share float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.others == nil {
		r.others = make(map[string]float64)
	}
	r.others[r.now] = max(r.others[r.now], share)
}

// warn records a warning. Repeated texts are recorded once.
func (r *run) warn(format string, values ...any) { r.keep(&r.warnings, format, values...) }

// provesNothing records why the figures of the current subject are invalid. Only the first reason per subject is
// recorded.
func (r *run) provesNothing(format string, values ...any) {
	r.mu.Lock()
	known := slices.ContainsFunc(r.void, func(text string) bool { return strings.HasPrefix(text, r.now+": ") })
	r.mu.Unlock()
	if !known {
		r.keep(&r.void, format, values...)
	}
}

func (r *run) keep(in *[]string, format string, values ...any) {
	text := r.now + ": " + fmt.Sprintf(format, values...)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(*in, text) {
		*in = append(*in, text)
	}
}

// host returns the spec of a host.
func (r *run) host(sets ...string) server.Spec {
	return server.Spec{Kind: server.Troupe, Bin: r.o.Self.Bin, Sets: slices.Concat(sets, r.o.Sets)}
}

// bare returns the spec of the bare relay.
func (r *run) bare() server.Spec {
	return server.Spec{Kind: server.Bare, Bin: r.o.Self.Bin, Args: r.o.Self.Bare}
}

// start starts a server, or attaches to the host that the caller has named.
func (r *run) start(ctx context.Context, spec server.Spec) (*server.Process, error) {
	if r.o.Against != nil {
		return server.Attach(*r.o.Against), nil
	}
	proc, err := server.Start(ctx, spec)
	if err == nil && proc.Announce.Version != "" {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.versions == nil {
			r.versions = make(map[string]string)
		}
		r.versions[spec.Title()] = proc.Announce.Version
	}
	return proc, err
}

// file writes a file into the folder of the run and returns its path.
func (r *run) file(name, content string) (string, error) {
	path := filepath.Join(r.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	return path, nil
}

// digest summarises the figures of a round in one line.
func digest(f result.Figures) string {
	var parts []string
	for _, c := range result.Catalogue {
		v, ok := f[c.Name]
		if !ok || len(parts) == 5 || strings.HasPrefix(c.Label, " ") {
			continue
		}
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %.*f %s", c.Label, c.Digits, v, c.Unit)))
	}
	return strings.Join(parts, ", ")
}
