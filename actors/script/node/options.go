package node

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"

	"troupe/actors/child"
)

// ErrMissing is the error for a machine without Node.js.
var ErrMissing = errors.New("node is missing")

// Options are the operator's settings for all scripts that run in Node.js. The zero value is ready for use.
type Options struct {
	Dir      string // where scripts are unpacked, each program in a new directory; "" means the system's temporary directory
	UID, GID uint32 // the user that scripts run as, if the host may change users; 0 means the host's own user
}

// user returns the user that scripts run as.
func (o *Options) user() child.User { return child.User{UID: o.UID, GID: o.GID} }

const (
	nice      = 5         // added to the nice value of scripts, so that the host's own work has priority
	filesMax  = 1024      // maximum number of open files of each process of a script
	dataSlack = 512 << 20 // memory that a node process may map in addition to the script's limit
)

func (p *Program) childLimits() child.Limits {
	l := child.Limits{Nice: nice, FilesMax: filesMax}
	if max := p.limits.MemoryMax; max > 0 {
		l.DataMax = uint64(max) + dataSlack
	}
	return l
}

func findNode() (string, error) {
	if runtime.GOOS == "windows" {
		return "", errors.New("scripts run in the embedded engine only on Windows: remove \"engine\": \"node\" from the script's package.json")
	}
	binary, err := exec.LookPath("node")
	if err == nil {
		binary, err = filepath.Abs(binary)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %v; install Node.js 18 or newer where PATH finds it, or remove \"engine\": \"node\" from the script's package.json to run it in the embedded engine", ErrMissing, err)
	}
	return binary, nil
}
