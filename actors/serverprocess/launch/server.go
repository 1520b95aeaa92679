package launch

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/child"
	"troupe/actors/script"
	"troupe/messages"
)

const (
	lastLines = 20              // lines of output that are kept for the event about a crash
	drainTime = 2 * time.Second // how long the pipes of a dead process are read, which others may hold open
)

// server is one process. run is its goroutine, which alone starts and ends it.
type server struct {
	l     *Launcher
	in    *placed
	id    string
	port  int
	stops chan struct{} // capacity 1
	kills chan string   // capacity 1: the reason, or ""

	mu     sync.Mutex
	tokens []string    // the newest that the process got; must not be logged; guarded by mu
	tail   []string    // the last lines of output; guarded by mu
	sink   script.Sink // nil before it has a game session; guarded by mu
}

func newServer(l *Launcher, in *placed, id string, port int) *server {
	return &server{l: l, in: in, id: id, port: port, stops: make(chan struct{}, 1), kills: make(chan string, 1)}
}

func (c *server) key() messages.ProcessID {
	return messages.ProcessID{FleetID: c.in.fleet, Compute: c.in.compute, Name: c.id}
}

// stop has SIGTERM sent to the process.
func (c *server) stop() {
	select {
	case c.stops <- struct{}{}:
	default:
	}
}

func (c *server) kill() { c.killFor("") }

// killFor kills the process. The first reason wins.
func (c *server) killFor(why string) {
	select {
	case c.kills <- why:
	default:
	}
}

// hosts makes sink the log of the process.
func (c *server) hosts(sink script.Sink) {
	c.mu.Lock()
	old := c.sink
	c.sink = sink
	c.mu.Unlock()
	if old != nil {
		old.Close()
	}
}

// run is the life of the process.
func (c *server) run() (e exit) {
	defer c.hosts(nil)
	<-c.l.swept
	access, err := c.l.o.Authorize(c.l.ctx, c.in.fleet, c.in.location, c.in.compute)
	if err != nil {
		return exit{eventGeneric, "no game server can be started, because this host is no compute of the fleet: " + err.Error(), true, true}
	}
	c.hide(access.Token)
	cmd, user, err := command(c.in.of, c.port, c.variables(access))
	if err == nil {
		return c.live(cmd, user)
	}
	return notStarted(c.in.of, err)
}

func notStarted(of *messages.GameServer, err error) exit {
	text := of.Path + " cannot be started"
	if of.Dir != "" {
		text += " in " + of.Dir
	}
	if of.User != "" {
		text += fmt.Sprintf(" as user %q", of.User)
	}
	return exit{eventInvalidPath, text + ": " + err.Error(), true, false}
}

// variables are those that every Server SDK reads (server-sdk.md 3.1).
func (c *server) variables(a Access) []string {
	return []string{
		"GAMELIFT_SDK_WEBSOCKET_URL=" + a.URL, "GAMELIFT_SDK_AUTH_TOKEN=" + a.Token, "GAMELIFT_SDK_FLEET_ID=" + string(c.in.fleet),
		"GAMELIFT_SDK_HOST_ID=" + c.in.compute, "GAMELIFT_SDK_PROCESS_ID=" + c.id,
	}
}

// command returns the command of a process with its whole environment. Later variables win, so nothing takes the place of
// those in last.
func command(of *messages.GameServer, port int, last []string) (*exec.Cmd, child.User, error) {
	user, home, err := lookUp(of.User)
	if err != nil {
		return nil, user, err
	}
	told := func(text string) string { return strings.ReplaceAll(text, "{port}", strconv.Itoa(port)) }
	if port == 0 {
		told = func(text string) string { return text }
	}
	path, err := filepath.Abs(of.Path)
	if err != nil {
		return nil, user, err
	}
	cmd := exec.Command(path)
	for _, a := range of.Args {
		cmd.Args = append(cmd.Args, told(a))
	}
	cmd.Dir = cmp.Or(of.Dir, filepath.Dir(path))
	cmd.Env = append(child.Environment(), "HOME="+cmp.Or(home, cmd.Dir))
	if port > 0 {
		cmd.Env = append(cmd.Env, "PORT="+strconv.Itoa(port))
	}
	for _, v := range of.Env {
		cmd.Env = append(cmd.Env, told(v))
	}
	cmd.Env = append(cmd.Env, last...)
	return cmd, user, nil
}

