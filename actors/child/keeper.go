package child

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
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

// ErrStopped is the error of a Keeper that was stopped.
var ErrStopped = errors.New("no more processes are started")

// Keeper starts all children from one locked thread, because the kernel kills them when their parent thread
// ends (attributes). It also reports their resource usage to them. It is safe for concurrent use.
type Keeper struct {
	tag    Tag
	starts chan request
	ends   chan int // serial numbers of ended children
	stops  chan struct{}
	over   chan struct{}
	launch func(s Start, t Tag, serial int) (pid int, err error)
	sample func(Tag) (marked, groups map[int]Usage)
}

type request struct {
	Start
	result chan started
}

// started is the result of a request.
type started struct {
	serial int
	err    error
}

type running struct {
	pid int
	use func(Usage)
}

// NewKeeper returns a Keeper whose children carry a tag. Run must be called.
func NewKeeper(t Tag) *Keeper {
	return &Keeper{tag: t, starts: make(chan request), ends: make(chan int), stops: make(chan struct{}), over: make(chan struct{}), launch: launch, sample: sample}
}

// Run serves the Keeper until Stop.
func (k *Keeper) Run() {
	defer close(k.over)
	runtime.LockOSThread() // for ever: the thread ends, because nothing else may run on it after confine
	ticker := time.NewTicker(sampleInterval)
	defer ticker.Stop()
	ticker.Stop()
	children, serial, watched := make(map[int]running), 0, 0
	for {
		select {
		case <-k.stops:
			return
		case s := <-k.starts:
			serial = serial%serialMax + 1
			pid, err := k.launch(s.Start, k.tag, serial)
			if err == nil {
				if children[serial] = (running{pid, s.Use}); s.Use != nil {
					if watched++; watched == 1 && watches {
						ticker.Reset(sampleInterval)
					}
				}
			}
			s.result <- started{serial, err}
		case ended := <-k.ends:
			if children[ended].use != nil {
				watched--
			}
			if delete(children, ended); watched == 0 {
				ticker.Stop()
			}
		case <-ticker.C:
			before := threadTime()
			marked, groups := k.sample(k.tag)
			ticker.Reset(max(sampleInterval, sampleShare*(threadTime()-before)))
			for serial, c := range children {
				if c.use != nil {
					c.use(marked[serial].Plus(groups[c.pid]))
				}
			}
		}
	}
}

// launch starts a child with its limits and its mark.
func launch(s Start, t Tag, serial int) (pid int, err error) {
	if s.User.Other() {
		confine()
	}
	s.Cmd.SysProcAttr = attributes(&s, t, serial)
	if err := startMarked(t, serial, s.Cmd.Start); err != nil {
		return 0, err
	}
	tame(s.Cmd.Process.Pid, s.Limits, t, serial)
	return s.Cmd.Process.Pid, nil
}

// Stop ends Run. All children must have ended before.
func (k *Keeper) Stop() {
	close(k.stops)
	<-k.over
}

// Start starts a child. The error is ErrStopped after Stop.
func (k *Keeper) Start(s Start) (*Process, error) {
	serial, err := k.start(s)
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: s.Cmd, keeper: k, serial: serial, gone: make(chan struct{}), empty: make(chan struct{}), buried: make(chan struct{})}
	go func() {
		awaitEnd(p.cmd)
		close(p.gone)
	}()
	return p, nil
}

func (k *Keeper) start(s Start) (serial int, err error) {
	q := request{s, make(chan started, 1)}
	select {
	case k.starts <- q:
		r := <-q.result
		return r.serial, r.err
	case <-k.over:
		return 0, ErrStopped
	}
}

// ended reports the end of a child. It must be called before the kernel can reuse the process ID.
func (k *Keeper) ended(serial int) {
	select {
	case k.ends <- serial:
	case <-k.over:
	}
}

// Process is a child that was started. Bury must be called once, after Gone.
type Process struct {
	cmd    *exec.Cmd
	keeper *Keeper
	serial int
	gone   chan struct{}
	empty  chan struct{}
	buried chan struct{}
}

// Gone is closed when the child has ended.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// restInterval is how often what a child has left behind is looked at.
const restInterval = 50 * time.Millisecond

// Empty returns a channel that is closed when all that the child has started has ended, too, and whether it has already.
// It must be called once, after Gone and before Bury.
func (p *Process) Empty() (empty <-chan struct{}, now bool) {
	r := p.rest()
	if !r.lives() {
		close(p.empty)
		return p.empty, true
	}
	go func() {
		for r.lives() {
			select {
			case <-time.After(restInterval):
			case <-p.buried:
				return
			}
		}
		close(p.empty)
	}()
	return p.empty, false
}

// Marked reports whether the child carries its mark. If not, because the host may not set or read it in this container,
// what leaves the child's process group outlives it. It must be called before Bury.
func (p *Process) Marked() bool { return p.keeper.tag.marks(p.cmd.Process.Pid, p.serial) }

func (p *Process) rest() *rest {
	return &rest{tag: p.keeper.tag, serial: p.serial, group: p.cmd.Process.Pid}
}

// Ask sends SIGTERM to the child and all that it has started. It must not be called after Bury.
func (p *Process) Ask() {
	signalGroup(p.cmd.Process.Pid, syscall.SIGTERM)
	p.rest().ask()
}

// Kill kills the child's process group. It must not be called after Bury.
func (p *Process) Kill() { signalGroup(p.cmd.Process.Pid, syscall.SIGKILL) }

// Bury kills what the child has started and left behind, and returns how the child has ended. Until then the
// kernel does not use its process id again.
func (p *Process) Bury() *os.ProcessState {
	select {
	case <-p.empty: // a search costs time
	default:
		p.Kill()
		KillMarked(p.keeper.tag, p.serial)
	}
	close(p.buried)
	p.keeper.ended(p.serial)
	reap(p.cmd)
	return p.cmd.ProcessState
}
