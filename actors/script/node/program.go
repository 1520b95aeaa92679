package node

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"troupe/actors/child"
	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/messages"
)

// Program is one version of a script that runs in Node.js. It is safe for concurrent use.
type Program struct {
	version     string
	nodeVersion string
	entry       string // path of the entry file
	maps        bool   // the script has source maps
	perProcess  int    // maximum number of game sessions of a process
	limits      script.Limits
	bounds      bounds
	binary      string
	o           Options
	files       *files
	keeper      *child.Keeper

	mu       sync.Mutex
	closed   bool
	children []*process        // the processes that have not ended, in order of their start
	started  int               // number of processes so far
	live     sync.WaitGroup    // counts handlers that are not closed and children that have not ended
	fleets   map[string]string // metadata directories of fleets, by a key made from the fleet's attributes
	done     chan struct{}     // closed when all children and files are gone
}

// bounds are resource limits of a game session on Linux, in addition to script.Limits.
type bounds struct {
	cpu       time.Duration // CPU time of all its processes within any cpuWindow
	processes int           // maximum number of processes at a time
}

var _ script.Program = (*Program)(nil)

// New unpacks b. entry is a launch path (bundle.Bundle.Entry). The error is ErrMissing if there is no
// Node.js.
func New(b *bundle.Bundle, entry string, limits script.Limits, o Options) (*Program, error) {
	binary, err := findNode()
	if err != nil {
		return nil, err
	}
	o.Dir = cmp.Or(o.Dir, os.TempDir())
	entry, err = b.Entry(entry)
	if err != nil {
		return nil, err
	}
	perProcess, err := b.GamesPerProcess()
	if err != nil {
		return nil, err
	}
	all, maps, err := translated(b, perProcess > 1)
	if err != nil {
		return nil, err
	}
	sweep(o.Dir)
	t := child.NewTag(o.user())
	f, err := unpack(o.Dir, b.Version, all, t, o.user().Other())
	if err != nil {
		return nil, fmt.Errorf("unpack version %s: %w", b.Version, err)
	}
	p := &Program{version: b.Version, nodeVersion: b.NodeVersion, entry: filepath.Join(f.game, filepath.FromSlash(entry)), maps: maps, perProcess: perProcess, limits: limits, bounds: bounds{15 * time.Second, 16},
		binary: binary, o: o, files: f, keeper: child.NewKeeper(t), fleets: make(map[string]string), done: make(chan struct{})}
	go p.keeper.Run()
	return p, nil
}

func (p *Program) Version() string { return p.version }

// NewHandler implements script.Program. The child is started by Load.
func (p *Program) NewHandler(process script.Process) (script.Handler, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, fmt.Errorf("version %s is closed", p.version)
	}
	p.live.Add(1)
	return newHandler(p, process), nil
}

const closeTime = 5 * time.Second // how long Close waits for children that have been killed

// Close prevents new game sessions. It waits up to 5 s for the last child to end and the files to be removed,
// so actors must not call it.
func (p *Program) Close() {
	p.mu.Lock()
	closed := p.closed
	p.closed = true
	p.mu.Unlock()
	if !closed {
		go func() {
			p.live.Wait()
			p.keeper.Stop()
			p.files.remove()
			close(p.done)
		}()
	}
	select {
	case <-p.done:
	case <-time.After(closeTime): // the rest is removed when the last game session ends
	}
}

// place gives a game session to the first process that has room, or to a new one.
func (p *Program) place(h *handler) error {
	metadata, err := p.metadata(h.process.Fleet)
	if err != nil {
		return err
	}
	load, err := h.parameters(metadata)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.children {
		if c.metadata == metadata && c.join(h, load) {
			return nil
		}
	}
	p.started++
	c := newProcess(p, p.started, metadata, h.process.Counters)
	c.join(h, load)
	p.children = append(p.children, c)
	p.live.Go(c.run)
	return nil
}

func (p *Program) pace() time.Duration {
	if p.perProcess > 1 {
		return pace
	}
	return 0
}

// forget removes a process that has ended.
func (p *Program) forget(c *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.children = slices.DeleteFunc(p.children, func(o *process) bool { return o == c })
}

// metadata returns the directory with the metadata file of a fleet. It creates the directory on the first
// call for a fleet.
func (p *Program) metadata(fleet *messages.Fleet) (string, error) {
	if fleet == nil {
		fleet = new(messages.Fleet)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := fmt.Sprintf("%q", []any{fleet.ID, fleet.Name, fleet.Description, fleet.ScriptID, fleet.LaunchPath, fleet.LaunchParams, fleet.Locations})
	if dir, ok := p.fleets[key]; ok {
		return dir, nil
	}
	dir, err := p.files.metadata(fleet, len(p.fleets)+1)
	if err == nil {
		p.fleets[key] = dir
	}
	return dir, err
}
