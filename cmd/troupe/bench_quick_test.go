package main

import (
	"path/filepath"
	"strings"
	"testing"

	"troupe/bench/result"
	"troupe/bench/suite"
	"troupe/transport/transporttest/hosttest"
)

// Each workload works at its quick size, over real sockets and with real processes. Workloads that can measure a
// running host share one. A short run tests only representative workloads. Those, and the baselines of comparisons, are
// tested in testdata/script/bench.txtar.
func TestEveryWorkloadIsQuick(t *testing.T) {
	t.Parallel()
	long(t)
	shared := startHost(t, hosttest.System, hosttest.Config(t)).url
	for _, w := range suite.Workloads() {
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "r.json")
			args := []string{"bench", w.Name, "--quick", "--json", file}
			if name := likeAnother[w.Name]; name != "" {
				args = append(args, "--only", name)
			}
			if w.Against && !strings.HasPrefix(w.Name, "reconnect-") { // they cannot use KCP on a host that is already running
				args = append(args, "--against", shared)
			}
			// The figures may be invalid if the machine is busy with other tests.
			code, out, said := call(args...)
			text := out + said
			// Requests to etcd have a second, so on a busy machine calls of a cluster may fail, and its start.
			etcd := strings.HasPrefix(w.Name, "cluster-")
			if etcd && strings.Contains(said, "does not answer") {
				return
			}
			if code != 0 && code != exitVoid {
				t.Fatalf("exit code %d\n%s", code, text)
			}
			results, err := result.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range results[0].Subjects {
				if strings.Contains(text, "with the smallest load already") {
					continue // the machine is too busy for a ramp
				}
				if len(s.Figures) < 3 || len(s.Rounds) != 1 {
					t.Errorf("%s: %+v", s.Name, s)
				}
				for _, name := range []string{"failed", "lost", "duplicated"} {
					if n := s.Figures[name].Max; n != 0 && s.Name != "without acks" && !(etcd && name == "failed") {
						t.Errorf("%s: %v %s\n%s", s.Name, n, name, text)
					}
				}
				// A busy machine may lose messages of the fast channel.
				if share, ok := s.Figures["delivered_share"]; ok && share.Min < 1 && w.Name != "fast" {
					t.Errorf("%s: only %v of what was sent has arrived\n%s", s.Name, share.Min, text)
				}
			}
			if len(results[0].Goals) > 0 {
				t.Error("a quick run has judged goals")
			}
		})
	}
}

// likeAnother lists workloads of which only one subject is tested, because the others are measured as in another
// workload.
var likeAnother = map[string]string{
	"acks-stock": "troupe", "reconnect-single": "ws", "reconnect-storm": "kcp",
	"script-echo": "script", "script-hostile": "loop",
}

// A host that retains no messages must show losses. Otherwise the check for losses could not fail.
func TestWhatIsLostIsCounted(t *testing.T) {
	t.Parallel()
	long(t)
	file := filepath.Join(t.TempDir(), "r.json")
	if code, out, said := call("bench", "reconnect-single", "--quick", "--only", "without acks", "--hz", "500", "--rate", "200", "--json", file,
		"--set", "limits.playerMessagesPerSecond=0", "--set", "limits.playerBytesPerSecond=0"); code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, out, said)
	}
	results, err := result.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f := results[0].Subjects[0].Figures
	if f["lost"].Max+f["gaps"].Max+f["failed"].Max == 0 {
		t.Errorf("nothing is kept, and nothing was lost: %v", f)
	}
}
