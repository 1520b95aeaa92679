package kcp

import (
	_ "unsafe" // go:linkname

	kcpgo "github.com/xtaci/kcp-go/v5"
)

// flushKCP is (*kcp.KCP).flush. It sends everything that is due and returns the time until the
// next resend in milliseconds, at most KCP's interval. The library does not export it: the
// exported Update calls it at most every 10 ms, and a message would wait for that. The
// alternatives are a fork, or calling Input with a forged segment that causes a flush.
//
// A function without a body needs an assembly file in the package, which is why there is an
// empty one. TestFlushIsTheLibrarys fails if the library changes the function. If the
// library removes it, linking fails.
//
//go:linkname flushKCP github.com/xtaci/kcp-go/v5.(*KCP).flush
func flushKCP(k *kcpgo.KCP, kind kcpgo.FlushType) (next uint32)

// Stop the goroutines that the library starts for its own sessions, which this package does not use.
func init() { kcpgo.SystemTimedSched.Close() }
