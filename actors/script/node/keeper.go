package node

import (
	"errors"
	"os/exec"
	"runtime"
	"time"
)

// sampleInterval is the minimum time between two samples of the children's resource usage. A sample reads
// data of every process of the system, which takes 20 us of CPU time each. With thousands of processes,
// samples become rarer, so that they use at most 1/sampleShare of a processor. The time during which the
// keeper waits for a processor does not count.
const (
	sampleInterval = 250 * time.Millisecond
	sampleShare    = 50
)

var errStopped = errors.New("the program is closed")

// keeper starts all children of a program from one locked thread, because the kernel kills them when their
// parent thread ends (attributes). It also reports their resource usage to them.
type keeper struct {
	tag    tag
	starts chan start
	ends   chan int // serial numbers of ended children
	stops  chan struct{}
	over   chan struct{}
	launch func(s start, t tag, serial int) (pid int, err error)
	sample func(tag) (marked, groups map[int]usage)
}

type start struct {
	cmd       *exec.Cmd
	o         *Options
	memoryMax int64
	use       func(usage) // called by the keeper with each sample until the child's end; must not block
	result    chan started
}

// started is the result of a start request.
type started struct {
	serial int
	err    error
}

type running struct {
	pid int
	use func(usage)
}

func newKeeper(t tag) *keeper {
	return &keeper{tag: t, starts: make(chan start), ends: make(chan int), stops: make(chan struct{}), over: make(chan struct{}), launch: launch, sample: sample}
}

func (k *keeper) run() {
	defer close(k.over)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ticker := time.NewTicker(sampleInterval)
	defer ticker.Stop()
	ticker.Stop()
	children, serial := make(map[int]running), 0
	for {
		select {
		case <-k.stops:
			return
		case s := <-k.starts:
			serial = serial%serialMax + 1
			pid, err := k.launch(s, k.tag, serial)
			if err == nil {
				if len(children) == 0 && watches {
					ticker.Reset(sampleInterval)
				}
				children[serial] = running{pid, s.use}
			}
			s.result <- started{serial, err}
		case ended := <-k.ends:
			if delete(children, ended); len(children) == 0 {
				ticker.Stop()
			}
		case <-ticker.C:
			before := threadTime()
			marked, groups := k.sample(k.tag)
			ticker.Reset(max(sampleInterval, sampleShare*(threadTime()-before)))
			for serial, c := range children {
				c.use(marked[serial].plus(groups[c.pid]))
			}
		}
	}
}

// launch starts a child with its limits and its mark.
func launch(s start, t tag, serial int) (pid int, err error) {
	s.cmd.SysProcAttr = attributes(s.o, t, serial)
	if err := s.cmd.Start(); err != nil {
		return 0, err
	}
	tame(s.cmd.Process.Pid, s.memoryMax, t, serial)
	return s.cmd.Process.Pid, nil
}

// stop ends run. All children must have ended before.
func (k *keeper) stop() {
	close(k.stops)
	<-k.over
}

func (k *keeper) start(s start) (int, error) {
	s.result = make(chan started, 1)
	select {
	case k.starts <- s:
		r := <-s.result
		return r.serial, r.err
	case <-k.over:
		return 0, errStopped
	}
}

// ended reports the end of a child. It must be called before the kernel can reuse the process ID.
func (k *keeper) ended(serial int) {
	select {
	case k.ends <- serial:
	case <-k.over:
	}
}
