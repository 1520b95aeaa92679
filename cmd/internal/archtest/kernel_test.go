package archtest

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// kernelParts lists the test files that open kernel sockets or start processes, and what can be tested only in that
// way. All other tests use an in-memory network and virtual time. The tests in these files wait for events; a timeout
// of minutes only bounds a hang.
var kernelParts = map[string]string{
	"actors/script/js/sweep_linux_test.go":                "the address space of a process",
	"actors/script/js/hostile_test.go":                    "scripts that may end the process have one of their own",
	"actors/script/js/modules/compare_test.go":            "Node.js says what its modules do",
	"actors/script/node/limits_test.go":                   "Node.js, and what a script starts there",
	"actors/child/ends_linux_test.go":                     "SIGKILL, threads and limits of processes",
	"actors/child/sys_linux_test.go":                      "marks and reaping of processes",
	"actors/serverprocess/launch/ends_linux_test.go":      "SIGKILL of a host, and what its game servers leave",
	"actors/serverprocess/launch/launcher_test.go":        "processes, their environment, signals and output",
	"actors/store/kill_test.go":                           "SIGKILL of a process that writes",
	"bench/faults/cgroup_linux_test.go":                   "control groups",
	"bench/faults/disk_linux_test.go":                     "system calls of a child that seccomp hands over",
	"bench/faults/pairs_linux_test.go":                    "/proc, which says whose socket it is",
	"bench/faults/path_test.go":                           "RST, and the port of a UDP socket",
	"bench/server/relay_test.go":                          "epoll, and how the kernel cuts a stream into reads",
	"bench/server/usage_test.go":                          "figures of processes in /proc",
	"cmd/internal/dist/main_test.go":                      "systemd judges the unit",
	"cmd/internal/dist/make_test.go":                      "make builds a release",
	"cmd/internal/mutants/lab_test.go":                    "go test runs tests of source with a bug in it",
	"cmd/troupe/bench_quick_test.go":                      "workloads of processes, over the kernel's sockets",
	"cmd/troupe/completion_test.go":                       "bash completes a command line",
	"cmd/troupe/docs_code_test.go":                        "python3, node and aws run what documents show",
	"cmd/troupe/docs_commands_test.go":                    "the shell runs what documents show",
	"cmd/troupe/dumpable_linux_test.go":                   "the environment of a process in /proc",
	"cmd/troupe/etcd_test.go":                             "SIGKILL of a member of etcd",
	"cmd/troupe/image_linux_test.go":                      "the image in an empty root folder",
	"cmd/troupe/newgame_test.go":                          "npm, tsc and node with what a new game is made of",
	"cmd/troupe/packaging_cluster_linux_test.go":          "systemd judges the units",
	"cmd/troupe/packaging_linux_test.go":                  "systemd, buildah and sh with what documents show",
	"cmd/troupe/top_linux_test.go":                        "a terminal, its size and its signals",
	"docs/gohost/main_test.go":                            "the example is a program",
	"docs/servers/example/build_test.go":                  "a host starts the example from an archive, as another user",
	"docs/servers/example/gosdk_test.go":                  "a program with the Server SDK of Amazon",
	"docs/servers/example/launched_test.go":               "a host starts the example itself",
	"docs/servers/example/main_test.go":                   "the example is a program",
	"transport/etcd/etcd_test.go":                         "three members of etcd and their sockets",
	"transport/client/game_test.go":                       "a host on the kernel's sockets for kernel_test.go",
	"transport/client/js/chromium_test.go":                "Chromium",
	"transport/client/js/conformance_test.go":             "Node.js",
	"transport/client/js/example_test.go":                 "Chromium plays the example",
	"transport/client/js/hosts_test.go":                   "hosts that Node.js and Chromium reach",
	"transport/client/js/pack_test.go":                    "npm packs the client",
	"transport/client/js/proxy_test.go":                   "cuts of connections of Node.js and Chromium",
	"transport/client/kernel_test.go":                     "RST, ICMP and the client's own sockets",
	"transport/dtls/interop_test.go":                      "OpenSSL and GnuTLS",
	"transport/dtls/unread_linux_test.go":                 "what waits in a socket",
	"transport/fast/checks_test.go":                       "addresses that the kernel takes",
	"transport/fast/main_test.go":                         "sendmmsg, UDP_SEGMENT, both families on one socket",
	"transport/fast/write_test.go":                        "sendmmsg",
	"transport/host/console_browser_test.go":              "Chromium",
	"transport/host/console_cost_test.go":                 "Chromium, and the CPU of a host beside it",
	"transport/host/crash_test.go":                        "a crash of a process",
	"transport/host/operations_test.go":                   "promtool",
	"transport/peers/kernel_test.go":                      "how the kernel refuses and resets connections",
	"transport/serviceapi/processes_test.go":              "the aws command line and the SDKs of AWS in their languages",
	"transport/tlsconf/rotate_test.go":                    "openssl reads the certificates",
	"transport/transporttest/acceptance/ends_test.go":     "the aws command line",
	"transport/transporttest/acceptance/harness_test.go":  "hosts that OpenSSL, GnuTLS, Node.js and aws reach",
	"transport/transporttest/acceptance/stopped_test.go":  "SIGSTOP and SIGCONT of a host",
	"transport/transporttest/acceptance/stuck_test.go":    "a call that nothing ends has a process of its own",
	"transport/transporttest/memnet/stream_test.go":       "TCP, which streams in memory are compared with",
	"transport/transporttest/stock/secured_linux_test.go": "OpenSSL",
	"transport/transporttest/stories/drivers_test.go":     "the SDK for JavaScript and the aws command line",
	"transport/transporttest/stories/story_test.go":       "hosts that Node.js reaches",
	"transport/websocket/client_test.go":                  "RST, and the kernel's buffers",
	"transport/websocket/sockets_linux_test.go":           "socket options, RST, and what the kernel knows of a peer",
}

