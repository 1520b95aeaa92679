package node

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
)

// ErrMissing is the error for a machine without Node.js.
var ErrMissing = errors.New("node is missing")

// Options are the operator's settings for all scripts that run in Node.js. The zero value is ready for use.
type Options struct {
	Dir      string // where scripts are unpacked, each program in a new directory; "" means the system's temporary directory
	UID, GID uint32 // the user that scripts run as, if the host may change users; 0 means the host's own user
}

const nice = 5 // added to the nice value of scripts, so that the host's own work has priority

// otherUser reports whether scripts run as a different user than the host.
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
