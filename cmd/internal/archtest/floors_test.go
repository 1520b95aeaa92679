package archtest

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// floors are the lowest allowed versions, with the reason. If you upgrade a dependency because of a flaw, add its
// version here, so that nobody downgrades it again.
var floors = []struct{ module, version, why string }{
	{"toolchain", "go1.26.11", "what binaries are built with has the standard library's fixes since 1.26.0"},
	{"github.com/asynkron/protoactor-go", "v0.0.0-20240822202345-3c0e61ca19c9", "actors/stage works around the flaws of exactly this one"},
	{"github.com/dlclark/regexp2/v2", "v2.5.2", "a match has a time limit"},
	{"github.com/dop251/goja", "v0.0.0-20260917113740-793a2a65c13b", "what actors/script/js lists as not to be interrupted was found with this one"},
	{"github.com/pion/dtls/v2", "v2.2.12", "the last of v2, and the one that the filter of transport/dtls is for"},
	{"github.com/prometheus/client_golang", "v1.11.1", "CVE-2022-21698: labels without bound from request methods"},
	{"github.com/xtaci/kcp-go/v5", "v5.6.72", "the checks of transport/kcp before Input are for this one"},
	{"go.opentelemetry.io/otel/sdk", "v1.40.0", "CVE-2026-24051: runs whatever ioreg is first on the PATH of a Mac; needed by protoactor-go"},
	{"go.yaml.in/yaml/v3", "v3.0.1", "CVE-2022-28948: a document that panics"},
	{"go.etcd.io/etcd/client/v3", "v3.7.1", "a watch of a prefix was told changes beyond the rights of its user"},
	{"golang.org/x/crypto", "v0.45.0", "CVE-2025-47914, CVE-2025-58181"},
	{"golang.org/x/net", "v0.38.0", "CVE-2025-22870, CVE-2025-22872"},
	{"golang.org/x/text", "v0.3.8", "CVE-2022-32149: a language tag that takes seconds"},
	{"google.golang.org/protobuf", "v1.33.0", "CVE-2024-24786: JSON that never ends"},
	{"modernc.org/sqlite", "v1.60.0", "the damage that actors/store finds was tried with its SQLite"},
}

// forbidden lists modules that must not be dependencies at all.
var forbidden = []struct{ module, why string }{
	{"github.com/dgrijalva/jwt-go", "CVE-2020-26160, not maintained"},
	{"gopkg.in/yaml.v2", "documents that take memory without bound"},
	{"github.com/pion/dtls", "version 1: no longer mended"},
}

// RL-215.
func TestNoDependencyIsOlderThanItsFloor(t *testing.T) {
	versions := required(t)
	for _, f := range floors {
		have, ok := versions[f.module]
		switch {
		case !ok:
			t.Errorf("%s is not needed any more: take it out of the table", f.module)
		case older(have, f.version):
			t.Errorf("%s is %s, and must be at least %s: %s", f.module, have, f.version, f.why)
		}
	}
	for _, f := range forbidden {
		if have, ok := versions[f.module]; ok {
			t.Errorf("%s %s: %s", f.module, have, f.why)
		}
	}
}

func TestVersionsAreCompared(t *testing.T) {
	rising := []string{
		"v0.0.0-20240822202345-3c0e61ca19c9", "v0.0.0-20260917113740-793a2a65c13b", "v0.3.8", "v0.38.0", "v0.45.0-rc.1", "v0.45.0", "v0.45.1", "v1.9.0", "v1.10.0", "v2.1.4+incompatible", "v10.0.0",
	}
	for i := range rising {
		for j := range rising {
			if got := older(rising[i], rising[j]); got != (i < j) {
				t.Errorf("%s older than %s: %v", rising[i], rising[j], got)
			}
		}
	}
	if older("go1.26.8", "go1.26.8") || !older("go1.26.7", "go1.26.8") || older("go1.27.0", "go1.26.8") {
		t.Error("toolchains are not compared")
	}
}

// required returns the module versions in go.mod, which lists all modules that the build needs.
func required(t *testing.T) map[string]string {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	versions := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		switch words := strings.Fields(strings.TrimPrefix(lines.Text(), "require ")); {
		case len(words) == 2 && words[0] == "toolchain":
			versions["toolchain"] = words[1]
		case len(words) >= 2 && strings.HasPrefix(words[1], "v"):
			versions[words[0]] = words[1]
		case len(words) > 0 && words[0] == "replace":
			t.Errorf("go.mod: %s: the table says nothing of what is replaced", lines.Text())
		}
	}
	if len(versions) < 20 {
		t.Fatalf("only %d versions were read", len(versions))
	}
	return versions
}

// older compares two versions. Numbers are compared by value. A pre-release, such as a pseudo-version, is older than
// the release that it precedes.
func older(a, b string) bool {
	an, apre := numbers(a)
	bn, bpre := numbers(b)
	for i := range an {
		if an[i] != bn[i] {
			return an[i] < bn[i]
		}
	}
	if apre == "" || bpre == "" {
		return apre != "" && bpre == ""
	}
	return apre < bpre
}

func numbers(version string) (n [3]int, pre string) {
	version = strings.TrimPrefix(strings.TrimPrefix(version, "go"), "v")
	version, _, _ = strings.Cut(version, "+")
	version, pre, _ = strings.Cut(version, "-")
	for i, part := range strings.SplitN(version, ".", 3) {
		n[i], _ = strconv.Atoi(part)
	}
	return n, pre
}
