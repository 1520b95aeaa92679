package node

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"troupe/actors/child"
	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/messages/counters"
)

const (
	// readMin is the initial size of the buffer into which frames are read. The buffer grows for a longer
	// frame.
	readMin = 32 << 10
	// batchMax is the maximum number of frames that the game session handles at a time. Meanwhile the child
	// has to wait, which limits its output.
	batchMax = 512
	// drainTime is how long the pipes of a dead child are read. A process that the child has started may hold
	// them open.
	drainTime = 5 * time.Second
	// servedMax times its number of game sessions is how many a process has in its life: what they leave behind
	// in it, such as open sockets, ends with it.
	servedMax = 20
	// pace is how long frames for a process of several game sessions are gathered after a write. Then one turn of its
	// event loop handles the messages of many of them.
	pace = 4 * time.Millisecond
	// youngMax is the size in MiB of V8's space for new objects in such a process. The default, 16, costs up to
	// 48 MiB per process, and saves no time that could be measured with 50 game sessions of bench/suite/scripts/ticks.js.
	youngMax = 2
	// lastLines is how many lines of output of a process with several game sessions are kept. Node.js prints
	// some 30 when it runs out of memory.
	lastLines    = 40
	memoryOfNode = 96 << 20 // memory of the node process itself, in addition to that of the script
)

// process is one Node.js process, with the game sessions in it, and the communication between it and them. Its
// goroutines are: run, which alone starts the process, kills it and waits for its end; a writer; a reader; and
// one for each output stream. The actors of the game sessions are none of them.
type process struct {
	p        *Program
	number   int    // among the program's processes
	metadata string // directory of the fleet's metadata file, the same for all of its game sessions
	count    *counters.Set

	queue   queue
	closing chan struct{} // closed when the last game session has ended
	kills   chan string   // capacity 1: the reason to kill the process
	cpu     cpuMeter      // used only by the keeper's goroutine

	mu       sync.Mutex
	watchdog watchdog
	games    map[uint32]*handler // the game sessions that have not ended, by number
	last     uint32              // number of the newest game session
	full     bool                // takes no more game sessions: its last one has ended
	tail     []printed           // the last lines of output of a process with several game sessions
}

// printed is a line of a process's output.
type printed struct {
	level  script.Level
	stream string
	text   string
}

func newProcess(p *Program, number int, metadata string, count *counters.Set) *process {
	return &process{p: p, number: number, metadata: metadata, count: count, closing: make(chan struct{}), kills: make(chan string, 1),
		queue: queue{wake: make(chan struct{}, 1)}, watchdog: watchdog{limit: p.limits.Callback}, cpu: cpuMeter{window: cpuWindow}, games: make(map[uint32]*handler)}
}

// join makes h a game session of the process, and loads its script. It returns false if the process takes no
// more game sessions.
func (c *process) join(h *handler, load []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full || len(c.games) >= c.p.perProcess || int(c.last) >= c.p.perProcess*servedMax {
		return false
	}
	c.last++
	if h.enter(c, c.last) {
		c.games[c.last] = h
		c.send(c.last, toLoad, func(f *frame) { f.rest(load) })
	}
	return true
}

// leave removes a game session that has ended. Without game sessions the process is killed.
func (c *process) leave(h *handler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.games, h.number)
	switch {
	case len(c.games) > 0:
		c.send(h.number, toEnd, nil)
	case !c.full:
		c.full = true
		close(c.closing)
	}
}

// print logs a line of output. Nobody knows which of several game sessions has printed it, so the last lines
// of their process are logged when it ends.
func (c *process) print(level script.Level, stream, text string) {
	text = strings.ReplaceAll(text, c.p.files.game, bundle.Root)
	c.mu.Lock()
	if c.p.perProcess > 1 {
		if c.tail = append(c.tail, printed{level, stream, text}); len(c.tail) > lastLines {
			c.tail = slices.Delete(c.tail, 0, 1)
		}
		c.mu.Unlock()
		return
	}
	only := c.games[c.last]
	c.mu.Unlock()
	if only != nil {
		only.say(level, stream, 0, text)
	}
}

// kill requests the end of the process. The first reason wins.
func (c *process) kill(why string) {
	select {
	case c.kills <- why:
	default:
	}
}

// put sends a frame that fill completes. If the error is errTooLong or errFull, the frame was not sent. After
// errFull the process is killed.
func (c *process) put(game uint32, k toChild, fill func(f *frame)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.send(game, k, fill)
}

// send is put for a caller that holds the lock.
func (c *process) send(game uint32, k toChild, fill func(f *frame)) error {
	err := c.queue.put(game, k, fill)
	switch err {
	case nil:
		c.watchdog.sent(time.Now())
	case errFull:
		c.kill(fmt.Sprintf("the script does not keep up: %d MiB wait for it", queueMax>>20))
	}
	return err
}

