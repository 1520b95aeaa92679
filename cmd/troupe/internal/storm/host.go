package storm

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// lifted raises the limits per IP address, because all players share one.
var lifted = []string{
	"limits.unauthenticated=0", "limits.unauthenticatedPerIP=0", "limits.connectionsPerIPPerSecond=0",
	"limits.loginFailuresPerIPPerMinute=0", "limits.resumesPerPlayerSessionPerMinute=0", "limits.loginsPerPlayerSessionPerMinute=0",
	"dtls.halfOpenPerIP=0", "dtls.hellosPerIPPerSecond=0",
	"dtls.halfOpen=0", "dtls.hellosPerSecond=0", "log.level=error",
}

// child is a host in a process of its own.
type child struct {
	cmd    *exec.Cmd
	dir    string
	exited chan struct{}
	output lockedBuffer
	addrs  struct {
		API string `json:"api"`
		KCP string `json:"kcp"`
		CA  string `json:"ca"`
	}
}

const (
	startPatience = 20 * time.Second
	stopPatience  = 20 * time.Second
)

// startHost runs this program's own `serve` on free ports of loopback.
func startHost(ctx context.Context, settings []string) (h *child, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "troupe-bench-")
	if err != nil {
		return nil, err
	}
	announce := filepath.Join(dir, "announce.json")
	args := []string{"serve", "--announce", announce}
	for _, addr := range []string{"api", "websocket", "fast", "wss", "dtls", "kcp"} {
		args = append(args, "--set", addr+".addr=127.0.0.1:0")
	}
	for _, set := range append(append([]string{"tls.dir=" + filepath.Join(dir, "tls"), "log.gameSessions.dir=" + filepath.Join(dir, "logs"), "store.memory=true"}, lifted...), settings...) {
		args = append(args, "--set", set)
	}
	h = &child{cmd: exec.Command(self, args...), dir: dir, exited: make(chan struct{})}
	h.cmd.Stdout, h.cmd.Stderr = &h.output, &h.output
	if err := h.cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	go func() {
		_ = h.cmd.Wait()
		close(h.exited)
	}()
	if err := h.await(ctx, announce); err != nil {
		h.stop()
		return nil, fmt.Errorf("start a host: %w\n%s", err, h.output.String())
	}
	return h, nil
}

// await waits until the host has announced its addresses.
func (h *child) await(ctx context.Context, announce string) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		text, err := os.ReadFile(announce)
		if err == nil {
			tick.Stop()
			return json.Unmarshal(text, &h.addrs)
		}
		select {
		case <-tick.C:
		case <-h.exited:
			tick.Stop()
			return errors.New("it has ended")
		case <-ctx.Done():
			tick.Stop()
			return ctx.Err()
		}
	}
}

// trust returns a configuration that trusts the host's own authority.
func (h *child) trust() (*tls.Config, error) {
	pem, err := os.ReadFile(h.addrs.CA)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errors.New("the host's certificate authority cannot be read")
	}
	return &tls.Config{RootCAs: roots, ServerName: "localhost"}, nil
}

// stop ends the host. The second SIGTERM tells it not to wait for players.
func (h *child) stop() {
	_ = h.cmd.Process.Signal(syscall.SIGTERM)
	_ = h.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(stopPatience)
	defer timer.Stop()
	select {
	case <-h.exited:
	case <-timer.C:
		_ = h.cmd.Process.Kill()
		<-h.exited
	}
	_ = os.RemoveAll(h.dir)
}

// lockedBuffer keeps the last bytes of a process's output.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

const outputMax = 16 << 10

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Write(p)
	if over := l.b.Len() - outputMax; over > 0 {
		l.b.Next(over)
	}
	return len(p), nil
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
