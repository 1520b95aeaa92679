package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/cluster/clustertest"
	"troupe/transport"
	"troupe/transport/host"
	"troupe/transport/transporttest/hosttest"
	"troupe/transport/transporttest/memnet"
)

// asTroupe is the environment variable that makes this test binary act as troupe. Its value is a file that records the
// starts.
const asTroupe = "TEST_AS_TROUPE"

// startsMax is how many times the short tests may start troupe as a process. Only signals, terminals, and the start and
// end of a process require that. Everything else runs in the test process.
const startsMax = 40

func TestMain(m *testing.M) {
	if file := os.Getenv(asTroupe); file != "" {
		// the file does not exist under another root folder
		if counted, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0); err == nil {
			fmt.Fprintln(counted, os.Args)
			counted.Close()
		}
		main()
	}
	os.Exit(testMain(m))
}

// testMain runs the tests with troupe in PATH and without environment variables that configure troupe.
func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "troupe-tests-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		for _, prefix := range []string{"AWS_", "TROUPE_", "OTEL_", "XDG_"} {
			if strings.HasPrefix(name, prefix) {
				os.Unsetenv(name)
			}
		}
	}
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	starts := filepath.Join(dir, "starts")
	for _, err := range []error{
		os.WriteFile(starts, nil, 0o666), os.Symlink(self, filepath.Join(dir, "troupe")),
		os.Setenv(asTroupe, starts), os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH")),
	} {
		if err != nil {
			panic(err)
		}
	}
	watchEvery = 20 * time.Millisecond
	code := m.Run()
	if text, err := os.ReadFile(starts); testing.Short() && bytes.Count(text, []byte("\n")) > startsMax {
		fmt.Printf("troupe was started more than %d times: run commands in this process (%v)\n%s", startsMax, err, text)
		return 1
	}
	return code
}

// patience bounds a test that hangs. No result depends on it.
const patience = 5 * time.Minute

// until waits until why returns nil. why returns the reason why the condition does not hold yet.
func until(t interface{ Fatalf(string, ...any) }, what string, why func() error) {
	deadline := time.Now().Add(patience)
	for {
		err := why()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: never: %v", what, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// output collects what a command prints. It can be read at any time.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// process is a command line that runs in this process and can receive signals.
type process struct {
	out, err output
	code     int // set when the command has ended
	ended    chan struct{}

	mu      sync.Mutex
	waiting map[chan<- os.Signal][]os.Signal // nil until the command calls Notify
}

// Notify implements signals.
func (p *process) Notify(c chan<- os.Signal, of ...os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil {
		p.waiting = make(map[chan<- os.Signal][]os.Signal)
	}
	p.waiting[c] = of
}

// Stop implements signals.
func (p *process) Stop(c chan<- os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, c)
}

// signal sends a signal to the command.
func (p *process) signal(sig os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c, of := range p.waiting {
		if slices.Contains(of, sig) {
			select {
			case c <- sig:
			default: // a signal is already pending
			}
		}
	}
}

// wait waits until the command has ended and returns the exit code.
func (p *process) wait(t interface{ Fatalf(string, ...any) }) int {
	select {
	case <-p.ended:
		return p.code
	case <-time.After(patience):
		t.Fatalf("it does not end:\n%s%s", &p.out, &p.err)
		return 0
	}
}

// stop sends interrupts until the command has ended. One is not enough: the command may not listen yet, or may wait for
// players after the first one.
func (p *process) stop(t interface{ Fatalf(string, ...any) }) {
	until(t, "the end", func() error {
		p.signal(os.Interrupt)
		select {
		case <-p.ended:
			return nil
		default:
			return fmt.Errorf("it says:\n%s%s", &p.out, &p.err)
		}
	})
}

// begin starts a command line. It runs until it ends by itself or by a signal.
func begin(in io.Reader, args ...string) *process {
	return beginOn(nil, in, args...)
}

// beginOn is begin with a network; nil: the operating system's.
func beginOn(on transport.Network, in io.Reader, args ...string) *process {
	p := &process{ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		p.code = run(args, streams{in: in, out: &p.out, err: &p.err, signals: p, network: on})
	}()
	return p
}

// call runs a command line until it ends.
func call(args ...string) (code int, out, said string) { return callOn(nil, args...) }

// callOn is call with a network.
func callOn(on transport.Network, args ...string) (code int, out, said string) {
	var o, e bytes.Buffer
	code = run(args, streams{in: strings.NewReader(""), out: &o, err: &e, signals: new(process), network: on})
	return code, o.String(), e.String()
}

// starting is begin for a host. The host is stopped when the test ends.
func starting(t *testing.T, args ...string) *process {
	t.Helper()
	level := zerolog.GlobalLevel() // a host changes it
	p := begin(strings.NewReader(""), args...)
	t.Cleanup(func() {
		p.stop(t)
		zerolog.SetGlobalLevel(level)
		if t.Failed() {
			t.Logf("%s\n%s%s", args, &p.out, &p.err)
		}
	})
	return p
}

// prints waits until a line of an output matches, and returns the submatches.
func prints(t *testing.T, o *output, pattern string) (groups []string) {
	t.Helper()
	want := regexp.MustCompile("(?m)" + pattern)
	until(t, pattern, func() error {
		if groups = want.FindStringSubmatch(o.String()); groups == nil {
			return fmt.Errorf("it prints:\n%s", o)
		}
		return nil
	})
	return groups
}

// onFreePorts returns the configuration with its listeners on free ports.
func onFreePorts(t *testing.T, c host.Config) host.Config {
	t.Helper()
	for _, addr := range []*string{&c.API.Addr, &c.WebSocket.Addr, &c.Fast.Addr, &c.WSS.Addr, &c.DTLS.Addr, &c.KCP.Addr} {
		if *addr != "" {
			*addr = "127.0.0.1:0"
		}
	}
	c.Cluster.Peers = host.Peers{Addr: "127.0.0.1:0"}
	if c.TLS.Dir == "" {
		c.TLS.Dir = t.TempDir()
	}
	if c.Log.GameSessions.Dir == "" {
		c.Log.GameSessions.Dir = t.TempDir()
	}
	return c
}

// long skips a test in a short run. It is for tests that start hosts as processes, run other programs, or take seconds.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
}

// place is where commands find a host or its replacement.
type place struct {
	net transport.Network
	url string
}

// call runs a command line with the endpoint of the place.
func (p place) call(args ...string) (code int, out, said string) {
	return callOn(p.net, append(args, "--endpoint", p.url)...)
}

// running is a host in this process.
type running struct {
	*host.Host
	place
}

// startHost starts a host in this process. If on is nil, it uses a separate in-memory network.
func startHost(t *testing.T, on hosttest.Network, c host.Config) running {
	t.Helper()
	o := host.Options{Config: c, Log: zerolog.Nop(), SetLogLevel: func(zerolog.Level) {}}
	if on != nil {
		o.Network = on
	}
	if c.Cluster.Name != "" {
		coordinator := clustertest.NewStore()
		t.Cleanup(coordinator.Close)
		o.Coordinator = coordinator.Client()
	}
	h := hosttest.Start(t, o)
	return running{h.Host, place{h.Net, h.Host.Addrs().APIURL}}
}

// standIn starts a server that replaces a host, on a separate in-memory network.
func standIn(t *testing.T, handle http.HandlerFunc) place {
	t.Helper()
	network := memnet.New(1)
	t.Cleanup(network.Close)
	return place{network.Machine(), hosttest.Serve(t, network.Machine(), handle)}
}
