package kcp

import kcp "github.com/xtaci/kcp-go/v5"

// When it is loaded, the library starts goroutines that schedule its own sessions. This
// package does not use those sessions.
func init() { kcp.SystemTimedSched.Close() }
