package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"troupe/actors/script"
	"troupe/actors/script/bundle"
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
	drainTime    = 5 * time.Second
	memoryOfNode = 96 << 20 // memory of the node process itself, in addition to that of the script
)

// child is one process, and the communication between it and its game session. Its goroutines are: run, which
// alone starts the process, kills it and waits for its end; a writer; a reader; and one for each output
// stream. The actor of the game session is none of them.
type child struct {
	p       *Program
	process script.Process
	do      func(f func()) bool                 // script.Session.Do
	handle  func(list []fields) (rest []fields) // called through do; called again with the returned rest until the rest is empty
	ended   func(why string)                    // called through do, last

	queue   queue
	closing chan struct{} // closed when the game session has ended
	kills   chan string   // capacity 1: the reason to kill the process
	handled chan struct{} // capacity 1: a batch has been handled
	cpu     cpuMeter      // used only by the keeper's goroutine

	mu       sync.Mutex
	watchdog watchdog
	mute     bool // the log is closed; write nothing
}

func newChild(p *Program, process script.Process) *child {
	return &child{p: p, process: process, closing: make(chan struct{}), kills: make(chan string, 1), handled: make(chan struct{}, 1),
		queue: queue{wake: make(chan struct{}, 1)}, watchdog: watchdog{limit: p.limits.Callback}, cpu: cpuMeter{window: cpuWindow}}
}

// close kills the process and stops the use of the log. It does not wait.
func (c *child) close() {
	c.mu.Lock()
	c.mute = true
	c.mu.Unlock()
	close(c.closing)
}

// say writes to the game session's log. It is safe for concurrent use.
func (c *child) say(level script.Level, file string, row int, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.mute {
		c.process.Log.At(level, file, row, text)
	}
}

// kill requests the end of the process. The first reason wins.
func (c *child) kill(why string) {
	select {
	case c.kills <- why:
	default:
	}
}

// put sends a frame that fill completes. If the error is errTooLong or errFull, the frame was not sent. After
// errFull the process is killed.
func (c *child) put(k toChild, fill func(f *frame)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.queue.put(k, fill)
	switch err {
	case nil:
		c.watchdog.sent(time.Now())
	case errFull:
		c.kill(fmt.Sprintf("the script does not keep up: %d MiB wait for it", queueMax>>20))
	}
	return err
}

