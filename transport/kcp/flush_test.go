package kcp

import (
	"runtime/debug"
	"testing"

	kcpgo "github.com/xtaci/kcp-go/v5"
)

// The settings and the time of the next resend depend on a private method of this version of the library. If this test
// fails, the library was changed. Read its kcp.go before you change the version here.
func TestFlushIsTheLibrarys(t *testing.T) {
	const version = "v5.6.72"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == "github.com/xtaci/kcp-go/v5" && d.Version != version {
				t.Errorf("the library is %s, flush was read in %s", d.Version, version)
			}
		}
	}
	var out [][]byte
	k := kcpgo.NewKCP(conversation, func(b []byte, n int) { out = append(out, append([]byte(nil), b[:n]...)) })
	k.NoDelay(1, 10, 2, 1)
	k.SetMtu(packetMax)
	k.NoDelay(-1, 5000, -1, -1)
	if next := flushKCP(k, kcpgo.IKCP_FLUSH_FULL); len(out) != 0 || next != 5000 {
		t.Errorf("with nothing to send: %d packets, next %d; want 0, 5000", len(out), next)
	}
	k.Send([]byte("at once"))
	next := flushKCP(k, kcpgo.IKCP_FLUSH_FULL)
	if len(out) != 1 || string(out[0][kcpgo.IKCP_OVERHEAD:]) != "at once" {
		t.Fatalf("a message is not sent at once: %q", out)
	}
	if next < 190 || next > 200 { // KCP's timeout before the first round trip
		t.Errorf("the resend is due in %d ms, want 200", next)
	}
	if why := checkSegments(out[0]); why != 0 {
		t.Errorf("the library's own packet is refused: %s", why)
	}
	s, rest := cutSegment(out[0])
	if s.cmd != kcpgo.IKCP_CMD_PUSH || s.number != 0 || s.window != kcpgo.IKCP_WND_RCV || len(rest) != 0 {
		t.Errorf("segment %+v, %d bytes left", s, len(rest))
	}
}
