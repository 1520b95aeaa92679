package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/bench/result"
	"troupe/bench/suite"
	"troupe/transport/host"
)

// Each workload of the table works at its quick size, over real sockets and with real processes. Those that can measure a host
// that runs already share one; that and what it is compared with are in testdata/script/bench.txtar.
func TestEveryWorkloadIsQuick(t *testing.T) {
	t.Parallel()
	troupe, err := exec.LookPath("troupe") // see TestMain
	if err != nil {
		t.Fatal(err)
	}
	shared := benchedHost(t, troupe)
	for _, w := range suite.Workloads() {
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "r.json")
			args := []string{"bench", w.Name, "--quick", "--json", file}
			if name := likeAnother[w.Name]; name != "" {
				args = append(args, "--only", name)
			}
			if w.Against && !strings.HasPrefix(w.Name, "reconnect-") { // of a host that runs already they know no KCP
				args = append(args, "--against", shared)
			}
			// A machine that is busy with other tests may be too slow to prove something.
			var exit *exec.ExitError
			text, err := exec.Command(troupe, args...).CombinedOutput()
			switch {
			case errors.As(err, &exit) && exit.ExitCode() == exitUsage && bytes.Contains(text, []byte("it needs a network namespace")):
				t.Skipf("%s", text)
			case err != nil && !(errors.As(err, &exit) && exit.ExitCode() == exitVoid):
				t.Fatalf("%v\n%s", err, text)
			}
			results, err := result.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range results[0].Subjects {
				if bytes.Contains(text, []byte("with the smallest load already")) {
					continue // the ramp has nothing to tell on a machine that is so busy
				}
				if len(s.Figures) < 3 || len(s.Rounds) != 1 {
					t.Errorf("%s: %+v", s.Name, s)
				}
				for _, name := range []string{"failed", "lost", "duplicated"} {
					if n := s.Figures[name].Max; n != 0 && s.Name != "without acks" {
						t.Errorf("%s: %v %s\n%s", s.Name, n, name, text)
					}
				}
				// Of the fast channel a busy machine may lose something.
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

// likeAnother are workloads whose other subjects are measured as those of another workload are. One of them is enough.
var likeAnother = map[string]string{
	"acks-4x50": "troupe", "acks-stock": "troupe", "kcp-loss-0": "wss", "kcp-loss-1": "kcp", "reconnect-single": "ws", "reconnect-storm": "kcp",
	"script-echo": "script", "script-hostile": "loop",
}

// A host that keeps nothing must show: a check that cannot fail is none.
func TestWhatIsLostIsCounted(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "r.json")
	troupe, err := exec.LookPath("troupe") // see TestMain
	if err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command(troupe, "bench", "reconnect-single", "--quick", "--only", "without acks", "--hz", "500", "--rate", "200", "--json", file,
		"--set", "limits.playerMessagesPerSecond=0", "--set", "limits.playerBytesPerSecond=0").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
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

// benchedHost starts a host for players who all come from one address.
func benchedHost(t *testing.T, troupe string) (api string) {
	dir := t.TempDir()
	file := filepath.Join(dir, "addresses.json")
	args := []string{"serve", "--announce", file}
	for _, set := range []string{
		"api.addr=127.0.0.1:0", "websocket.addr=127.0.0.1:0", "fast.addr=127.0.0.1:0", "wss.addr=", "dtls.addr=", "kcp.addr=", "store.memory=true",
		"limits.unauthenticatedPerIP=0", "limits.connectionsPerIPPerSecond=0", "limits.loginFailuresPerIPPerMinute=0", "log.gameSessions.dir=" + dir,
		"drain.grace=0s",
	} {
		args = append(args, "--set", set)
	}
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, troupe, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = patience
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		var a host.Announcement
		text, err := os.ReadFile(file)
		if err == nil && json.Unmarshal(text, &a) == nil && a.API != "" {
			return "http://" + a.API
		}
		if time.Now().After(deadline) {
			t.Fatal("the host did not start")
		}
	}
}
