package pagetest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Bad lists texts that no page may contain: output that html/template rejected, and references to external files.
var Bad = []string{"ZgotmplZ", "<link rel=\"stylesheet", "<script src", "@import", "url(http"}

// Opens opens a page in a browser and fails the test if the browser reports an error or does not draw the given number
// of plots. It skips the test if there is no Chromium, and with -short, because the start of the browser takes seconds
// of CPU.
func Opens(t *testing.T, path string, plots int) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts Chromium: without -short, and by make proof-page")
	}
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium on this machine, so the page is not opened")
	}
	profile, err := os.MkdirTemp("", "page-browser-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(profile) // ignore the error: the browser may still be writing
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr",
		"--user-data-dir="+profile, "--virtual-time-budget=2000", "--dump-dom", "file://"+path)
	cmd.WaitDelay = 5 * time.Second
	var dom, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &dom, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	if said := regexp.MustCompile(`(?m)^.*CONSOLE.*$`).FindAllString(log.String(), -1); len(said) > 0 {
		t.Errorf("the console says: %s", strings.Join(said, "\n"))
	}
	if want := fmt.Sprintf("data-plots=\"%d\"", plots); !strings.Contains(dom.String(), want) || strings.Count(dom.String(), "<canvas") != plots {
		t.Errorf("no %s, or %d canvases", want, strings.Count(dom.String(), "<canvas"))
	}
}
