// Install makes the servers of bench/peers ready, and writes the list of them that `troupe bench --peers` takes. What cannot be
// made ready is in the list with the reason. It runs in the root of the repository.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"troupe/bench/peers"
)

// toolMax bounds one call of go or npm.
const toolMax = 5 * time.Minute

func main() {
	to := flag.String("to", "bin/peers", "folder to put the servers into")
	troupe := flag.String("troupe", "bin/troupe", "the command, for the epoll relay")
	flag.Parse()
	if err := install(*to, *troupe); err != nil {
		fmt.Fprintln(os.Stderr, "install:", err)
		os.Exit(1)
	}
}

func install(to, troupe string) error {
	to, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	if troupe, err = filepath.Abs(troupe); err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	var list []peers.Peer
	for _, p := range []struct {
		name string
		make func() ([]string, error)
	}{
		{"bare epoll", func() ([]string, error) { return epollRelay(troupe) }},
		{"colyseus", func() ([]string, error) { return node("bench/peers/colyseus", filepath.Join(to, "colyseus")) }},
		{"centrifuge", func() ([]string, error) { return module("bench/peers/centrifuge", filepath.Join(to, "centrifuge")) }},
		{"nano", func() ([]string, error) { return module("bench/peers/nano", filepath.Join(to, "nano")) }},
	} {
		peer := peers.Peer{Name: p.name}
		if peer.Command, err = p.make(); err != nil {
			peer.Command, peer.Missing = nil, err.Error()
			fmt.Println(p.name+": not there:", peer.Missing)
		} else {
			fmt.Println(p.name + ": ready")
		}
		list = append(list, peer)
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "peers.json"), append(text, '\n'), 0o644)
}

func epollRelay(troupe string) ([]string, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("it needs Linux")
	}
	return []string{troupe, "bench", "bare", "--engine", "epoll"}, nil
}

// module builds a Go module of its own.
func module(from, to string) ([]string, error) {
	if err := call(from, "go", "build", "-v", "-trimpath", "-o", to, "."); err != nil {
		return nil, err
	}
	return []string{to}, nil
}

// node installs a package.json and its server. No lock file is written: it would name the registry.
func node(from, to string) ([]string, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, errors.New("there is no node")
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return nil, err
	}
	for _, name := range []string{"package.json", "server.js"} {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), text, 0o644)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := call(to, "npm", "install", "--omit=dev", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"); err != nil {
		return nil, err
	}
	return []string{node, filepath.Join(to, "server.js")}, nil
}

// call runs a tool; its error is one line.
func call(dir, tool string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), toolMax)
	defer cancel()
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	output, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("there is no %s", tool)
	case ctx.Err() != nil:
		return fmt.Errorf("%s %s takes longer than %v", tool, args[0], toolMax)
	case err != nil:
		return fmt.Errorf("%s %s: %s", tool, args[0], reason(string(output)))
	}
	return nil
}

var (
	address = regexp.MustCompile(`https?://\S+`)
	noise   = regexp.MustCompile(`^(#|npm warn|npm error code|go: downloading|$)`)
)

// reason is the first line of what a tool has said that tells something, without addresses: results are published.
func reason(output string) string {
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); !noise.MatchString(line) {
			return address.ReplaceAllString(line, "(address)")
		}
	}
	return "it failed without a word"
}
