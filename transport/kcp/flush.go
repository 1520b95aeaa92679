package kcp

import (
	_ "unsafe" // go:linkname

	kcpgo "github.com/xtaci/kcp-go/v5"
)

// flushKCP is (*kcp.KCP).flush, which sends what is due and returns the time to
// the next resend in milliseconds, at most KCP's interval. The library keeps it
// to itself: outside, only Update calls it, at most every 10 ms, which is what a
// message would wait for. The alternatives are a fork, or an Input of a forged
// segment that happens to flush.
//
// A bodiless function needs an assembly file beside it, which is why there is an
// empty one. TestFlushIsTheLibrarys fails when the library changes it; when it is
// gone, nothing links.
//
//go:linkname flushKCP github.com/xtaci/kcp-go/v5.(*KCP).flush
func flushKCP(k *kcpgo.KCP, kind kcpgo.FlushType) (next uint32)