// kernelCalls are the calls that identify such a file.
var kernelCalls = map[string][]string{
	"net":      {"Listen", "ListenUDP", "ListenTCP", "ListenPacket", "Dial", "DialTimeout", "DialUDP", "DialTCP"},
	"httptest": {"NewServer", "NewTLSServer", "NewUnstartedServer"},
	"exec":     {"Command", "CommandContext"},
	"hosttest": {"System"}, "transport": {"System"},
}

// callsKernel returns the first of these calls in a file, or "".
func callsKernel(s *source) (found string) {
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && found == "" {
			if x, ok := sel.X.(*ast.Ident); ok && slices.Contains(kernelCalls[x.Name], sel.Sel.Name) {
				found = x.Name + "." + sel.Sel.Name
			}
		}
		return found == ""
	})
	return found
}

func TestKernelParts(t *testing.T) {
	seen := 0
	for _, s := range load(t) {
		if !strings.HasSuffix(s.file, "_test.go") {
			continue
		}
		call, listed := callsKernel(s), kernelParts[s.file] != ""
		switch {
		case call != "" && !listed:
			t.Errorf("%s calls %s: use a network in memory (memnet, hosttest), or say in kernelParts what only a kernel or another program shows", s.file, call)
		case call == "" && listed:
			t.Errorf("%s calls no kernel: delete its row of kernelParts", s.file)
		}
		if listed {
			seen++
		}
	}
	if seen != len(kernelParts) {
		t.Errorf("%d of %d files of kernelParts exist", seen, len(kernelParts))
	}
}

func TestKernelPartsCanFail(t *testing.T) {
	for text, want := range map[string]string{
		"a_test.go\npackage a\nimport \"net\"\nvar l, _ = net.Listen(\"tcp\", \":0\")\n": "net.Listen",
		"a_test.go\npackage a\nvar l, _ = world.net.Listen(\"tcp\", \":0\")\n":           "",
		"a_test.go\npackage a\nvar o = host.Options{Network: hosttest.System}\n":         "hosttest.System",
	} {
		if got := callsKernel(tree(t, text)[0]); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