// run is the life of the process. At its end, all of its game sessions end.
func (c *process) run() {
	c.mu.Lock()
	c.full = len(c.games) == 0 // the game session has ended before the start
	none := c.full
	c.mu.Unlock()
	if none {
		c.p.forget(c)
		return
	}
	why, err := c.live()
	if err != nil {
		why = "node cannot be started: " + err.Error()
	}
	c.p.forget(c)
	c.mu.Lock()
	games := slices.Collect(maps.Values(c.games))
	c.mu.Unlock()
	if c.p.perProcess > 1 {
		why = fmt.Sprintf("process %d with %d game sessions: %s", c.number, len(games), why)
	}
	for _, h := range games {
		for _, l := range c.tail {
			h.say(l.level, l.stream, 0, l.text)
		}
		h.do(func() { h.onEnded(why) })
	}
}

// pipes are the host's ends of the pipes.
type pipes struct{ in, out, stdout, stderr *os.File }

func (p *pipes) each(f func(*os.File)) {
	for _, file := range []*os.File{p.in, p.out, p.stdout, p.stderr} {
		if file != nil {
			f(file)
		}
	}
}

// command creates the process, without starting it, and its pipes. far has the child's ends.
func (c *process) command() (cmd *exec.Cmd, host, far pipes, err error) {
	flags := []string{"--no-warnings"} // the shim logs the warnings
	if max := c.p.limits.MemoryMax; max > 0 {
		flags = append(flags, fmt.Sprintf("--max-old-space-size=%d", (max+1<<20-1)>>20))
	}
	if c.p.maps {
		flags = append(flags, "--enable-source-maps")
	}
	if c.p.perProcess > 1 {
		flags = append(flags, fmt.Sprintf("--max-semi-space-size=%d", youngMax), c.p.files.boot, "shared")
	} else {
		flags = append(flags, c.p.files.boot)
	}
	cmd = exec.Command(c.p.binary, flags...)
	cmd.Dir = c.p.files.game
	cmd.Env = append(child.Environment(filepath.Dir(c.p.binary)), "HOME="+c.p.files.game, "NODE_ENV=production")
	pipe := func(r, w **os.File) {
		if err == nil {
			*r, *w, err = os.Pipe()
		}
	}
	pipe(&far.in, &host.in)
	pipe(&host.out, &far.out)
	pipe(&host.stdout, &far.stdout)
	pipe(&host.stderr, &far.stderr)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = far.stdout, far.stderr, []*os.File{far.in, far.out}
	return cmd, host, far, err
}

// live starts the process, waits for its end, and returns why it ended.
func (c *process) live() (why string, err error) {
	closeFile := func(f *os.File) { _ = f.Close() }
	cmd, host, far, err := c.command()
	defer host.each(closeFile)
	var p *child.Process
	if err == nil {
		p, err = c.p.keeper.Start(child.Start{Cmd: cmd, User: c.p.o.user(), Limits: c.p.childLimits(), Use: c.use})
	}
	far.each(closeFile)
	if err != nil {
		return "", err
	}
	count := c.count
	count.ScriptProcesses.Add(1)
	defer count.ScriptProcesses.Add(-1)
	var all sync.WaitGroup
	stderr, stdout := c.lines("stderr", script.LevelError), c.lines("stdout", script.LevelInfo)
	fatal := "" // last line that reports a fatal error of node itself
	stderr.Seen = func(text string) {
		if strings.HasPrefix(text, "FATAL ERROR:") {
			fatal = text
		}
	}
	all.Go(func() { c.queue.run(host.in, c.p.pace()) })
	all.Go(func() { c.read(host.out) })
	all.Go(func() { stdout.Run(host.stdout) })
	all.Go(func() { stderr.Run(host.stderr) })
	why = c.watch(p)
	c.queue.close()
	closeFile(host.in)
	host.each(func(f *os.File) { _ = f.SetReadDeadline(time.Now().Add(drainTime)) })
	select {
	case <-c.closing: // nobody reads the output any more
		host.each(func(f *os.File) { _ = f.SetReadDeadline(time.Now()) })
	default:
	}
	all.Wait()
	switch {
	case why != "":
	case fatal != "":
		why = fmt.Sprintf("node ended (%v): %s", cmd.ProcessState, fatal)
	default:
		why = fmt.Sprintf("node ended (%v)", cmd.ProcessState)
	}
	return why, nil
}

// lines returns the reader of one stream.
func (c *process) lines(stream string, level script.Level) *child.Lines {
	return &child.Lines{
		Write:   func(text string) { c.print(level, stream, text) },
		LeftOut: func(text string) { c.print(script.LevelWarn, stream, text) },
		Dropped: &c.count.LogLinesDropped,
	}
}

