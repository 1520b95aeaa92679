//go:build !unix

package node

import (
	"errors"
	"io/fs"
	"os"
)

// On these systems no host runs scripts in Node.js (findNode).

func lock(string) (*os.File, error) { return nil, errors.ErrUnsupported }
func own(fs.FileInfo) bool          { return false }
