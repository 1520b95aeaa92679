package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"troupe/bench/result"
	"troupe/bench/server"
)

// errNoLossyPath says what a path that loses packets takes.
var errNoLossyPath = errors.New("it needs a network namespace that loses packets: run it as root, on Linux, with nft and ip installed (troupe bench kcp-loss-0 needs none)")

// lossyPath is nil if there can be one.
func lossyPath() error {
	for _, tool := range []string{"nft", "ip"} {
		if _, err := exec.LookPath(tool); err != nil {
			return errNoLossyPath
		}
	}
	cmd := exec.Command("nft", "list", "tables")
	if cmd.SysProcAttr = newNamespace(); cmd.SysProcAttr == nil || cmd.Run() != nil {
		return errNoLossyPath
	}
	return nil
}

// namespaceRequest is one measurement that is made by another process of this program, in a network namespace of its own.
type namespaceRequest struct {
	Workload, Subject string
	Params            Params
	Sets              []string
	ProfileDir        string // unless empty, this measurement is profiled
}

// namespaceAnswer is its answer.
type namespaceAnswer struct {
	Round    result.Round
	Warnings []string
	Void     []string
	Profiles []string
	Others   float64
	Error    string
}

// inNamespace has a subject measured in a network namespace of its own.
func (r *run) inNamespace(ctx context.Context, subject string) (result.Round, error) {
	e := namespaceRequest{Workload: r.w.Name, Subject: subject, Params: r.p, Sets: r.o.Sets}
	if r.profile {
		e.ProfileDir = r.o.ProfileDir
	}
	request, err := json.Marshal(e)
	if err != nil {
		return result.Round{}, fmt.Errorf("in a namespace: %w", err)
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, r.o.Self.Bin, r.o.Self.Namespace...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(request), &out, &errs
	cmd.SysProcAttr = newNamespace()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		return result.Round{}, fmt.Errorf("in a namespace: %w: %s", err, strings.TrimSpace(errs.String()))
	}
	var got namespaceAnswer
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		return result.Round{}, fmt.Errorf("in a namespace: %w", err)
	}
	if got.Error != "" {
		return result.Round{}, errors.New(got.Error)
	}
	r.noise(got.Others)
	for _, text := range got.Warnings {
		r.warn("%s", strings.TrimPrefix(text, r.now+": "))
	}
	r.profiles = append(r.profiles, got.Profiles...)
	for _, text := range got.Void {
		r.provesNothing("%s", strings.TrimPrefix(text, r.now+": "))
	}
	return got.Round, nil
}

// MeasureInNamespace is what the other process does. It reads a namespaceRequest and writes what was measured.
func MeasureInNamespace(ctx context.Context, in io.Reader, out io.Writer, self Self) error {
	var e namespaceRequest
	if err := json.NewDecoder(in).Decode(&e); err != nil {
		return fmt.Errorf("read what to measure: %w", err)
	}
	w, err := Find(e.Workload)
	if err != nil {
		return err
	}
	if err := command(ctx, "ip", "link", "set", "lo", "up"); err != nil {
		return err
	}
	var got namespaceAnswer
	r := &run{w: w, p: e.Params, now: e.Subject, o: Options{Workload: e.Workload, Sets: e.Sets, Only: []string{e.Subject}, ProfileDir: e.ProfileDir, Self: self, Watch: unwatched{}, inside: true}}
	r.profile = e.ProfileDir != ""
	r.onFilled = func(proc *server.Process) error { return loseOnPath(ctx, proc.Announce.API, w.loss) }
	if r.dir, err = os.MkdirTemp("", "troupe-bench-"); err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(r.dir)
	subjects, err := r.chosen()
	if err == nil {
		got.Round, err = subjects[0].measure(ctx)
	}
	if err != nil {
		got.Error = err.Error()
	}
	got.Warnings, got.Void, got.Profiles, got.Others = r.warnings, r.void, r.profiles, r.others[r.now]
	return json.NewEncoder(out).Encode(got)
}

// loseOnPath has the namespace lose packets, but not those of the service API: figures are read by it.
func loseOnPath(ctx context.Context, api string, percent int) error {
	_, port, err := net.SplitHostPort(api)
	if err != nil {
		return fmt.Errorf("address of the service API: %w", err)
	}
	return command(ctx, "nft", fmt.Sprintf("add table inet lossy; add chain inet lossy in { type filter hook input priority 0; }; "+
		"add rule inet lossy in tcp dport %s accept; add rule inet lossy in tcp sport %s accept; add rule inet lossy in numgen random mod 100 < %d drop", port, port, percent))
}

func command(ctx context.Context, name string, args ...string) error {
	if text, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(text))
	}
	return nil
}

// unwatched is a Watcher that tells nobody.
type unwatched struct{}

func (unwatched) Begin(string, int, int, time.Duration) {}
func (unwatched) Live(string)                           {}
func (unwatched) End(string)                            {}
