package host

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// At its next successful start, the host logs why the previous process crashed, and keeps the report. An
// orderly end leaves no report.
func TestACrashIsToldAtTheNextStart(t *testing.T) {
	const crashes = "TROUPE_TEST_CRASHES"
	if path := os.Getenv(crashes); path != "" {
		(&Store{Path: path}).lastCrash(zerolog.Nop())
		go panic("so it does")
		select {}
	}
	store := &Store{Path: filepath.Join(t.TempDir(), "state.db")}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), crashes+"="+store.Path)
	if out, err := child.CombinedOutput(); err == nil {
		t.Fatalf("it did not crash: %s", out)
	}
	var log bytes.Buffer
	for i, want := range []string{"panic: so it does", "panic: so it does", ""} {
		if why := store.lastCrash(zerolog.New(&log)); why != want {
			t.Errorf("start %d: %q, want %q", i, why, want)
		}
		store.endCrashOutput(i == 0)
	}
	if strings.Count(log.String(), `"why":"panic: so it does"`) != 2 {
		t.Errorf("log: %s", log.String())
	}
	if report, err := os.ReadFile(store.Path + lastCrashSuffix); err != nil || !bytes.Contains(report, []byte("goroutine ")) {
		t.Errorf("%v, report: %s", err, report)
	}
	if _, err := os.Stat(store.Path + crashSuffix); err == nil {
		t.Error("an end in order has left a file")
	}
}

func TestTheLineOfAReportThatSaysWhy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report")
	for text, want := range map[string]string{
		"": "", "\n": "fatal error",
		"SIGQUIT: quit\nPC=0x40816e m=0 sigcode=0\n\ngoroutine 1 gp=0x1 m=0 mp=0x5 [running]:\nsyscall.Kill(0x27?, 0x0?)\n":                                                                               "",
		"SIGABRT: abort\nPC=0x40816e m=0 sigcode=0\n\ngoroutine 1 gp=0x1 m=0 mp=0x5 [running]:\nsyscall.Kill(0x27?, 0x0?)\n":                                                                              "",
		"SIGSEGV: segmentation violation\nPC=0x40816e m=0 sigcode=1 addr=0x4733\n\ngoroutine 1 gp=0x1 m=0 mp=0x5 [running]:\nmain.main()\n":                                                               "SIGSEGV: segmentation violation",
		"\ngoroutine 3 gp=0x1 m=7 [running]:\nruntime.throw({0x1c21cda?, 0x800000?})\n\t/go/panic.go:1229 +0x48\ncreated by runtime.gcBgMarkStartWorkers in goroutine 1\n\t/go/mgc.go:1 +0x1\n":           "fatal error",
		"\ngoroutine 168 gp=0x1 m=7 [running]:\nruntime.throw({0x1c21cda?, 0x800000?})\n\t/go/panic.go:1229 +0x48\ngithub.com/dop251/goja.(*Runtime).list({0x1, 0x2})\n\t/goja/a.go:2 +0x29\nmain.main()": "fatal error in goja.(*Runtime).list",
		"panic: " + strings.Repeat("é", 200) + "\n\ngoroutine 1 [running]:\nmain.main()":                                                                                                                  "panic: " + strings.Repeat("é", 96),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if why := crashIn(path); why != want {
			t.Errorf("%q: %q, want %q", text, why, want)
		}
	}
}
