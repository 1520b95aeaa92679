//go:build unix

package acceptance_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// A host may be suspended for longer than the reconnect window, for example by SIGSTOP or in a frozen virtual
// machine. Afterwards, detached players still have the rest of their window (reliability.md 2.7).
// RL-115.
func TestAHostThatWasStoppedKeepsWhoWasAway(t *testing.T) {
	if testing.Short() {
		t.Skip("stops a process for longer than its window, in real time")
	}
	const window = 10 * time.Second
	cmd := exec.Command(os.Args[0], "-test.run=^TestServeUntilInputEnds$", "-test.v", "-test.timeout=10m")
	cmd.Env = append(os.Environ(), "SERVE_WINDOW="+window.String())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = in.Close()
		_ = cmd.Wait()
	}()
	var addr, id string
	lines := bufio.NewScanner(out)
	for addr == "" && lines.Scan() {
		_, _ = fmt.Sscanf(strings.TrimSpace(lines.Text()), "serving %s %s", &addr, &id)
	}
	go func() {
		for lines.Scan() {
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	join := func() (*stock.Client, error) {
		c, err := stock.Dial(ctx, addr, id, stock.Options{NoUDP: true})
		if err == nil {
			_, err = c.AwaitLogin(ctx)
		}
		return c, err
	}
	c, err := join()
	if err != nil {
		t.Fatal(err)
	}
	c.Vanish()
	time.Sleep(window / 20) // until the player is detached
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(window * 11 / 10)
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	time.Sleep(window / 20) // until everything overdue has happened
	again, err := join()
	if err != nil {
		t.Fatal(err)
	}
	again.Kill()
}

// TestServeUntilInputEnds is the host process of TestAHostThatWasStoppedKeepsWhoWasAway.
func TestServeUntilInputEnds(t *testing.T) {
	window, err := time.ParseDuration(os.Getenv("SERVE_WINDOW"))
	if err != nil {
		t.Skip("run by TestAHostThatWasStoppedKeepsWhoWasAway")
	}
	h := startHostWith(t, func(c *host.Config) { c.Reconnect.Window = window }, onSystem)
	fmt.Printf("serving %s %s\n", h.host.Addrs().WS, h.seats(h.newGame(2), 1)[0])
	_, _ = os.Stdin.Read(make([]byte, 1))
}
