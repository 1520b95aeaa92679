package js_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	streamMessages = flag.Int("js.messages", 1000, "messages each way in the stream")
	only           = flag.String("js.only", "", "names of the list of conformance.js, with commas; empty: all")
	required       = flag.Bool("js.required", false, "fail where Node.js or Chromium is missing, instead of skipping")
)

// listOptions are what conformance.js is told.
type listOptions struct {
	Messages int `json:"messages"`
	CutsMin  int `json:"cutsMin"`
}

func options() listOptions {
	return listOptions{Messages: *streamMessages, CutsMin: *streamMessages / 1000}
}

func names() []string {
	if *only == "" {
		return nil
	}
	return strings.Split(*only, ",")
}

// result is that of one entry of the list.
type result struct {
	Name, Error string
	Ms          int
	Figures     map[string]any
}

// judge fails for each entry that did, and tells the figures.
func judge(t *testing.T, where string, output []byte) {
	t.Helper()
	var results []result
	if err := json.Unmarshal(output, &results); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if want := max(16, len(names())); len(results) < want && *only == "" {
		t.Errorf("%s ran %d tests, want at least %d", where, len(results), want)
	}
	for _, r := range results {
		t.Run(r.Name, func(t *testing.T) {
			if r.Error != "" {
				t.Error(r.Error)
			}
			figures, _ := json.Marshal(r.Figures)
			t.Logf("%s: %d ms %s", where, r.Ms, figures)
		})
	}
}

// missing skips a test, or fails it where everything is required.
func missing(t *testing.T, reason string) {
	t.Helper()
	if *required {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// node returns the command of Node.js 20 or newer, or skips the test.
func node(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	binary, err := exec.LookPath("node")
	if err != nil {
		missing(t, "there is no node: the TypeScript client is not tried in Node.js")
	}
	version, err := exec.CommandContext(t.Context(), binary, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	number := regexp.MustCompile(`^v(\d+)\.(\d+)`).FindSubmatch(version)
	if number == nil {
		t.Fatalf("node is version %q", version)
	}
	major, _ := strconv.Atoi(string(number[1]))
	minor, _ := strconv.Atoi(string(number[2]))
	switch {
	case major < 20 || major == 20 && minor < 10:
		missing(t, "node is older than 20.10: the TypeScript client is not tried in Node.js")
	case major < 22:
		args = append([]string{"--experimental-websocket"}, args...) // it has a WebSocket, behind this flag
	}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.WaitDelay = 5 * time.Second
	cmd.Stderr = os.Stderr
	return cmd
}

// TestInNode: the list of conformance.js in Node.js.
func TestInNode(t *testing.T) {
	cmd := node(t)
	c := newControl(t)
	o, err := json.Marshal(options())
	if err != nil {
		t.Fatal(err)
	}
	cmd.Args = append(cmd.Args, append([]string{"test/node.mjs", c.server.URL, string(o)}, names()...)...)
	h, err := c.host("")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "NODE_EXTRA_CA_CERTS="+h.Addrs().CA)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	judge(t, "Node.js", out)
}
