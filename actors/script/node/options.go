package node

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
)

// ErrMissing says that there is no Node.js to run a script with.
var ErrMissing = errors.New("node is missing")

// Options are what the operator chooses for all scripts that run in Node.js. The zero value is ready for use.
type Options struct {
	Dir      string // where scripts are unpacked, in a new folder per program; empty: the system's folder for temporary files
	UID, GID uint32 // the user that scripts run as, if the host may change users; 0: the host's own
}

const nice = 5 // added to the scheduling priority of scripts: the host's own work goes first

// otherUser says that scripts do not run as the host's user.
func (o *Options) otherUser() bool { return o.UID != 0 || o.GID != 0 }

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
