package ops

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

// Metrics are gathered at most once a second and never concurrently, however many clients request them.
func TestMetricsAreGatheredOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var times, under atomic.Int64
		p := newMetricsPage(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if under.Add(1) > 1 || r.Header.Get("Accept-Encoding") != "" {
				t.Error("two at a time, or compressed for one of them")
			}
			time.Sleep(300 * time.Millisecond)
			under.Add(-1)
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			fmt.Fprint(w, times.Add(1))
		}))
		ask := func() string {
			r := httptest.NewRequest("GET", "/metrics", nil)
			r.Header.Set("Accept-Encoding", "gzip")
			w := httptest.NewRecorder()
			p.ServeHTTP(w, r)
			text, _ := io.ReadAll(w.Body)
			if w.Code != 200 || w.Header().Get("Content-Type") != "text/plain; version=0.0.4" {
				t.Errorf("%d %v", w.Code, w.Header())
			}
			return string(text)
		}
		for second := 1; second <= 3; second++ {
			var all sync.WaitGroup
			for range 100 {
				all.Go(func() {
					if got := ask(); got != fmt.Sprint(second) {
						t.Errorf("second %d: %s", second, got)
					}
				})
			}
			all.Wait()
			time.Sleep(metricsLife)
		}
	})
}

// A client that requests selected metrics does not affect the responses of others.
func TestMetricsOfAQueryAreNotKept(t *testing.T) {
	p := newMetricsPage(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.URL.RawQuery)) }))
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest("GET", "/metrics?name[]=x", nil))
	if w.Body.Len() != 0 {
		t.Errorf("gathered for %q", w.Body)
	}
}

// An archive is complete if the log was read to its end, or if waiting for the end of a running game
// session's log timed out.
func TestArchiveOfALogThatDoesNotEnd(t *testing.T) {
	for err, whole := range map[error]bool{io.EOF: true, context.DeadlineExceeded: true, context.Canceled: false, errors.New("disk"): false} {
		w := httptest.NewRecorder()
		l := &Logs{now: time.Now}
		l.sendZip(w, io.MultiReader(strings.NewReader("a line\n"), iotest.ErrReader(err)), "x.log")
		_, bad := zip.NewReader(bytes.NewReader(w.Body.Bytes()), int64(w.Body.Len()))
		if (bad == nil) != whole {
			t.Errorf("%v: %v", err, bad)
		}
	}
}
