package child

import (
	"runtime"
	"testing"
)

func TestSampleSeesThisProcess(t *testing.T) {
	if !watches {
		t.Skip("processes are watched on Linux only")
	}
	_, all := sample(newTag(false))
	processes, rss := 0, int64(0)
	for _, u := range all {
		processes += u.Processes
		rss = max(rss, u.RSS)
	}
	if processes == 0 || rss < 1<<20 || rss > 1<<40 {
		t.Errorf("%d processes, %d bytes on %s", processes, rss, runtime.GOOS)
	}
}
