package node

import (
	"os"
	"testing"
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

// What a look at all processes costs the host, four times a second while there are children.
func BenchmarkSample(b *testing.B) {
	n := 0
	for b.Loop() {
		n = len(sample())
	}
	b.ReportMetric(float64(n), "groups")
}
