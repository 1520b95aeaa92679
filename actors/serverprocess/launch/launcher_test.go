package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/script"
	"troupe/actors/serverprocess"
	"troupe/messages"
	"troupe/messages/counters"
)

// role makes this test binary a game server that is no server: it has no endpoint to connect to.
const role = "LAUNCH_TEST_ROLE"

// roles are those of other files.
var roles = make(map[string]func())

func beServer(what string) {
	if be := roles[what]; be != nil {
		be()
	}
	switch what {
	case "crash":
		fmt.Println("loading the map")
		fmt.Fprintln(os.Stderr, "panic: no map")
		os.Exit(3)
	case "environment":
		for _, v := range os.Environ() {
			fmt.Println("env", v)
		}
		fmt.Println("token sorted", strings.Join(slices.Sorted(slices.Values(strings.Split(os.Getenv("GAMELIFT_SDK_AUTH_TOKEN"), ""))), ""))
		fmt.Println("args", strings.Join(os.Args[1:], " "))
		dir, _ := os.Getwd()
		fmt.Println("dir", dir)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	case "memory":
		for all := [][]byte{}; ; time.Sleep(10 * time.Millisecond) {
			all = append(all, bytes.Repeat([]byte{1}, 4<<20))
			if len(all) > 250 { // 1 GB: nobody has noticed
				return
			}
		}
	case "parent":
		_ = exec.Command("sleep", "1000").Start()
	}
	fmt.Println("up", os.Getpid())
	time.Sleep(time.Hour)
}

// owner is the owner of the processes: it takes the messages.
type owner struct {
	*testing.T
	*Launcher
	mu   sync.Mutex
	got  []any
	news chan struct{}
	log  lines
}

// lines is the sink of a game session.
type lines struct {
	mu     sync.Mutex
	all    []string
	closed bool
}

func (l *lines) Write(line script.Line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line.File+": "+line.Text)
}

func (l *lines) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

const fleet messages.FleetID = "fleet-a"

func boxed(id string) messages.ProcessID {
	return messages.ProcessID{FleetID: fleet, Compute: "box", Name: id}
}

func newOwner(t *testing.T, authorize func() error) *owner {
	return newOwnerAt(t, pace{close: 100 * time.Millisecond, retry: 10 * time.Millisecond}, authorize)
}

func newOwnerAt(t *testing.T, at pace, authorize func() error) *owner {
	if Supported() != nil {
		t.Skip("no game servers are started on this system")
	}
	o := &owner{T: t, news: make(chan struct{}, 1)}
	o.Launcher = newLauncher(Options{
		Log: zerolog.New(&hostLog{&o.log}).Level(zerolog.DebugLevel), Counters: new(counters.Set), Compute: "box",
		Authorize: func(_ context.Context, f messages.FleetID, location, compute string) (Access, error) {
			if authorize != nil {
				if err := authorize(); err != nil {
					return Access{}, err
				}
			}
			return Access{URL: "ws://127.0.0.1:1/sdk", Token: "token-of-" + compute}, nil
		},
		Tell: func(msg any) {
			o.mu.Lock()
			o.got = append(o.got, msg)
			o.mu.Unlock()
			select {
			case o.news <- struct{}{}:
			default:
			}
		},
	}, at)
	t.Cleanup(o.Close)
	return o
}

// hostLog takes the host's log.
type hostLog struct{ *lines }

func (l *hostLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, string(b))
	return len(b), nil
}

// await waits until ok returns true.
func (o *owner) await(what string, ok func() bool) {
	o.Helper()
	for until := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			o.Fatalf("not seen: %s", what)
		}
	}
}

// next waits for a message of a type, and drops those before.
func next[M any](o *owner) (found M) {
	o.Helper()
	o.await(fmt.Sprintf("%T", found), func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		for i, msg := range o.got {
			if m, ok := msg.(M); ok {
				found = m
				o.got = slices.Delete(o.got, 0, i+1)
				return true
			}
		}
		return false
	})
	return found
}

func self(t *testing.T, what string) *messages.GameServer {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &messages.GameServer{Path: path, Env: []string{role + "=" + what}, PortFrom: 7000, PortTo: 7009}
}

// logged waits for a line of the host's log with a text, and returns the process id in it.
func (o *owner) logged(text string) (process string) {
	o.Helper()
	o.await(text, func() bool {
		o.log.mu.Lock()
		defer o.log.mu.Unlock()
		for _, line := range o.log.all {
			if strings.Contains(line, text) {
				_, rest, _ := strings.Cut(line, `"process_id":"`)
				process, _, _ = strings.Cut(rest, `"`)
				return true
			}
		}
		return false
	})
	return process
}

