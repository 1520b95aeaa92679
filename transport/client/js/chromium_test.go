package js_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// chromium opens a page in headless Chromium until wait returns, or skips the test. The browser trusts the authorities in
// ca, a PEM file, like a browser in which a user has installed them. Without certutil, or if ca is empty, it trusts none.
func chromium(t *testing.T, url, ca string, wait func(ctx context.Context) error, flags ...string) {
	t.Helper()
	binary, err := exec.LookPath("chromium")
	if err != nil {
		missing(t, "there is no chromium: the TypeScript client is not tried in a browser")
	}
	home, err := os.MkdirTemp("", "client-js-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home) // an error is ignored: the browser may still be writing files
	if ca != "" {
		trust(t, home, ca)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--enable-logging=stderr", "--user-data-dir=" + filepath.Join(home, "profile"), url}, flags...)...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_DATA_HOME=")
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

// trust makes the browsers of a home directory trust the authorities in a file, in the way that
// `troupe tls trust` describes. It needs certutil.
func trust(t *testing.T, home, ca string) {
	t.Helper()
	dir := filepath.Join(home, ".pki", "nssdb")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"-N", "--empty-password"},
		{"-A", "-n", "troupe", "-t", "C,,", "-i", ca},
	} {
		if out, err := exec.CommandContext(t.Context(), "certutil", append([]string{"-d", "sql:" + dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("certutil %s: %v: %s", args, err, out)
		}
	}
}

// certutil reports whether certutil is installed.
func certutil() bool {
	_, err := exec.LookPath("certutil")
	return err == nil
}

// answered returns a function that waits for a value that a page posts.
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

// posted returns a handler that passes on the body of the first request.
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

// TestInChromium runs both lists in a browser. The page has another origin than the host that serves the client.
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
	ca, flags := h.Addrs().CA, []string(nil)
	if !certutil() {
		t.Log("there is no certutil (libnss3-tools): the browser is told to ignore what it thinks of certificates")
		ca, flags = "", []string{"--ignore-certificate-errors"}
	}
	chromium(t, c.server.URL+"/page.html", ca, answered(results, &output), flags...)
	if output != nil {
		judge(t, "Chromium", output, entries(t, "conformance.js", "life.js"))
	}
}
