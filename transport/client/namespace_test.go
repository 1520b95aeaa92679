package client_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/transport/client"
	"troupe/transport/host"
	"troupe/transport/transporttest/hosttest"
	"troupe/transport/transporttest/stock"
)

// A real NAT: three network namespaces, with the kernel's NAT between players and host, whose
// connection table is flushed while they play. The processes in the namespaces are this test
// binary; an environment variable selects their part.

var withNamespaces = flag.Bool("nat.namespaces", false, "change ports and addresses with nftables in network namespaces (TestNATInANamespace, root)")

const natPart = "TROUPE_TEST_NAT_PART"

// natAnnounce is what the host's process sends to the players' process.
type natAnnounce struct {
	Addrs host.Announcement
	Seats []string
}

// natResult has, for each player, the time from a change until its own messages came back, by the
// fast channel or, after a fallback, by the WebSocket.
type natResult map[string]struct {
	After  time.Duration
	Events []string
}

// natMain is the main function of the other two processes.
func natMain(part string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if part == "host" {
		return natHost(ctx)
	}
	return natPlayers(ctx)
}

func natHost(ctx context.Context) error {
	g, err := startGame(ctx, hosttest.System, "10.77.2.2:0", func(c *host.Config) {
		secured(filepath.Join(os.Getenv("TROUPE_TEST_NAT_DIR"), "tls"))(c)
		c.API.Auth = "none"
		c.DTLS.HalfOpenPerIP, c.Limits.ConnectionsPerIPPerSecond, c.Limits.UnauthenticatedPerIP = 0, 0, 0
	})
	if err != nil {
		return err
	}
	defer g.close()
	a := natAnnounce{Addrs: g.host.Addrs()}
	for n := range 5 {
		id, err := g.seat(ctx, fmt.Sprint("player-", n))
		if err != nil {
			return err
		}
		a.Seats = append(a.Seats, id)
	}
	if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// natPlayer sends itself fast messages at 20 Hz.
type natPlayer struct {
	name string
	send func(payload []byte) error

	mu     sync.Mutex
	next   uint32
	sent   map[uint32]time.Time
	heard  []uint32
	events []string
}

func (p *natPlayer) play(ctx context.Context) {
	for ctx.Err() == nil {
		p.mu.Lock()
		p.next++
		p.sent[p.next] = time.Now()
		payload := binary.BigEndian.AppendUint32(nil, p.next)
		p.mu.Unlock()
		_ = p.send(payload) // losses are part of the measurement
		time.Sleep(50 * time.Millisecond)
	}
}

func (p *natPlayer) hear(payload []byte, event string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if event != "" {
		p.events = append(p.events, event)
	} else if len(payload) == 4 {
		p.heard = append(p.heard, binary.BigEndian.Uint32(payload))
	}
}

// since returns when the first message that was sent after a moment came back.
func (p *natPlayer) back(since time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.heard {
		if p.sent[n].After(since) {
			return true
		}
	}
	return false
}

func natPlayers(ctx context.Context) error {
	in := bufio.NewReader(os.Stdin)
	var a natAnnounce
	line, err := in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &a)
	}
	if err != nil {
		return err
	}
	pem, err := os.ReadFile(a.Addrs.CA)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	var all []*natPlayer
	add := func(name string, send func(p *natPlayer, payload []byte) error) *natPlayer {
		p := &natPlayer{name: name, sent: make(map[uint32]time.Time)}
		p.send = func(payload []byte) error { return send(p, payload) }
		all = append(all, p)
		return p
	}
	for n, over := range []client.Transport{client.WS, client.WSS, client.KCP} {
		o := client.Options{Transport: over, Addr: a.Addrs.WS, KCPAddr: a.Addrs.KCP, PlayerSessionID: a.Seats[n], Fast: true,
			TLS: &tls.Config{RootCAs: roots, ServerName: "localhost"}}
		if over == client.WSS {
			o.Addr = a.Addrs.WSS
		}
		c, err := client.Dial(ctx, o)
		if err != nil {
			return fmt.Errorf("%v: %w", over, err)
		}
		defer c.Abort()
		for e := range c.Events() {
			if e.Kind == client.EventFastUp {
				break
			}
		}
		p := add("own "+over.String(), func(_ *natPlayer, payload []byte) error {
			return c.Send(ctx, client.Message{OpCode: 3, TargetPlayer: c.PeerID(), Payload: payload, Intent: client.Fast})
		})
		go func() {
			for e := range c.Events() {
				if e.Kind == client.EventMessage {
					p.hear(e.Payload, "")
				} else {
					p.hear(nil, e.Kind.String())
				}
			}
		}()
	}
	stocks := map[string]stock.Options{"stock ws": {}}
	if _, missing := stock.HasOpenSSL(); missing == "" {
		stocks["stock wss"] = stock.Secured(roots, "localhost")
	}
	for name, o := range stocks {
		addr := a.Addrs.WS
		if o.DTLS != nil {
			addr = a.Addrs.WSS
		}
		c, err := stock.Dial(ctx, addr, a.Seats[len(all)], o)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		defer c.Kill()
		_, err = c.AwaitLogin(ctx)
		if err = errors.Join(err, c.AwaitFast(ctx)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		p := add(name, func(_ *natPlayer, payload []byte) error {
			return c.Send(stock.Message{OpCode: 3, TargetPlayer: c.PeerID(), Payload: payload})
		})
		go func() {
			for {
				e, err := c.Expect(ctx, stock.Op(3))
				if err != nil {
					return
				}
				p.hear(e.Payload, "")
			}
		}()
	}
	for _, p := range all {
		go p.play(ctx)
	}
	fmt.Println("ready")
	for {
		if _, err := in.ReadString('\n'); err != nil {
			return nil
		}
		changed, result := time.Now(), natResult{}
		for time.Since(changed) < 6*time.Second && len(result) < len(all) {
			for _, p := range all {
				if _, done := result[p.name]; !done && p.back(changed) {
					p.mu.Lock()
					result[p.name] = struct {
						After  time.Duration
						Events []string
					}{time.Since(changed), p.events}
					p.mu.Unlock()
				}
			}
			time.Sleep(10 * time.Millisecond)
		}
		if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
			return err
		}
	}
}