func TestACrashIsShownWithItsLastLines(t *testing.T) {
	o := newOwner(t, nil)
	o.Configure(fleet, self(t, "crash"), "here", map[string]int{"here": 2})
	e := next[Event](o)
	if e.Fleet != fleet || e.Code != serverprocess.EventCrashed || !strings.Contains(e.Text, "exit status 3") ||
		!strings.Contains(e.Text, "loading the map") || !strings.Contains(e.Text, "panic: no map") {
		t.Errorf("%+v", e)
	}
	next[Fails](o)
	second := next[Event](o) // after a pause
	if second.Text == "" {
		t.Errorf("%+v", second)
	}
}

func TestAServerGetsWhatItNeedsAndNothingOfTheHost(t *testing.T) {
	t.Setenv("TROUPE_SECRET", "host secret")
	o := newOwner(t, nil)
	s := self(t, "environment")
	s.Args, s.Dir = []string{"-port={port}", "-x"}, t.TempDir()
	s.Env = append(s.Env, "MAP=arena", "GAMELIFT_SDK_HOST_ID=lie", "LISTEN=:{port}")
	o.Configure(fleet, s, "home", map[string]int{"far": 1})
	id := o.logged("up ")
	for _, want := range []string{
		"env PORT=7000", "env MAP=arena", "env LISTEN=:7000", "env GAMELIFT_SDK_WEBSOCKET_URL=ws://127.0.0.1:1/sdk", "env GAMELIFT_SDK_AUTH_TOKEN=[token]",
		"env GAMELIFT_SDK_FLEET_ID=fleet-a", "env GAMELIFT_SDK_HOST_ID=box-far", "env GAMELIFT_SDK_PROCESS_ID=" + id, "args -port=7000 -x", "token sorted ---abeffknooortx", "dir " + s.Dir,
	} {
		o.logged(want + `"`)
	}
	o.log.mu.Lock()
	defer o.log.mu.Unlock()
	var all []string
	for _, line := range o.log.all {
		if _, v, ok := strings.Cut(line, `env `); ok {
			name, _, _ := strings.Cut(v, "=")
			all = append(all, name)
		}
	}
	slices.Sort(all)
	all = slices.DeleteFunc(all, func(name string) bool { return name == "TZ" || name == "PWD" })
	want := []string{"GAMELIFT_SDK_AUTH_TOKEN", "GAMELIFT_SDK_FLEET_ID", "GAMELIFT_SDK_HOST_ID", "GAMELIFT_SDK_PROCESS_ID", "GAMELIFT_SDK_WEBSOCKET_URL",
		"HOME", role, "LISTEN", "MAP", "PATH", "PORT"}
	if !reflect.DeepEqual(all, want) {
		t.Errorf("%q, want %q", all, want)
	}
}

// All processes of a fleet have ports of their own: in all locations, and while those of an earlier configuration end.
func TestNoPortIsGivenTwice(t *testing.T) {
	o := newOwner(t, nil)
	s := self(t, "stubborn")
	s.PortTo = s.PortFrom + 3
	o.Configure(fleet, s, "home", map[string]int{"home": 1, "far": 1})
	o.logged(`"port":7000`)
	o.logged(`"port":7001`)
	o.Configure(fleet, s, "home", nil)
	o.Configure(fleet, s, "home", map[string]int{"home": 1})
	o.logged(`"port":7002`)
	next := *s
	next.Args = []string{"-new"}
	o.Configure(fleet, &next, "home", map[string]int{"home": 1})
	o.logged(`"port":7003`)
}

// What has failed is remembered while a fleet has no processes, because the host drains.
func TestNoProcessesForAWhile(t *testing.T) {
	o := newOwner(t, nil)
	s := self(t, "crash")
	o.Configure(fleet, s, "here", map[string]int{"here": 1})
	next[Fails](o)
	o.Configure(fleet, s, "here", nil)
	for range 2 { // two turns of the loop: the first one is over
		turn := make(chan struct{})
		o.do(func() { close(turn) })
		<-turn
	}
	o.Configure(fleet, s, "here", map[string]int{"here": 1})
	failed := make(chan int)
	o.do(func() { failed <- o.pools[place{fleet, "here"}].failed })
	if n := <-failed; n == 0 {
		t.Error("forgotten")
	}
}

