package ops

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func getPage(t *testing.T, mux *http.ServeMux, path string) *httptest.ResponseRecorder {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if strings.Contains(path, "/profile?") {
		cancel() // ends the profile: the runtime's own reader of profiles would stop virtual time in a bubble
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil))
	return w
}

func TestProfilesAreThoseOfPprof(t *testing.T) {
	mux := http.NewServeMux()
	registerProfiles(mux)
	for page, takes := range map[string]time.Duration{"heap": 0, "allocs": 0, "goroutine": 0, "block": 0, "mutex": 0, "heap?seconds=1": time.Second, "block?seconds=2": 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			if isProfile(t, page, getPage(t, mux, "/debug/pprof/"+page)); time.Since(start) != takes {
				t.Errorf("%s takes %v", page, time.Since(start))
			}
		})
	}
	isProfile(t, "profile", getPage(t, mux, "/debug/pprof/profile?seconds=30"))
	if w := getPage(t, mux, "/debug/pprof/"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "goroutine?debug=1") {
		t.Errorf("index: %d %s", w.Code, w.Body)
	}
	if w := getPage(t, mux, "/debug/pprof/cmdline"); w.Code != http.StatusNotFound {
		t.Errorf("the command line, which may hold secrets: %d %s", w.Code, w.Body)
	}
	for _, bad := range []string{"profile?seconds=301", "heap?seconds=1e9", "trace?seconds=-1", "block?seconds=x", "mutex?seconds=NaN"} {
		if w := getPage(t, mux, "/debug/pprof/"+bad); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", bad, w.Code, w.Body)
		}
	}
}

func isProfile(t *testing.T, page string, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code != http.StatusOK {
		t.Errorf("%s: %d %s", page, w.Code, w.Body)
	} else if z, err := gzip.NewReader(w.Body); err != nil {
		t.Errorf("%s is no profile: %v", page, err)
	} else if text, err := io.ReadAll(z); err != nil || !bytes.Contains(text, []byte("nanoseconds")) && !bytes.Contains(text, []byte("count")) {
		t.Errorf("%s is no profile: %d bytes, %v", page, len(text), err)
	}
}

// TestContentionIsSampledWhileSomebodyWaits: the mutex profile is empty unless sampling was on during the
// contention.
func TestContentionIsSampledWhileSomebodyWaits(t *testing.T) {
	c := new(contentionProfiling)
	c.begin()
	c.begin()
	c.end()
	if c.users != 1 {
		t.Errorf("%d users", c.users)
	}
	if was := runtime.SetMutexProfileFraction(-1); was != mutexFraction {
		t.Errorf("off before the last user left: %d", was)
	}
	c.end()
	if was := runtime.SetMutexProfileFraction(-1); was != 0 {
		t.Errorf("still on: %d", was)
	}
}

var large []byte

func TestRuntimePageIsMadeAnew(t *testing.T) {
	mux := http.NewServeMux()
	registerProfiles(mux)
	read := func() (f RuntimeFigures) {
		w := getPage(t, mux, "/debug/runtime")
		if err := json.NewDecoder(w.Body).Decode(&f); err != nil || w.Code != http.StatusOK {
			t.Fatal(w.Code, err)
		}
		return f
	}
	const objects = "/gc/heap/allocs:objects"
	a := read()
	large = make([]byte, 1<<20) // large, because the runtime counts small allocations later
	b := read()
	if a.Process.PID != os.Getpid() || a.Process.Go != runtime.Version() || a.Process.Processors < 1 {
		t.Errorf("process: %+v", a.Process)
	}
	if runtime.GOOS == "linux" && (a.Process.UserSeconds+a.Process.SystemSeconds <= 0 || a.Process.ResidentBytes < 1<<20) {
		t.Errorf("times or memory: %+v", a.Process)
	}
	if a.Runtime[objects] <= 0 || b.Runtime[objects] <= a.Runtime[objects] {
		t.Errorf("%v objects, then %v", a.Runtime[objects], b.Runtime[objects])
	}
	if _, ok := a.Runtime["/sched/latencies:seconds#p99"]; !ok {
		t.Error("histograms are missing")
	}
}

func TestQuantileOfRuntimeHistograms(t *testing.T) {
	h := &metrics.Float64Histogram{Counts: []uint64{0, 90, 9, 1}, Buckets: []float64{math.Inf(-1), 1, 2, 4, math.Inf(1)}}
	for share, want := range map[float64]float64{0.5: 2, 0.9: 2, 0.99: 4, 1: 4} {
		if got := quantile(h, share); got != want {
			t.Errorf("%v is %v, want %v", share, got, want)
		}
	}
	if quantile(&metrics.Float64Histogram{Counts: []uint64{0}, Buckets: []float64{0, 1}}, 0.5) != 0 {
		t.Error("a quantile of nothing")
	}
}
