package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	startTimeout = time.Minute
	stopTimeout  = 5 * time.Second // between SIGTERM and SIGKILL
	pollEvery    = 20 * time.Millisecond
)

// Announce is what a server writes to its announce file once it listens.
type Announce struct {
	API  string `json:"api"` // troupe only
	WS   string `json:"ws"`
	WSS  string `json:"wss"` // troupe only, as all that follow
	Fast string `json:"fast"`
	KCP  string `json:"kcp"`
	CA   string `json:"ca"` // file with the trust anchors

	// of what is no Troupe host
	Protocol string `json:"protocol"` // that of bench/peers which it speaks; empty: Realtime
	Version  string `json:"version"`
	Stats    bool   `json:"stats"` // it has /stats
}

// Process is a running server. Its methods are for one goroutine, except Usage. Stop ends it and must be called.
type Process struct {
	Spec     Spec
	Announce Announce

	remote *api // of a host that was not started here; then there is none of what follows, but the client
	mu     sync.Mutex
	made   []string // game sessions to end, of such a host; guarded by mu
	cmd    *exec.Cmd
	pid    int
	exited chan struct{} // closed when the child has been waited for
	output *tail
	dir    string
	client *http.Client
}

// Start runs the server and waits until it has announced its addresses.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	dir, err := os.MkdirTemp("", "troupe-bench-")
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Title(), err)
	}
	p := &Process{
		Spec: spec, exited: make(chan struct{}), output: new(tail), dir: dir,
		client: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 4}},
	}
	bin, err := exec.LookPath(spec.Bin)
	if err == nil {
		bin, err = filepath.Abs(bin)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", spec.Title(), err), os.RemoveAll(dir))
	}
	announce := filepath.Join(dir, "announce.json")
	p.cmd = exec.Command(bin, spec.args(announce)...)
	p.cmd.Env = append(os.Environ(), spec.Env...)
	p.cmd.Dir = dir // whatever it writes goes away with it
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	p.cmd.WaitDelay = time.Second
	p.cmd.SysProcAttr = dieWithParent()
	start := p.cmd.Start
	if spec.Within != nil {
		start = func() error { return spec.Within(p.cmd.Start) }
	}
	if err := start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", spec.Title(), err), os.RemoveAll(dir))
	}
	p.pid = p.cmd.Process.Pid
	go func() {
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	if err := p.awaitAnnounce(ctx, announce); err != nil {
		err = errors.Join(err, p.Stop()) // then it has said everything
		if why, ok := p.output.reason(); ok {
			return nil, fmt.Errorf("start %s: %s", spec.Title(), why)
		}
		return nil, fmt.Errorf("start %s: %w\n%s", spec.Title(), err, p.output)
	}
	return p, nil
}

func (p *Process) awaitAnnounce(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, errors.New("no announce file in time"))
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		b, err := os.ReadFile(path)
		switch {
		case err == nil:
			if err := json.Unmarshal(b, &p.Announce); err != nil {
				return fmt.Errorf("read announce file: %w", err)
			}
			if p.Announce.WS == "" || (p.Spec.Kind == Troupe && p.Announce.API == "") {
				return fmt.Errorf("announce file lacks an address: %s", b)
			}
			return nil
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("read announce file: %w", err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.exited:
			return fmt.Errorf("it ended: %s", p.cmd.ProcessState)
		case <-tick.C:
		}
	}
}

// TLS trusts the anchors that the server has announced.
func (p *Process) TLS() (*tls.Config, error) {
	text, err := os.ReadFile(p.Announce.CA)
	if err != nil {
		return nil, fmt.Errorf("read trust anchors: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read trust anchors: there is no certificate in %s", p.Announce.CA)
	}
	return &tls.Config{RootCAs: roots, ServerName: "localhost"}, nil
}

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Kill ends the process as a crash of the machine would, as far as the process can tell, and waits for its end.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// Terminate asks the process to end (SIGTERM) and does not wait. ExitCode is that of a process that has Exited.
func (p *Process) Terminate() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("end %s: %w", p.Spec.Title(), err)
	}
	return nil
}

// ExitCode is -1 if a signal has ended the process.
func (p *Process) ExitCode() int { return p.cmd.ProcessState.ExitCode() }

// Alive is nil while the process runs, else it says how it ended and what it printed last.
func (p *Process) Alive() error {
	if p.remote != nil {
		return nil
	}
	select {
	case <-p.exited:
		return fmt.Errorf("%s ended: %s\n%s", p.Spec.Title(), p.cmd.ProcessState, p.output)
	default:
		return nil
	}
}

// Stop asks the process to end, kills it after five seconds, and removes its directory. It may be called twice.
func (p *Process) Stop() error {
	if p.remote != nil {
		return p.leave()
	}
	p.end()
	if err := os.RemoveAll(p.dir); err != nil {
		return fmt.Errorf("stop %s: %w", p.Spec.Title(), err)
	}
	return nil
}

// end asks the process to end, and kills it after five seconds, which it reports.
func (p *Process) end() (killed bool) {
	p.client.CloseIdleConnections()
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // by pid; harmless once it has been waited for
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-p.exited:
		return false
	case <-timer.C:
		p.Kill()
		return true
	}
}