func (c *child) run() {
	why, err := c.live()
	if err != nil {
		why = "node cannot be started: " + err.Error()
	}
	c.do(func() { c.ended(why) })
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
func (c *child) command() (cmd *exec.Cmd, host, far pipes, err error) {
	flags := []string{"--no-warnings"} // the shim logs the warnings
	if max := c.p.limits.MemoryMax; max > 0 {
		flags = append(flags, fmt.Sprintf("--max-old-space-size=%d", (max+1<<20-1)>>20))
	}
	if c.p.maps {
		flags = append(flags, "--enable-source-maps")
	}
	cmd = exec.Command(c.p.binary, append(flags, c.p.files.boot)...)
	cmd.Dir = c.p.files.game
	cmd.Env = []string{"PATH=" + filepath.Dir(c.p.binary) + string(os.PathListSeparator) + "/usr/local/bin:/usr/bin:/bin",
		"HOME=" + c.p.files.game, "NODE_ENV=production"}
	if zone, ok := os.LookupEnv("TZ"); ok { // scripts see the host's time zone
		cmd.Env = append(cmd.Env, "TZ="+zone)
	}
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
func (c *child) live() (why string, err error) {
	closeFile := func(f *os.File) { _ = f.Close() }
	cmd, host, far, err := c.command()
	defer host.each(closeFile)
	if err == nil {
		err = c.load()
	}
	var serial int
	if err == nil {
		serial, err = c.p.keeper.start(start{cmd: cmd, o: &c.p.o, memoryMax: c.p.limits.MemoryMax, use: c.use})
	}
	far.each(closeFile)
	if err != nil {
		return "", err
	}
	count := c.process.Counters
	count.ScriptProcesses.Add(1)
	defer count.ScriptProcesses.Add(-1)
	var all sync.WaitGroup
	write := func(level script.Level, file string, row int, text string) {
		c.say(level, file, row, strings.ReplaceAll(text, c.p.files.game, bundle.Root))
	}
	stderr := &lines{stream: "stderr", level: script.LevelError, write: write, dropped: &count.LogLinesDropped}
	stdout := &lines{stream: "stdout", level: script.LevelInfo, write: write, dropped: &count.LogLinesDropped}
	all.Go(func() { c.queue.run(host.in) })
	all.Go(func() { c.read(host.out) })
	all.Go(func() { stdout.run(host.stdout) })
	all.Go(func() { stderr.run(host.stderr) })
	why = c.watch(cmd, serial)
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
	case stderr.fatal != "":
		why = fmt.Sprintf("node ended (%v): %s", cmd.ProcessState, stderr.fatal)
	default:
		why = fmt.Sprintf("node ended (%v)", cmd.ProcessState)
	}
	return why, nil
}

// watch waits for the end of the process, and kills it if requested. In that case it returns the reason.
func (c *child) watch(cmd *exec.Cmd, serial int) (why string) {
	gone := make(chan struct{})
	go func() {
		awaitEnd(cmd)
		close(gone)
	}()
	pid := cmd.Process.Pid
	ticker := time.NewTicker(c.watchdog.every())
	defer ticker.Stop()
	closing, kills := c.closing, c.kills
	for {
		select {
		case <-gone:
			killGroup(pid) // kill the processes that the child has started
			killMarked(c.p.keeper.tag, serial)
			c.p.keeper.ended(serial)
			reap(cmd)
			return why
		case <-closing:
			closing, kills = nil, nil
			killGroup(pid)
		case why = <-kills:
			kills = nil
			killGroup(pid)
		case <-ticker.C:
			if kills != nil { // otherwise the process is already being killed
				c.look()
			}
		}
	}
}

func (c *child) look() {
	c.mu.Lock()
	stuck, ask := c.watchdog.look(time.Now())
	c.mu.Unlock()
	switch {
	case stuck:
		if len(c.kills) == 0 {
			c.process.Counters.ScriptInterrupts.Add(1)
		}
		c.kill(fmt.Sprintf("the script did not answer within %v: it is likely in a loop without end (the embedded engine would say where)", c.p.limits.Callback))
	case ask:
		_ = c.put(toConfirm, nil) // if the queue is full, the process is killed anyway
	}
}

// use checks the resource usage of the child's processes against the limits. The keeper calls it.
func (c *child) use(u usage) {
	cpu := c.cpu.add(time.Now(), u.cpu)
	memory, most := c.p.limits.MemoryMax, c.p.bounds
	switch {
	case memory > 0 && u.rss > memory+memoryOfNode:
		c.kill(fmt.Sprintf("the script takes %d MiB of memory, more than %d MiB", (u.rss-memoryOfNode)>>20, memory>>20))
	case cpu > most.cpu:
		c.kill(fmt.Sprintf("the script took %v of processor time within %v, more than %v", cpu.Round(10*time.Millisecond), cpuWindow, most.cpu))
	case u.processes > most.processes:
		c.kill(fmt.Sprintf("the script has %d processes, more than %d", u.processes, most.processes))
	}
}

func (c *child) load() error {
	metadata, err := c.p.metadata(c.process.Fleet)
	if err != nil {
		return err
	}
	data, err := json.Marshal(map[string]any{
		"entry": c.p.entry, "game": c.p.files.game, "metadata": metadata, "args": append([]string{}, c.process.Args...), "nodeVersion": c.p.nodeVersion,
		"logLevel": c.process.Log.Threshold(), "tickMs": c.p.limits.Tick.Milliseconds(), "timersMax": c.p.limits.TimersMax, "keepRunning": c.p.limits.KeepRunningOnError,
	})
	if err == nil && c.put(toLoad, func(f *frame) { f.rest(data) }) != nil {
		err = errors.New("the launch parameters are too long")
	}
	return err
}

// read reads frames from the child and passes them to handle in batches.
func (c *child) read(r io.Reader) {
	buf := make([]byte, 0, readMin)
	var list []fields
	var batch []fields
	var handle func()
	handle = func() {
		if batch = c.handle(batch); len(batch) == 0 || !c.do(handle) {
			c.handled <- struct{}{}
		}
	}
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
			if batch, err = c.confirm(list); err != nil {
				c.kill(err.Error())
				return
			}
			if len(batch) == 0 {
				continue
			}
			if !c.do(handle) {
				return
			}
			select {
			case <-c.handled:
			case <-c.closing:
				return // handle may be in the middle of the batch
			}
		}
		buf = again(buf, used)
	}
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

// confirm removes acknowledgements from list and passes them to the watchdog.
func (c *child) confirm(list []fields) ([]fields, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	others := list[:0]
	for _, f := range list {
		if f.kind != fromAck {
			others = append(others, f)
		} else if !c.watchdog.confirmed(f.n, time.Now()) {
			return nil, errors.New("the process confirmed what it was not sent")
		}
	}
	return others, nil
}
