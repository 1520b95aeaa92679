//go:build !linux && !darwin

package main

import "os"

// terminalColumns knows no width here, so progress is told in plain lines.
func terminalColumns(*os.File) int { return 0 }