// natKernel is the three namespaces, with the commands to change them.
type natKernel struct {
	t       *testing.T
	players string
	nat     string
	host    string
}

// run runs a command with some input.
func (k *natKernel) run(input string, command ...string) error {
	c := exec.CommandContext(k.t.Context(), command[0], command[1:]...)
	c.Stdin = strings.NewReader(input)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, out)
	}
	return nil
}

// newNATKernel creates the namespaces, or returns why it cannot.
func newNATKernel(t *testing.T) (*natKernel, error) {
	for _, tool := range []string{"ip", "nft", "conntrack", "sysctl"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, err
		}
	}
	if os.Getuid() != 0 {
		return nil, errors.New("it takes root")
	}
	id := fmt.Sprint(os.Getpid())
	k := &natKernel{t: t, players: "tp" + id, nat: "tn" + id, host: "th" + id}
	t.Cleanup(func() {
		for _, ns := range []string{k.players, k.nat, k.host} {
			_ = exec.Command("ip", "netns", "del", ns).Run() // it may not exist
		}
	})
	script := strings.NewReplacer("P.", k.players, "N.", k.nat, "H.", k.host).Replace(`
		ip netns add P.; ip netns add N.; ip netns add H.
		ip -n P. link set lo up; ip -n N. link set lo up; ip -n H. link set lo up
		ip -n P. link add up0 type veth peer name down0 netns N.
		ip -n N. link add up1 type veth peer name down1 netns H.
		ip -n P. addr add 10.77.1.2/24 dev up0; ip -n N. addr add 10.77.1.1/24 dev down0
		ip -n N. addr add 10.77.2.1/24 dev up1; ip -n N. addr add 10.77.2.9/24 dev up1
		ip -n H. addr add 10.77.2.2/24 dev down1
		ip -n P. link set up0 up; ip -n N. link set down0 up; ip -n N. link set up1 up; ip -n H. link set down1 up
		ip -n P. route add default via 10.77.1.1
		ip netns exec N. sysctl -qw net.ipv4.ip_forward=1`)
	if err := k.run(script, "sh", "-e"); err != nil {
		return nil, err
	}
	return k, k.masquerade("10.77.2.1:20000-24999")
}

