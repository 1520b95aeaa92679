package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"troupe/transport/transporttest/hosttest"
	"troupe/transport/transporttest/stock"
)

// A GameLift client plays through a proxy. The plan starts when it connects, resets its connection, and lets it connect
// again.
func TestFaultsProxy(t *testing.T) { synctest.Test(t, playThroughAProxy) }

func playThroughAProxy(t *testing.T) {
	plan := filepath.Join(t.TempDir(), "cut.yaml")
	if err := os.WriteFile(plan, []byte("length: 5s\nfaults:\n- {at: 1s, fault: reset, target: one}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	host := startHost(t, nil, hosttest.Config(t))
	p := beginOn(host.net, strings.NewReader(""), "faults", "proxy", plan, "--against", host.url, "--seed", "1", "--repeat")
	t.Cleanup(func() { p.stop(t) })
	where := prints(t, &p.out, `^player 0: (\S+), player session (\S+)$`)
	prints(t, &p.out, `^cut, seed 1: the plan begins with the first connection`)
	began := time.Now()
	login := func() *stock.Client {
		t.Helper()
		c, err := stock.Dial(t.Context(), where[1], where[2], stock.Options{NoUDP: true, Network: host.net.(stock.Network)})
		if err == nil {
			_, err = c.AwaitLogin(t.Context())
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, &p.out)
		}
		return c
	}
	first := login()
	for _, cut := range []time.Duration{time.Second, 6 * time.Second} { // the plan repeats
		c := first
		if cut > time.Second {
			c = login()
		}
		select {
		case <-c.Done():
		case <-time.After(time.Minute):
		}
		if c.PeerID() != first.PeerID() || time.Since(began) != cut {
			t.Errorf("peer %d, then %d, which was cut after %v\n%s", first.PeerID(), c.PeerID(), time.Since(began), &p.out)
		}
	}
	p.signal(syscall.SIGTERM)
	if code := p.wait(t); code != 0 || !strings.Contains(p.out.String(), "   1.000 s  reset of player 0\n") {
		t.Errorf("exit code %d\n%s", code, &p.out)
	}
}

func TestFaultsProxyWrongUse(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"tunnel":                                       "proxy needs the host: either --to HOST:PORT or --against URL",
		"tunnel --to h:1 --against h":                  "proxy needs the host: either --to HOST:PORT or --against URL",
		"tunnel --to h":                                "--to must be HOST:PORT: address h: missing port in address",
		"tunnel --to h:1 --players 0":                  "--players must be 1 to 200",
		"tunnel --to h:1 --listen 9000":                "--listen must be HOST:PORT: address 9000: missing port in address",
		"tunnel --to h:1 --players 2 --listen h:65535": "--listen: 65535 is no port with room for 2",
		"tunnel --to h:1 --kcp-addr h":                 "--kcp-addr must be HOST:PORT: address h: missing port in address",
		"server-stall --to h:1":                        "server-stall breaks the host, which proxies cannot do: troupe faults run can",
		"none --to h:1":                                `there is no scenario "none": troupe faults list shows them; a plan of your own is a file that ends in .yaml`,
	} {
		if code, out, said := call(append([]string{"faults", "proxy"}, strings.Fields(line)...)...); code != exitUsage || out != "" || said != "troupe: faults: "+want+"\n" {
			t.Errorf("%s: %d, %q, %q, want %q", line, code, out, said, want)
		}
	}
}
