package node

import (
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"
)

func FuzzParseStat(f *testing.F) {
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(own)
	f.Add([]byte("1 (a) b) S 1 7 1 0 -1 4194560 1 2 3 4 100 50 25 25 20 0 1 0 5 1000 3 18446744073709551615"))
	f.Add([]byte("1 (z) Z 1 7 1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, ok := parseStat(b); ok && (p.cpu < 0 || p.rss < 0) {
			t.Errorf("%+v", p)
		}
	})
}

func TestParseStat(t *testing.T) {
	p, ok := parseStat([]byte("1 (a) b) S 1 7 1 0 -1 4194560 1 2 3 4 100 50 25 25 20 0 1 0 5 1000 3 18446744073709551615"))
	if !ok || p.group != 7 || p.cpu != 2*time.Second || p.rss != 3*int64(os.Getpagesize()) {
		t.Errorf("%+v, %v", p, ok)
	}
	if _, ok := parseStat([]byte("1 (z) Z 1 7 1 0 -1 4194560 1 2 3 4 100 50 25 25 20 0 1 0 5 1000 3 18446744073709551615")); ok {
		t.Error("a zombie counts")
	}
}

// The keeper of a busy machine waits for a processor while it samples. It still samples
// several times a second.
func TestABusyMachineIsNoReasonToWatchLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper()
		k.sample = func() map[int]usage {
			time.Sleep(time.Second)
			return nil
		}
		go k.run()
		cmd := exec.Command("true")
		samples := make(chan time.Time, 100)
		if err := k.start(start{cmd: cmd, o: &Options{}, use: func(usage) { samples <- time.Now() }}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for range 3 {
			<-samples
		}
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("three samples took %v", d)
		}
		awaitEnd(cmd)
		k.ended(cmd.Process.Pid)
		reap(cmd)
		k.stop()
	})
}

// What a look at all processes costs the host, four times a second while there are children.
func BenchmarkSample(b *testing.B) {
	n := 0
	for b.Loop() {
		n = len(sample())
	}
	b.ReportMetric(float64(n), "groups")
}
