package js_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"
)

// chromium opens a page in headless Chromium until the test has what it wants from it, or skips the test.
func chromium(t *testing.T, url string, wait func(ctx context.Context) error) {
	t.Helper()
	binary, err := exec.LookPath("chromium")
	if err != nil {
		missing(t, "there is no chromium: the TypeScript client is not tried in a browser")
	}
	profile, err := os.MkdirTemp("", "client-js-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(profile) // what the browser still writes stays
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	// The certificate is that of a host's own CA; what the browser thinks of it is not what is tested.
	cmd := exec.CommandContext(ctx, binary, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--ignore-certificate-errors", "--enable-logging=stderr", "--user-data-dir="+profile, url)
	cmd.WaitDelay = 5 * time.Second
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waiting, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		stop()
	}()
	if err := wait(waiting); err != nil {
		t.Errorf("%v", err)
		defer func() { t.Logf("the browser says: %s", &log) }()
	}
	cancel()
	<-ended
}

// answered waits for a value that a page posts.
func answered[T any](got <-chan T, into *T) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case *into = <-got:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("the page posts nothing: %w", ctx.Err())
		}
	}
}

// posted is a handler that passes on what is posted to it.
func posted(to chan<- []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		select {
		case to <- body:
		default: // only the first one counts
		}
	}
}

// TestInChromium: both lists in a browser. The page is of another origin than the host that serves the client.
func TestInChromium(t *testing.T) {
	c := newControl(t)
	h, err := c.host("")
	if err != nil {
		t.Fatal(err)
	}
	results := make(chan []byte, 1)
	c.answers("plan", func(question) (any, error) {
		return map[string]any{"client": h.Addrs().APIURL + "/client.js", "parts": "/parts.mjs", "options": options(), "names": names()}, nil
	})
	c.mux.HandleFunc("POST /result", posted(results))
	inside := parts(t)
	c.mux.HandleFunc("GET /parts.mjs", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, inside) })
	c.mux.Handle("GET /", http.FileServer(http.Dir("test")))
	var output []byte
	chromium(t, c.server.URL+"/page.html", answered(results, &output))
	if output != nil {
		judge(t, "Chromium", output, entries(t, "conformance.js", "life.js"))
	}
}
