package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"troupe/actors/script/bundle"
	"troupe/transport/host"
	"troupe/transport/transporttest/hosttest"
)

// Every block that is neither a configuration nor commands is tested in a specific way, or is listed here with the
// reason why it is not.
func TestDocumentedCode(t *testing.T) {
	for _, b := range blocks(t) {
		if b.lang == "yaml" || b.isCommand() {
			continue
		}
		t.Run(b.String(), func(t *testing.T) {
			switch is := func(lang, part string) bool { return b.lang == lang && strings.Contains(b.text, part) }; {
			case is("js", "exports.ssExports"):
				runScript(t, b)
			case is("js", "function genuine"):
				verifyInNode(t, b)
			case is("go", "func genuine"):
				verifyInGo(t, b)
			case b.lang == "go" && strings.HasPrefix(b.String(), "CONTRIBUTING.md:"):
				readFragment(t, b)
			case is("json", `"engine"`):
				readPackage(t, b)
			case is("python", "boto3"):
				runPython(t, b)
			case strings.HasPrefix(b.String(), "docs/matchmaking.md:"): // TestMatchCommands writes these blocks to files and uses them
			case b.lang == "text": // a diagram or a log line
			case is("json", `"detail-type"`): // an abridged event: there is nothing to run
				if !json.Valid([]byte(b.text)) {
					t.Error("it is not JSON")
				}
			default:
				t.Errorf("nothing is done with this block of %q: say what, or why not", b.lang)
			}
		})
	}
}

// runScript starts a host with a fleet that runs the script.
func runScript(t *testing.T, b *block) {
	c := hosttest.Config(t)
	c.Fleets[0].Script = filepath.Join(t.TempDir(), "game.js")
	if err := os.WriteFile(c.Fleets[0].Script, []byte(b.text), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) { startDocumented(t, nil, c) })
}

// readFragment parses code that is meant to be inserted somewhere: a declaration, a case, a table row or a field. It
// does not compile the code, because the code's dependencies are missing.
func readFragment(t *testing.T, b *block) {
	for _, around := range []string{"%s", "func f() { switch x { %s } }", "var x = []any{\n%s }", "type x struct { %s }"} {
		if _, err := parser.ParseFile(token.NewFileSet(), "", "package x\n"+strings.Replace(around, "%s", b.text, 1), 0); err == nil {
			return
		}
	}
	t.Errorf("it is not Go: %s", b.text)
}

// runPython runs calls of the Python SDK against a host, with the environment variables that the README exports
// earlier.
func runPython(t *testing.T, b *block) {
	long(t)
	python, err := exec.LookPath("python3")
	if err == nil {
		err = exec.CommandContext(t.Context(), python, "-c", "import boto3").Run()
	}
	if err != nil {
		t.Skipf("there is no python3 with boto3: the Python of %v was not run (%v)", b, err)
	}
	h := startDocumented(t, hosttest.System, host.Defaults())
	cmd := exec.CommandContext(t.Context(), python, "-c", b.text)
	cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+h.Addrs().APIURL, "AWS_DEFAULT_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=any", "AWS_EC2_METADATA_DISABLED=true")
	out, err := cmd.CombinedOutput()
	if err != nil || !regexp.MustCompile(`^127\.0\.0\.1 [0-9]+ psess-[0-9a-f-]+\s*$`).Match(out) {
		t.Errorf("%s, %v", out, err)
	}
}

// readPackage reads a package.json, with the file that it names next to it.
func readPackage(t *testing.T, b *block) {
	dir := t.TempDir()
	var named struct{ Main string }
	if err := json.Unmarshal([]byte(b.text), &named); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"package.json": b.text, named.Main: "exports.ssExports = { init() {} };\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read, err := bundle.FromPath(dir, bundle.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := read.Engine()
	if err != nil || engine != bundle.EngineNode {
		t.Errorf("engine %q, %v", engine, err)
	}
	if entry, err := read.Entry(""); err != nil || entry != named.Main {
		t.Errorf("it starts %q, %v", entry, err)
	}
}

// genuine is a copy of the function in docs/events. verifyInGo compares the two.
func genuine(r *http.Request, secret string) ([]byte, bool) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	want := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	return body, err == nil && hmac.Equal([]byte(want), []byte(r.Header.Get("X-Signature-256")))
}

// signature of "an event" with the secret "secret"
const signature = "sha256=f1a50adb8e096e70ec14333a4cd067b7a78b86dd1d81cc9ccdc448dda82377eb"

func verifyInGo(t *testing.T, b *block) {
	own, err := os.ReadFile("docs_code_test.go")
	if err != nil || !strings.Contains(string(own), "\n"+b.text) {
		t.Fatalf("the function of this test is another: make them alike (%v)", err)
	}
	for signed, want := range map[string]bool{signature: true, "sha256=00": false, "": false} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("an event"))
		r.Header.Set("X-Signature-256", signed)
		if body, ok := genuine(r, "secret"); ok != want || string(body) != "an event" {
			t.Errorf("%q: %v, %q", signed, ok, body)
		}
	}
}

func verifyInNode(t *testing.T, b *block) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: the JavaScript of docs/events was not run")
	}
	const rest = "\nconst body = Buffer.from('an event');\n" +
		"console.log([process.argv[1], 'sha256=00', undefined].map((h) => genuine(body, h, 'secret')).join());\n"
	out, err := exec.CommandContext(t.Context(), node, "-e", b.text+rest, signature).CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != "true,false,false" {
		t.Errorf("%s, %v", got, err)
	}
}
