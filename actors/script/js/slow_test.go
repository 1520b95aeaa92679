package js

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// After 2 s, the log tells which callback is still running, and at which position.
func TestACallThatStillRunsIsToldOfWithItsPlace(t *testing.T) {
	for took, want := range map[time.Duration]int{time.Second: 0, 2 * time.Second: 1} {
		synctest.Test(t, func(t *testing.T) {
			g := start(t, calm(), body(`onMessage() { logger.info('slow');
				for (let i = 0; i < 1000; i++); }`))
			g.lines.during = func() { time.Sleep(took); g.lines.during = nil }
			g.handler.OnMessage(message(1, ""))
			if text := g.lines.String(); strings.Count(text, "onMessage still runs after 2s, at ") != want || g.crash != "" {
				t.Errorf("after %v: %s%s", took, text, g.crash)
			} else if want == 1 && !strings.Contains(text, ".js:4:") {
				t.Error(text)
			}
		})
	}
}
