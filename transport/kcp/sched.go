package kcp

import kcp "github.com/xtaci/kcp-go/v5"

// The library starts a scheduler for sessions of its own, a few goroutines, when
// it is loaded. Nothing here uses those sessions.
func init() { kcp.SystemTimedSched.Close() }