// live starts the process and waits for its end.
func (c *server) live(cmd *exec.Cmd, user child.User) exit {
	var far [2]*os.File
	var near [2]*os.File
	closeAll := func(files []*os.File) {
		for _, f := range files {
			if f != nil {
				_ = f.Close()
			}
		}
	}
	defer closeAll(near[:])
	for i := range near {
		var err error
		if near[i], far[i], err = os.Pipe(); err != nil {
			closeAll(far[:])
			return notStarted(c.in.of, err)
		}
	}
	cmd.Stdout, cmd.Stderr = far[0], far[1]
	group, err := c.l.groups.take(c.in.of)
	if err != nil && c.in.of.CPUs > 0 {
		c.l.warnOnce(c.in, err)
	}
	defer group.remove()
	s := child.Start{Cmd: cmd, User: user, Cgroup: group.file()}
	if c.in.of.MemoryMax > 0 && group == nil {
		s.Use = c.use
	}
	keeper := &c.l.own
	if user.Other() {
		keeper = &c.l.others
	}
	p, err := keeper.start(s)
	closeAll(far[:])
	if err != nil {
		return notStarted(c.in.of, err)
	}
	c.l.o.Log.Info().Str("fleet_id", string(c.in.fleet)).Str("location", c.in.location).Str("process_id", c.id).
		Int("pid", cmd.Process.Pid).Int("port", c.port).Msg("game server started")
	var reading sync.WaitGroup
	for i, stream := range []string{"stdout", "stderr"} {
		lines := c.lines(stream, []script.Level{script.LevelInfo, script.LevelError}[i])
		reading.Go(func() { lines.Run(near[i]) })
	}
	why, first := c.watch(p)
	group.kill()
	how := p.Bury()
	for _, f := range near {
		_ = f.SetReadDeadline(time.Now().Add(drainTime))
	}
	reading.Wait()
	if why == "" && group.outOfMemory() {
		why = fmt.Sprintf("out of memory: more than %d MiB", c.in.of.MemoryMax>>20)
	}
	text := cmp.Or(why, how.String())
	if first {
		text += "; it must wait for what it had started, which was ended"
	}
	c.l.o.Log.Info().Str("fleet_id", string(c.in.fleet)).Str("process_id", c.id).Str("how", text).Msg("game server ended")
	return exit{text: c.withTail("a process ended (" + text + ")"), bad: !how.Success()}
}

// watch waits for the end of the process and of all that it has started, which gets SIGTERM when the process has ended, and
// as much time as the process would get. It returns the reason for which the process was killed, or "", and whether the
// process has ended by itself before the others.
func (c *server) watch(p *child.Process) (why string, first bool) {
	gone, kills, asked := p.Gone(), c.kills, false
	var empty <-chan struct{}
	var late <-chan time.Time
	for {
		select {
		case <-gone:
			if kills == nil { // it was killed, and Bury kills the others
				return why, false
			}
			var all bool
			if empty, all = p.Empty(); all {
				return why, false
			}
			gone, late = nil, time.After(stopLimit)
			if !asked {
				asked, first = true, true
				p.Ask()
			}
		case <-empty:
			return why, first
		case <-late:
			return why, first
		case <-c.stops:
			if !asked {
				asked = true
				p.Ask()
			}
		case why = <-kills:
			if gone == nil {
				return why, first
			}
			kills = nil
			p.Kill()
		}
	}
}

// use checks the memory of the process where there is no control group.
func (c *server) use(u child.Usage) {
	if most := c.in.of.MemoryMax; u.RSS > most {
		c.killFor(fmt.Sprintf("it takes %d MiB of memory, more than %d MiB", u.RSS>>20, most>>20))
	}
}

// lines returns the reader of one stream.
func (c *server) lines(stream string, level script.Level) *child.Lines {
	write := func(level script.Level) func(string) {
		return func(text string) {
			c.print(script.Line{Time: time.Now(), Level: level, File: stream, Text: c.withoutTokens(text)})
		}
	}
	return &child.Lines{Write: write(level), LeftOut: write(script.LevelWarn), Seen: c.keep, Dropped: &c.l.o.Counters.LogLinesDropped}
}

// withoutTokens hides the tokens: many programs print their environment, and what they receive.
func (c *server) withoutTokens(text string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.tokens {
		text = strings.ReplaceAll(text, t, "[token]")
	}
	return text
}

const tokensMax = 16 // tokens that are hidden: more than a process gets before the first has expired

func (c *server) hide(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if token == "" || slices.Contains(c.tokens, token) {
		return
	}
	if c.tokens = append(c.tokens, token); len(c.tokens) > tokensMax {
		c.tokens = slices.Delete(c.tokens, 0, 1)
	}
}

// keep keeps the last lines.
func (c *server) keep(text string) {
	text = c.withoutTokens(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tail = append(c.tail, text); len(c.tail) > lastLines {
		c.tail = slices.Delete(c.tail, 0, 1)
	}
}

// print writes a line to the log of the game session, or, before there is one, to that of the host.
func (c *server) print(line script.Line) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sink != nil {
		c.sink.Write(line)
		return
	}
	level := zerolog.DebugLevel
	if c.l.o.Show {
		level = zerolog.InfoLevel
	}
	c.l.o.Log.WithLevel(level).Str("fleet_id", string(c.in.fleet)).Str("process_id", c.id).Str("stream", line.File).Msg(line.Text)
}

const eventTextMax = 2000 // bytes of a fleet event, which the API cuts at 2048

// withTail returns text with the last lines of output, of which the earliest are left out if they are too long.
func (c *server) withTail(text string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.tail) == 0 {
		return text + " and printed nothing"
	}
	const head = "; its last lines:\n"
	room := eventTextMax - len(text) - len(head)
	from := len(c.tail)
	for from > 0 && len(c.tail[from-1])+1 <= room {
		from--
		room -= len(c.tail[from]) + 1
	}
	if from == len(c.tail) {
		last := c.tail[from-1]
		return text + head + strings.ToValidUTF8(last[:max(0, min(room, len(last)))], "")
	}
	return text + head + strings.Join(c.tail[from:], "\n")
}

// warnOnce says that a limit of a pool's processes is not kept.
func (l *Launcher) warnOnce(p *placed, err error) {
	l.do(func() {
		if !p.warned {
			p.warned = true
			l.carry(p, []action{{do: event, code: eventGeneric, text: "the processors of game servers are not limited: " + err.Error()}})
		}
	})
}

var errUser = errors.New("only a host that runs as root can start game servers as another user")