func TestServersAreEndedInSteps(t *testing.T) {
	o := newOwner(t, nil)
	o.Configure(fleet, self(t, "parent"), "here", map[string]int{"here": 1})
	id := o.logged(`"message":"up `)
	key := boxed(id)
	o.Report(key, serverprocess.Connected, false)
	o.Report(key, serverprocess.Ready, false)
	if r := next[Runs](o); r.Fleet != fleet {
		t.Errorf("%+v", r)
	}
	var log lines
	o.Hosts(key, &log)
	o.Configure(fleet, self(t, "parent"), "here", nil) // it is asked
	if a := next[Ask](o); a.Process != key {
		t.Errorf("%+v", a)
	}
	o.Report(key, serverprocess.Terminated, true) // the endpoint has ended it
	if e := next[Exited](o); e.Process != key {
		t.Errorf("%+v", e)
	}
	o.await("the end of the log", func() bool { log.mu.Lock(); defer log.mu.Unlock(); return log.closed })
	var late lines
	o.Hosts(key, &late)
	o.await("the end of a log that came too late", func() bool { late.mu.Lock(); defer late.mu.Unlock(); return late.closed })
}

func TestTheOutputOfAGameSessionIsItsLog(t *testing.T) {
	o := newOwner(t, nil)
	c := newServer(o.Launcher, &placed{place: place{fleet, "here"}, of: self(t, "")}, "p1", 0)
	out := c.lines("stdout", script.LevelInfo)
	var log lines
	out.Run(strings.NewReader("before\n"))
	c.hosts(&log)
	out.Run(strings.NewReader("in the game\n\xff\n"))
	c.hosts(nil)
	for n := range 2 * tokensMax {
		c.hide(fmt.Sprintf("secret-%02d", n))
	}
	c.hosts(&log)
	out.Run(strings.NewReader("with secret-30 and secret-31\n"))
	if n := len(log.all); n == 0 || log.all[n-1] != "stdout: with [token] and [token]" || len(c.tokens) != tokensMax {
		t.Errorf("%q with %d tokens", log.all, len(c.tokens))
	}
	c.hosts(nil)
	log.all = slices.DeleteFunc(log.all, func(line string) bool { return strings.Contains(line, "token") })
	if want := []string{"stdout: in the game", "stdout: \ufffd"}; !reflect.DeepEqual(log.all, want) || !log.closed {
		t.Errorf("%q", log.all)
	}
	o.logged(`"message":"before"`)
	for n := range 50 {
		out.Run(strings.NewReader(fmt.Sprint("line ", n, "\n")))
	}
	if text := c.withTail("it ended"); !strings.HasPrefix(text, "it ended; its last lines:\nline 30\n") || !strings.HasSuffix(text, "\nline 49") {
		t.Errorf("%q", text)
	}
	out.Run(strings.NewReader(strings.Repeat("x", 5000) + "\n"))
	if text := c.withTail("it ended"); len(text) > eventTextMax || !strings.HasSuffix(text, "xxx") {
		t.Errorf("%d bytes", len(text))
	}
}

func TestWhatCannotBeStarted(t *testing.T) {
	for name, set := range map[string]func(*messages.GameServer){
		"no such file":  func(s *messages.GameServer) { s.Path = "/nowhere/server" },
		"is not known":  func(s *messages.GameServer) { s.User = "nobody-of-this-name" },
		"no such file ": func(s *messages.GameServer) { s.Dir = "/nowhere" },
	} {
		o := newOwner(t, nil)
		s := self(t, "crash")
		set(s)
		o.Configure(fleet, s, "here", map[string]int{"here": 1})
		if e := next[Event](o); e.Code != eventInvalidPath || !strings.Contains(e.Text, strings.TrimSpace(name)) {
			t.Errorf("%s: %+v", name, e)
		}
		next[Fails](o)
	}
	o := newOwner(t, func() error { return errors.New("no leader") })
	o.Configure(fleet, self(t, "crash"), "here", map[string]int{"here": 1})
	if e := next[Event](o); e.Code != eventGeneric || !strings.Contains(e.Text, "no leader") {
		t.Errorf("%+v", e)
	}
}

// A host that runs as root starts processes as another user. Others say that they cannot.
func TestAnotherUser(t *testing.T) {
	o := newOwner(t, nil)
	s := &messages.GameServer{Path: "/bin/sh", Args: []string{"-c", "id -un; echo home $HOME; sleep 1000"}, Dir: "/", User: "nobody"}
	if err := CheckUser(s.User); os.Geteuid() != 0 {
		if !errors.Is(err, errUser) {
			t.Error(err)
		}
		return
	} else if err != nil {
		t.Skip(err)
	}
	o.Configure(fleet, s, "here", map[string]int{"here": 1})
	o.logged(`"message":"nobody"`)
	o.logged(`"message":"home /`)
}