// watch waits for the end of the process, and kills it if requested. In that case it returns the reason.
func (c *process) watch(p *child.Process) (why string) {
	ticker := time.NewTicker(c.watchdog.every())
	defer ticker.Stop()
	closing, kills := c.closing, c.kills
	for {
		select {
		case <-p.Gone():
			p.Bury()
			return why
		case <-closing:
			closing, kills = nil, nil
			p.Kill()
		case why = <-kills:
			kills = nil
			p.Kill()
		case <-ticker.C:
			if kills != nil { // otherwise the process is already being killed
				c.look()
			}
		}
	}
}

func (c *process) look() {
	c.mu.Lock()
	stuck, ask := c.watchdog.look(time.Now())
	c.mu.Unlock()
	switch {
	case stuck:
		if len(c.kills) == 0 {
			c.count.ScriptInterrupts.Add(1)
		}
		c.kill(fmt.Sprintf("the script did not answer within %v: it is likely in a loop without end (the embedded engine would say where)", c.p.limits.Callback))
	case ask:
		_ = c.put(0, toConfirm, nil) // if the queue is full, the process is killed anyway
	}
}

// use checks the resource usage of the child's processes against the limits. The keeper calls it.
func (c *process) use(u child.Usage) {
	cpu := c.cpu.add(time.Now(), u.CPU)
	memory, most := c.p.limits.MemoryMax, c.p.bounds
	switch {
	case memory > 0 && u.RSS > memory+memoryOfNode:
		c.kill(fmt.Sprintf("the script takes %d MiB of memory, more than %d MiB", (u.RSS-memoryOfNode)>>20, memory>>20))
	case cpu > most.cpu:
		c.kill(fmt.Sprintf("the script took %v of processor time within %v, more than %v", cpu.Round(10*time.Millisecond), cpuWindow, most.cpu))
	case u.Processes > most.processes:
		c.kill(fmt.Sprintf("the script has %d processes, more than %d", u.Processes, most.processes))
	}
}

// read reads frames from the child and passes them to the game sessions. It continues when all of them have
// handled theirs; so the child has to wait, which limits its output.
func (c *process) read(r io.Reader) {
	buf := make([]byte, 0, readMin)
	var list []fields
	var busy []*handler
	for {
		n, err := r.Read(buf[len(buf):cap(buf)])
		if err != nil && n == 0 {
			return
		}
		buf = buf[:len(buf)+n]
		used := 0
		for {
			var size int
			size, list, err = split(buf[used:], list[:0])
			if err != nil {
				c.kill("the process wrote what the host does not understand: " + err.Error())
				return
			}
			if size == 0 {
				break
			}
			used += size
			if busy, err = c.sort(list, busy[:0]); err != nil {
				c.kill(err.Error())
				return
			}
			if !deliver(busy) { // a game session that ends may still use the buffer
				buf, used = append(make([]byte, 0, cap(buf)), buf[used:]...), 0
			}
		}
		buf = again(buf, used)
	}
}

// sort passes acknowledgements to the watchdog, and appends the other frames to the batches of their game
// sessions, which it returns.
func (c *process) sort(list []fields, busy []*handler) ([]*handler, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for _, f := range list {
		if f.kind == fromAck {
			if !c.watchdog.confirmed(f.n, now) {
				return nil, errors.New("the process confirmed what it was not sent")
			}
		} else if h := c.games[f.game]; h != nil { // otherwise it has ended
			if len(h.batch) == 0 {
				busy = append(busy, h)
			}
			h.batch = append(h.batch, f)
		}
	}
	return busy, nil
}

// deliver has the batches handled. It returns false if one of the game sessions has ended meanwhile, which may
// be in the middle of its batch.
func deliver(busy []*handler) (all bool) {
	all = true
	for i, h := range busy {
		if h.at = 0; !h.do(h.handle) {
			busy[i] = nil
		}
	}
	for _, h := range busy {
		if h == nil {
			continue
		}
		select {
		case <-h.handled:
			h.batch = h.batch[:0]
		case <-h.gone:
			all = false
		}
	}
	return all
}

// split parses the frames at the beginning of b, at most batchMax, and returns the number of bytes that they
// take.
func split(b []byte, list []fields) (used int, _ []fields, err error) {
	for len(list) < batchMax {
		n, err := frameLen(b[used:])
		if err != nil {
			return used, list, err
		}
		if n == 0 || len(b)-used < n {
			break
		}
		f, err := parse(b[used+4 : used+n])
		if err != nil {
			return used, list, err
		}
		list = append(list, f)
		used += n
	}
	return used, list, nil
}

// again returns a buffer that begins with the unused bytes and has room for the rest of the frame.
func again(buf []byte, used int) []byte {
	rest := buf[used:]
	need := readMin
	if n, _ := frameLen(rest); n > need { // split has already checked the length
		need = n
	}
	if need > cap(buf) || (need == readMin && cap(buf) > readMin && len(rest) < readMin) {
		return append(make([]byte, 0, need), rest...)
	}
	return buf[:copy(buf, rest)]
}
