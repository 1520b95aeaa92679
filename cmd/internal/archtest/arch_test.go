package archtest

import (
	"fmt"
	"strings"
	"testing"
)

func TestModule(t *testing.T) {
	all := load(t)
	pkgs := make(map[string]bool)
	for _, s := range all {
		pkgs[s.pkg] = true
	}
	// If the walk found nothing, every rule would hold.
	for _, p := range []string{"messages", "actors/stage", "actors/stage/stagetest", "transport/gateway", "cmd/troupe", "bench"} {
		if !pkgs[p] {
			t.Errorf("the walk did not find %s", p)
		}
	}
	large := findLarge(all)
	for name := range largeAllowed {
		if large[name].what == "" {
			t.Errorf("%s is not large: delete its row of largeAllowed", name)
		}
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, v := range r.find(all) {
				t.Errorf("%v\n\tbecause: %s", v, r.why)
			}
		})
	}
}

// tree makes sources from texts. The first line of each text is the file name.
func tree(t *testing.T, texts ...string) (all []*source) {
	t.Helper()
	for _, text := range texts {
		name, rest, _ := strings.Cut(text, "\n")
		s, err := parse(name, []byte(rest))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// one returns a file that imports a single package.
func one(file, path string) string {
	return fmt.Sprintf("%s\npackage x\n\nimport _ %q\n", file, path)
}

const paragraph = "// Package x is one that has a real comment, of the twenty words or more that a reader needs\n// to know what it is for, and what not.\n"

// Every rule must be able to fail, and must not fail for correct code.
func TestEachRuleCanFail(t *testing.T) {
	const lib = library + "/actor"
	long := func(n int) string { return "package x\n" + strings.Repeat("\n", n-1) }
	stage := func(body string) string {
		return "actors/stage/a.go\npackage stage\n\nimport pa \"" + lib + "\"\n\nfunc f(c pa.Context) { " + body + " }\n"
	}
	cases := map[string]struct{ wrong, right []string }{
		"arrows point down": {
			[]string{
				one("actors/a.go", "troupe/transport"), one("actors/x/a_test.go", "troupe/transport/gateway"), one("messages/a.go", "troupe/actors"),
				one("transport/a.go", "troupe/cmd/internal/config"), one("tools/a.go", "troupe/messages"), one("cmd/a.go", "troupe/tools"), one("a.go", "troupe/messages"),
			},
			[]string{
				one("cmd/a.go", "troupe/transport/host"), one("cmd/b.go", "troupe/messages"), one("transport/a.go", "troupe/actors"), one("transport/b.go", "troupe/transport/fast"),
				one("actors/a.go", "troupe/messages/wire"), one("bench/a.go", "troupe/cmd/internal/config"), one("messages/a.go", "troupes/transport"), one("actors/b.go", "net"),
			},
		},
		"only the command imports bench": {
			[]string{one("cmd/a.go", "troupe/bench/result"), one("transport/a_test.go", "troupe/bench"), one("cmd/troupe/internal/x/a.go", "troupe/bench")},
			[]string{one("bench/x/a.go", "troupe/bench"), one("cmd/a.go", "example.com/bench"), one("cmd/b.go", "troupe/messages"), one("cmd/troupe/a.go", "troupe/bench/x")},
		},
		"messages know nothing else": {
			[]string{one("messages/a.go", "troupe/actors"), one("messages/wire/a_test.go", "troupe/bench/loadgen")},
			[]string{one("messages/a.go", "troupe/messages/wire"), one("messages/b.go", "example.com/x")},
		},
		"transports know no actors": {
			[]string{one("transport/fast/a.go", "troupe/actors"), one("transport/gatewayx/a.go", "troupe/actors/stage"), one("transport/serviceapi/a.go", "troupe/actors/fleet")},
			[]string{one("transport/gateway/a.go", "troupe/actors/stage"), one("transport/host/a.go", "troupe/actors"), one("transport/ops/a.go", "troupe/actors"), one("transport/fast/a_test.go", "troupe/actors"), one("cmd/a.go", "troupe/actors")},
		},
		"a transport's abilities are methods of its connections": {
			[]string{
				"transport/gateway/a.go\npackage x\n\nfunc f(c transport.Conn) bool { return c.Channel() == counters.KCP }\n",
				"actors/player/a.go\npackage x\n\nfunc f(c conn) {\n\tswitch c.Channel() {\n\tcase counters.WSS:\n\t}\n}\n",
			},
			[]string{
				"transport/host/a.go\npackage x\n\nvar _ = counters.WSS\n", "transport/kcp/a.go\npackage x\n\nvar _ = counters.KCP\n",
				"actors/actorstest/a.go\npackage x\n\nvar _ = counters.WS\n", "transport/gateway/b.go\npackage x\n\nvar _ = counters.UDP\n",
			},
		},
		"the AWS wire knows no games": {
			[]string{one("transport/awswire/a.go", "troupe/messages"), one("transport/awswire/b.go", "troupe/transport/serviceapi")},
			[]string{one("transport/awswire/c.go", "net/http"), one("transport/awswire/a_test.go", "troupe/transport/awswire/awswiretest"), one("transport/serviceapi/a.go", "troupe/transport/awswire")},
		},
		"only stage knows the actor library": {
			[]string{
				one("actors/player/a.go", lib), one("actors/stage/stagetest/a.go", lib), one("bench/a_test.go", lib), one("actors/stage/a.go", library+"/remote"),
				one("actors/stage/b.go", library+"/cluster"), one("actors/stage/c_test.go", library+"/router"), "actors/stage/d.go\npackage stage\n\nimport . \"" + lib + "\"\n",
			},
			[]string{one("actors/stage/a.go", lib), one("actors/stage/a_test.go", lib)},
		},
		"etcd and gRPC stay at the edge": {
			[]string{
				one("actors/cluster/a.go", "go.etcd.io/etcd/client/v3"), one("cmd/troupe/a.go", "go.etcd.io/etcd/server/v3/embed"), one("transport/etcd/a.go", "go.etcd.io/etcd/server/v3/embed"),
				one("transport/etcd/b.go", "go.etcd.io/etcd/etcdutl/v3/snapshot"), one("transport/host/a.go", "google.golang.org/grpc"), one("messages/peer/a.go", "google.golang.org/grpc/codes"),
				one("transport/peers/a.go", "go.etcd.io/etcd/client/v3"), one("transport/host/b.go", "troupe/transport/etcd/member"),
			},
			[]string{
				one("transport/etcd/a.go", "go.etcd.io/etcd/client/v3"), one("transport/etcd/member/a.go", "go.etcd.io/etcd/server/v3/embed"), one("transport/etcd/b.go", "google.golang.org/grpc/codes"),
				one("transport/peers/a.go", "google.golang.org/grpc"),
				one("transport/etcd/a_test.go", "troupe/transport/etcd/member"), one("cmd/troupe/a.go", "troupe/transport/etcd/member"),
			},
		},
		"stage leaves the library's unsafe parts alone": {
			[]string{
				stage("_ = pa.Bounded(1)"), stage("_ = pa.BoundedDropping(1)"), stage("c.SetReceiveTimeout(1)"), stage("_ = pa.NewFuture(nil, 1)"), stage("c.RequestFuture(nil, 1, 2)"),
				stage("c.StopFuture(nil)"), stage("g := c.PoisonFuture; g(nil)"), stage("_ = pa.NewOneForOneStrategy(1, 2, nil)"), stage("_ = pa.RestartingSupervisorStrategy()"),
			},
			[]string{stage("c.Stop(nil)"), "actors/stage/b.go\npackage stage\n\nfunc (r *ring) Bounded() bool { return r.Bounded() }\n"},
		},
		"one package reaches into the JavaScript engine": {
			[]string{
				one("actors/script/js/a.go", "unsafe"), one("actors/script/js/compile/a.go", "unsafe"), "cmd/a.go\npackage x\n\nimport (\n\t_ \"github.com/dop251/goja\"\n\t_ \"unsafe\"\n)\n",
				"actors/script/js/b.go\npackage x\n\nvar _ = reflect.ValueOf(1)\n", "actors/script/js/modules/a.go\npackage x\n\nimport . \"reflect\"\n",
				"actors/script/js/c.go\npackage x\n\n//go:linkname f github.com/dop251/goja.f\nfunc f()\n",
			},
			[]string{
				one("actors/script/js/engine/a.go", "unsafe"), "actors/script/js/engine/b.go\npackage x\n\nvar _ = reflect.ValueOf(1)\n", "actors/script/js/d.go\npackage x\n\nvar _ = reflect.TypeFor[int]()\n",
				"actors/script/js/compile/b.go\npackage x\n\nvar _ = reflect.ValueOf(1)\n", one("transport/a.go", "unsafe"),
			},
		},
		"test packages stay in tests": {
			[]string{one("cmd/a.go", "troupe/actors/stage/stagetest"), one("transport/a.go", "troupe/transport/transporttest/stock"), one("bench/a.go", "troupe/actors/actorstest")},
			[]string{one("cmd/a_test.go", "troupe/actors/stage/stagetest"), one("actors/actorstest/a.go", "troupe/actors/stage/stagetest"), one("cmd/b.go", "testing"), one("cmd/c.go", "troupe/transport/tester")},
		},
		"one package comment, in doc.go": {
			[]string{
				"actors/none/a.go\npackage x\n", "actors/other/a.go\n" + paragraph + "package x\n", "actors/short/doc.go\n// Package x is short.\npackage x\n",
				"actors/two/doc.go\n" + paragraph + "package x\n", "actors/two/b.go\n// And another.\npackage x\n", "actors/name/doc.go\n// This" + paragraph[2:] + "package x\n",
				"cmd/none/main.go\npackage main\n", "cmd/tiny/main.go\n// Main.\npackage main\n",
			},
			[]string{
				"actors/x/doc.go\n" + paragraph + "package x\n", "actors/x/b.go\npackage x\n", "actors/x/b_test.go\n// Tests may say something, too.\npackage x\n",
				"cmd/x/main.go\n// Command x does this and that.\npackage main\n", "actors/only/a_test.go\npackage x\n",
			},
		},
		fmt.Sprintf("no file over %d lines", linesMax): {
			[]string{"actors/a.go\n" + long(linesMax+1)},
			[]string{"actors/a.go\n" + long(linesMax), "actors/a_test.go\n" + long(5*linesMax), "messages/a.pb.go\n// Code generated by x. DO NOT EDIT.\n\n" + long(5*linesMax)},
		},
		fmt.Sprintf("no function over %d lines, no interface of more than %d methods", funcMax, methodsMax): {
			[]string{
				"actors/a.go\npackage x\n\nfunc f() {" + strings.Repeat("\n", funcMax) + "}\n",
				"cmd/x/a.go\npackage x\n\ntype i interface {\n" + strings.Repeat("\tm()\n", methodsMax+1) + "}\n",
				"actors/y/a.go\npackage y\n\ntype i interface {\n\tj\n\tm()\n}\n\ntype j interface {\n" + strings.Repeat("\tm()\n", methodsMax) + "}\n",
			},
			[]string{
				"actors/a.go\npackage x\n\nfunc f() {" + strings.Repeat("\n", funcMax-1) + "}\n",
				"cmd/x/a.go\npackage x\n\ntype i interface {\n" + strings.Repeat("\tm()\n", methodsMax) + "}\n",
				"bench/a.go\npackage x\n\nfunc f() {" + strings.Repeat("\n", funcMax) + "}\n",
			},
		},
		"durations in the log have a unit": {
			[]string{"actors/a.go\npackage x\n\nfunc f(e event) { e.Dur(\"after\", 1) }\n", "cmd/a.go\npackage x\n\nfunc f(e event) { e.Str(\"a\", \"b\").Dur(name, 1) }\n"},
			[]string{"actors/a.go\npackage x\n\nfunc f(e event) { e.Dur(\"after_ms\", 1) }\n", "actors/a_test.go\npackage x\n\nfunc f(e event) { e.Dur(\"after\", 1) }\n"},
		},
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			c, ok := cases[r.name]
			if !ok || len(r.why) < 40 {
				t.Fatal("a rule needs a source that breaks it, and a reason")
			}
			if found := r.find(tree(t, c.right...)); len(found) != 0 {
				t.Errorf("it fails for what is right: %v", found)
			}
			found := r.find(tree(t, c.wrong...))
			at := make(map[string]bool)
			for _, v := range found {
				at[v.file] = true
				if v.line == 0 || v.what == "" {
					t.Errorf("%+v does not say where or what", v)
				}
			}
			for _, text := range c.wrong {
				file, _, _ := strings.Cut(text, "\n")
				// If two files have a package comment, the first one is reported.
				if !at[file] && file != "actors/two/b.go" {
					t.Errorf("it does not find what is wrong with %s", text)
				}
			}
			if strings.HasPrefix(c.wrong[0], "actors/stage/a.go") && len(found) != len(c.wrong) {
				t.Errorf("%d found in %d: %v", len(found), len(c.wrong), found)
			}
		})
	}
}
