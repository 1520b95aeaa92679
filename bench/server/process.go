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

// Announce is the content of the announce file, which a server writes once it listens.
type Announce struct {
	API  string `json:"api"` // Troupe only
	WS   string `json:"ws"`
	WSS  string `json:"wss"` // Troupe only, as are the fields below
	Fast string `json:"fast"`
	KCP  string `json:"kcp"`
	CA   string `json:"ca"` // file with the trust anchors

	// only for servers other than Troupe
	Protocol string `json:"protocol"` // name of the protocol in bench/peers; empty: Realtime
	Version  string `json:"version"`
	Stats    bool   `json:"stats"` // the server has /stats
}

// Process is a running server. Its methods must be called from one goroutine, except Usage. The caller must call Stop.
type Process struct {
	Spec     Spec
	Announce Announce

	remote *api // client of a host that was not started here, otherwise nil; for such a host, only client and made are used below
	mu     sync.Mutex
	made   []string // game sessions that Stop must end, if remote is set; guarded by mu
	cmd    *exec.Cmd
	pid    int
	exited chan struct{} // closed when Wait has returned for the child process
	output *tail
	dir    string
	client *http.Client
}

// Start starts the server and waits until it has announced its addresses. It does not wait for a Plain command.
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
	p.cmd.Dir = dir // Stop removes all files that the server writes here
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
	if spec.Kind == Plain {
		return p, nil
	}
	if err := p.awaitAnnounce(ctx, announce); err != nil {
		err = errors.Join(err, p.Stop()) // after Stop, the output is complete
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

// TLS returns a configuration that trusts the anchors that the server has announced.
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

// Exited returns a channel that is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Kill ends the process with SIGKILL, as a crash would, and waits for its end.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// Terminate asks the process to end (SIGTERM) and does not wait. After Exited, ExitCode returns the exit code.
func (p *Process) Terminate() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("end %s: %w", p.Spec.Title(), err)
	}
	return nil
}

// ExitCode returns the exit code of a process that has ended, or -1 if a signal ended it.
func (p *Process) ExitCode() int { return p.cmd.ProcessState.ExitCode() }

// Alive returns nil while the process is running. Otherwise it returns an error with the exit status and the last
// output.
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

// Stop asks the process to end, kills it after stopTimeout, and removes its directory. It may be called twice.
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

// end asks the process to end and kills it after stopTimeout. It reports whether it had to kill the process.
func (p *Process) end() (killed bool) {
	p.client.CloseIdleConnections()
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // harmless if the process has already ended
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
