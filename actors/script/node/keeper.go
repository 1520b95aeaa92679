package node

import (
	"errors"
	"os/exec"
	"runtime"
	"time"
)

// sampleInterval is the minimum time between two samples of what children use. It bounds
// by how much a child may exceed a limit before it is ended. A sample reads every process
// of the system, 20 us of processor time each: with thousands of processes, samples are
// rarer, so that they take at most one part in sampleShare of a processor. Time in which
// the keeper only waited for a processor does not count: a busy machine is no reason to
// watch less.
const (
	sampleInterval = 250 * time.Millisecond
	sampleShare    = 50
)

var errStopped = errors.New("the program is closed")

// keeper starts the children of a program, all from one thread, which it keeps: the
// system ends a child with the thread that started it (attributes). And it tells
// children what they use.
type keeper struct {
	starts chan start
	ends   chan int // process ids
	stops  chan struct{}
	over   chan struct{}
	sample func() map[int]usage
}

type start struct {
	cmd       *exec.Cmd
	o         *Options
	memoryMax int64
	use       func(usage) // called by the keeper until the end; must not block
	result    chan error
}

func newKeeper() *keeper {
	return &keeper{starts: make(chan start), ends: make(chan int), stops: make(chan struct{}), over: make(chan struct{}), sample: sample}
}

func (k *keeper) run() {
	defer close(k.over)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ticker := time.NewTicker(sampleInterval)
	defer ticker.Stop()
	ticker.Stop()
	children := make(map[int]func(usage))
	for {
		select {
		case <-k.stops:
			return
		case s := <-k.starts:
			err := s.cmd.Start()
			if err == nil {
				tame(s.cmd.Process.Pid, s.o, s.memoryMax)
				if len(children) == 0 && watches {
					ticker.Reset(sampleInterval)
				}
				children[s.cmd.Process.Pid] = s.use
			}
			s.result <- err
		case pid := <-k.ends:
			if delete(children, pid); len(children) == 0 {
				ticker.Stop()
			}
		case <-ticker.C:
			before := threadTime()
			all := k.sample()
			ticker.Reset(max(sampleInterval, sampleShare*(threadTime()-before)))
			for pid, use := range children {
				use(all[pid])
			}
		}
	}
}

// stop ends run, when all children have ended.
func (k *keeper) stop() {
	close(k.stops)
	<-k.over
}

// start starts a child.
func (k *keeper) start(s start) error {
	s.result = make(chan error, 1)
	select {
	case k.starts <- s:
		return <-s.result
	case <-k.over:
		return errStopped
	}
}

// ended tells that a child is gone, before its process id can be another's.
func (k *keeper) ended(pid int) {
	select {
	case k.ends <- pid:
	case <-k.over:
	}
}
