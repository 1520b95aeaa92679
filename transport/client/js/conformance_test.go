package js_test

import (
	"encoding/hex"
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
	only           = flag.String("js.only", "", "names of entries of the lists, with commas; empty: all")
	required       = flag.Bool("js.required", false, "fail where Node.js or Chromium is missing, instead of skipping")
)

// listOptions are passed to the list in conformance.js.
type listOptions struct {
	Messages int `json:"messages"`
	CutsMin  int `json:"cutsMin"`
	// Package is the npm package whose WebSocket the client uses. If empty, it is that of the platform.
	Package string `json:"package,omitempty"`
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

// result is the outcome of one check of conformance.js.
type result struct {
	Name, Error string
	Ms          int
	Figures     map[string]any
}

// judge fails the test for each entry that failed, and for each entry of all that was not run. It logs the figures.
func judge(t *testing.T, where string, output []byte, all []string) {
	t.Helper()
	var results []result
	if err := json.Unmarshal(output, &results); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	ran := map[string]bool{}
	for _, r := range results {
		ran[r.Name] = true
	}
	for _, name := range all {
		if !ran[name] && *only == "" {
			t.Errorf("%s did not run %s", where, name)
		}
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

// missing skips a test. It fails the test if -required is set.
func missing(t *testing.T, reason string) {
	t.Helper()
	if *required {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// wholeOnly skips a test with -short. TestInNode and TestInChromium are enough for make test.
func wholeOnly(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("one more process of Node.js or Chromium: without -short")
	}
}

// node returns a command for Node.js 20 or newer, or skips the test. Versions before 22 have a WebSocket only
// with a flag, which the command then sets.
func node(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	binary, major := nodeVersion(t)
	if major < 22 {
		args = append([]string{"--experimental-websocket"}, args...)
	}
	return command(t, binary, args...)
}

func command(t *testing.T, binary string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.WaitDelay = 5 * time.Second
	cmd.Stderr = os.Stderr
	return cmd
}

// nodeVersion returns the program and the version of Node.js. It skips the test if Node.js is missing or too old.
func nodeVersion(t *testing.T) (binary string, major int) {
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
	major, _ = strconv.Atoi(string(number[1]))
	minor, _ := strconv.Atoi(string(number[2]))
	if major < 20 || major == 20 && minor < 10 {
		missing(t, "node is older than 20.10: the TypeScript client is not tried in Node.js")
	}
	return binary, major
}

// inNode runs the lists with a command of Node.js. If parts is empty, it runs only the list against a real host.
func inNode(t *testing.T, cmd *exec.Cmd, parts string, options listOptions) []byte {
	t.Helper()
	c := newControl(t)
	o, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Args = append(cmd.Args, append([]string{"test/node.mjs", c.server.URL, parts, string(o)}, names()...)...)
	h, err := c.host("")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "NODE_EXTRA_CA_CERTS="+h.Addrs().CA)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return out
}

// TestInNode runs both lists in Node.js, and compares the client's decoder with package wire.
func TestInNode(t *testing.T) {
	cmd := node(t)
	units, seed := units(t)
	var in strings.Builder
	for _, unit := range units {
		in.WriteString(hex.EncodeToString(unit) + "\n")
	}
	cmd.Stdin = strings.NewReader(in.String())
	results, decoded, _ := strings.Cut(string(inNode(t, cmd, parts(t), options())), "\n")
	judge(t, "Node.js", []byte(results), entries(t, "conformance.js", "life.js"))
	t.Run("decoders", func(t *testing.T) { bothDecodersAgree(t, decoded, units, seed) })
}

// TestInNodeWithThePackageWS runs the list of conformance.js with the option WebSocket. Node.js has no WebSocket of its
// own then, as the README describes for Node.js 20.
func TestInNodeWithThePackageWS(t *testing.T) {
	wholeOnly(t)
	binary, major := nodeVersion(t)
	if _, err := os.Stat("node_modules/ws"); err != nil {
		missing(t, "the npm package ws is not in node_modules (make js installs it): the option WebSocket is not tried")
	}
	cmd := command(t, binary)
	if major >= 22 {
		cmd.Args = append(cmd.Args, "--no-experimental-websocket")
	}
	o := options()
	o.Package = "ws"
	judge(t, "Node.js with ws", inNode(t, cmd, "", o), entries(t, "conformance.js"))
}
