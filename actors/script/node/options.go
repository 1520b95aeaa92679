package node

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// ErrMissing says that there is no Node.js to run a script with.
var ErrMissing = errors.New("node is missing")

// Options are what the operator chooses for all scripts that run in Node.js. The
// zero value is ready for use.
type Options struct {
	// Binary is the path of the node binary; empty: the one on PATH. Version 18 at
	// least.
	Binary string
	// Dir is where scripts are unpacked, in a new folder per program; empty: the
	// system's folder for temporary files.
	Dir string
	// CPU is how much processor time all processes of a game session together may
	// take within any CPUWindow; 0 means 15 s, negative means any. On Linux only.
	CPU time.Duration
	// ProcessesMax is how many processes a game session may have at a time, its first
	// included; 0 means 16, negative any. On Linux only.
	ProcessesMax int
	// Nice is added to the scheduling priority of scripts, 0 to 19, so that the host's
	// own work goes first; 0 means 5, negative none.
	Nice int
	// UID and GID are the user that scripts run as; 0 is the host's own. The host
	// must be allowed to change users.
	UID, GID uint32
}

// CPUWindow is the time over which Options.CPU is counted.
const CPUWindow = 10 * time.Second

const (
	cpuDefault       = 15 * time.Second
	processesDefault = 16
	niceDefault      = 5
)

// otherUser says that scripts do not run as the host's user.
func (o *Options) otherUser() bool { return o.UID != 0 || o.GID != 0 }

// filled returns o with defaults in place of zeros.
func (o Options) filled() (Options, error) {
	if runtime.GOOS == "windows" {
		return o, errors.New("scripts run in the embedded engine only on Windows: remove \"engine\": \"node\" from the script's package.json")
	}
	o.CPU = cmp.Or(o.CPU, cpuDefault)
	o.ProcessesMax = cmp.Or(o.ProcessesMax, processesDefault)
	o.Nice = min(max(cmp.Or(o.Nice, niceDefault), 0), 19)
	o.Dir = cmp.Or(o.Dir, os.TempDir())
	binary, err := exec.LookPath(cmp.Or(o.Binary, "node"))
	if err == nil {
		binary, err = filepath.Abs(binary)
	}
	if err != nil {
		return o, fmt.Errorf("%w: %v; install Node.js 18 or newer where PATH finds it, or remove \"engine\": \"node\" from the script's package.json to run it in the embedded engine", ErrMissing, err)
	}
	o.Binary = binary
	return o, nil
}