// masquerade changes the source addresses that the NAT gives to datagrams, and removes its entries
// for the old ones. TCP is not affected.
func (k *natKernel) masquerade(udp string) error {
	rules := "add table ip nat\nflush table ip nat\ntable ip nat {\n chain post {\n type nat hook postrouting priority 100;\n" +
		" oifname \"up1\" meta l4proto tcp snat to 10.77.2.1\n oifname \"up1\" meta l4proto udp snat to " + udp + "\n }\n}\n"
	if err := k.run(rules, "ip", "netns", "exec", k.nat, "nft", "-f", "-"); err != nil {
		return err
	}
	_ = k.run("", "ip", "netns", "exec", k.nat, "conntrack", "-D", "-p", "udp") // fails if there is no entry
	return nil
}

// start runs a part of the test in a namespace. The reader has its output; it ends when its input
// is closed.
func (k *natKernel) start(namespace, part, dir string) (io.Writer, *bufio.Reader) {
	c := exec.CommandContext(k.t.Context(), "ip", "netns", "exec", namespace, os.Args[0])
	c.Env = append(os.Environ(), natPart+"="+part, "TROUPE_TEST_NAT_DIR="+dir)
	c.Stderr = k.t.Output()
	in, err := c.StdinPipe()
	if err == nil {
		var out io.Reader
		if out, err = c.StdoutPipe(); err == nil {
			if err = c.Start(); err == nil {
				k.t.Cleanup(func() {
					in.Close()
					if err := c.Wait(); err != nil {
						k.t.Log(part, err)
					}
				})
				return in, bufio.NewReader(out)
			}
		}
	}
	k.t.Fatal(err)
	return nil, nil
}

// RL-107.
func TestNATInANamespace(t *testing.T) {
	if !*withNamespaces {
		t.Skip("it takes root, nftables and some seconds: make proof-nat")
	}
	k, err := newNATKernel(t)
	if err != nil {
		t.Skip("no network namespaces with a NAT here: ", err)
	}
	dir := t.TempDir()
	_, host := k.start(k.host, "host", dir)
	announce, err := host.ReadString('\n')
	if err != nil {
		t.Fatal("the host: ", err)
	}
	tell, players := k.start(k.players, "players", dir)
	if _, err := io.WriteString(tell, announce); err != nil {
		t.Fatal(err)
	}
	if line, err := players.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the players: %q, %v", line, err)
	}
	time.Sleep(time.Second) // lets them play
	for _, step := range []struct {
		what, udp string
		without   string // the player that may not use this address and cannot notice that
	}{
		{"another port", "10.77.2.1:25000-29999", ""},
		{"another address", "10.77.2.9:30000-34999", "stock ws"},
		{"the first address", "10.77.2.1:35000-39999", ""},
	} {
		if err := k.masquerade(step.udp); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(tell, "changed\n"); err != nil {
			t.Fatal(err)
		}
		var result natResult
		line, err := players.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &result)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"own ws", "own wss", "own kcp", "stock ws", "stock wss"} {
			r, back := result[name]
			bar := 3 * time.Second
			if strings.HasSuffix(name, " ws") {
				bar = 5 * time.Second
			}
			t.Logf("%s: %s: back %v after %v, events so far %v", step.what, name, back, r.After.Round(time.Millisecond), r.Events)
			if name == step.without || name == "stock wss" && !back && len(result) == 4 {
				continue // openssl is not installed
			}
			if !back || r.After > bar {
				t.Errorf("%s: %s is not back within %v", step.what, name, bar)
			}
		}
		time.Sleep(5 * time.Second) // an address may change once in 5 s
	}
}
