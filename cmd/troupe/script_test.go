package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"troupe/transport/host"
)

func TestMain(m *testing.M) {
	// The scripts mostly wait for hosts. A -parallel of the command line comes after this one.
	if err := flag.Set("test.parallel", strconv.Itoa(max(5, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"troupe": main})
}

// patience is how long a step of a script may take before it counts as failed.
const patience = time.Minute

// TestScript runs the scripts of testdata/script. Beside the commands of
// testscript they have:
//
//	announced FILE          wait for an announcement; sets API, WS, FAST, WSS, DTLS, KCP and CA
//	http PATH STATUS [RE]   wait until GET PATH of $API has the status, and a body that matches
//	metric NAME VALUE       wait until a metric of $API has the value
//	logged STATE            wait for a game session with a log that is running or has ended; sets SESSION to its last part
//	shown 'ARGS' RE         wait until troupe with these arguments prints a line that matches
//	said FILE RE            wait until a file has a line that matches
//	measured ARGS...        run troupe bench; whether goals hold and whether this machine sends in time does not matter
//	signal NAME N           send a signal to the Nth background command, unless it is over
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("TROUPE_LOG_GAMESESSIONS_DIR", filepath.Join(e.WorkDir, "logs"))
			e.Setenv("TROUPE_STORE_MEMORY", "true")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"announced": announced, "http": httpGet, "logged": logged, "metric": metric, "signal": sendSignal, "said": said, "shown": shown, "measured": measured,
		},
	})
}

func measured(ts *testscript.TestScript, neg bool, args []string) {
	plain(ts, neg, args, 1, 100)
	err := ts.Exec("troupe", append([]string{"bench"}, args...)...)
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && (exit.ExitCode() == exitFailure || exit.ExitCode() == exitVoid)) {
		ts.Fatalf("troupe bench: %v", err)
	}
}

// until waits for a condition that tells why it is not yet true.
func until(ts *testscript.TestScript, what string, why func() error) {
	deadline := time.Now().Add(patience)
	for {
		err := why()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s: not within %v: %v", what, patience, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func plain(ts *testscript.TestScript, neg bool, args []string, least, most int) {
	if neg || len(args) < least || len(args) > most {
		ts.Fatalf("wrong use; see TestScript")
	}
}

func announced(ts *testscript.TestScript, neg bool, args []string) {
	plain(ts, neg, args, 1, 1)
	until(ts, "announcement", func() error {
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		if err != nil {
			return err
		}
		var a host.Announcement
		if err := json.Unmarshal(text, &a); err != nil {
			ts.Fatalf("half an announcement: %q", text)
		}
		ts.Setenv("API", a.API)
		ts.Setenv("WS", a.WS)
		ts.Setenv("FAST", a.Fast)
		ts.Setenv("WSS", a.WSS)
		ts.Setenv("DTLS", a.DTLS)
		ts.Setenv("KCP", a.KCP)
		ts.Setenv("CA", a.CA)
		return nil
	})
}

// get reads one page.
func get(url string) (status int, body string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

func httpGet(ts *testscript.TestScript, neg bool, args []string) {
	plain(ts, neg, args, 2, 3)
	re := regexp.MustCompile("")
	if len(args) == 3 {
		re = regexp.MustCompile(args[2])
	}
	until(ts, "GET "+args[0], func() error {
		status, body, err := get("http://" + ts.Getenv("API") + args[0])
		if err != nil {
			return err
		}
		if strconv.Itoa(status) != args[1] || !re.MatchString(body) {
			return fmt.Errorf("status %d, %q", status, body)
		}
		return nil
	})
}

func logged(ts *testscript.TestScript, neg bool, args []string) {
	plain(ts, neg, args, 1, 1)
	until(ts, "log of a game session", func() error {
		_, body, err := get("http://" + ts.Getenv("API") + "/debug/gamesession-log")
		if err != nil {
			return err
		}
		for line := range strings.Lines(body) {
			if fields := strings.Fields(line); len(fields) > 1 && fields[1] == args[0] {
				ts.Setenv("SESSION", path.Base(fields[0]))
				return nil
			}
		}
		return fmt.Errorf("none is %s: %q", args[0], body)
	})
}

// metric waits for a metric, or a sum of metrics a+b, to be a whole number.
func metric(ts *testscript.TestScript, neg bool, args []string) {
	plain(ts, neg, args, 2, 2)
	wanted := strings.Split(args[0], "+")
	until(ts, args[0], func() error {
		_, body, err := get("http://" + ts.Getenv("API") + "/metrics")
		if err != nil {
			return err
		}
		sum, found := 0, 0
		for line := range strings.Lines(body) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			if n, err := strconv.Atoi(value); err == nil && slices.Contains(wanted, name) {
				sum, found = sum+n, found+1
			}
		}
		if found < len(wanted) || strconv.Itoa(sum) != args[1] {
			return fmt.Errorf("%d of %d are there, together %d", found, len(wanted), sum)
		}
		return nil
	})
}

func said(ts *testscript.TestScript, neg bool, args []string) {
	plain(ts, neg, args, 2, 2)
	re := regexp.MustCompile("(?m)" + args[1])
	until(ts, args[1], func() error {
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil && !re.Match(text) {
			err = fmt.Errorf("it says:\n%s", text)
		}
		return err
	})
}

func shown(ts *testscript.TestScript, neg bool, args []string) {
	plain(ts, neg, args, 2, 2)
	re := regexp.MustCompile("(?m)" + args[1])
	until(ts, args[1], func() error {
		err := ts.Exec("troupe", strings.Fields(args[0])...)
		if out := ts.ReadFile("stdout"); err == nil && !re.MatchString(out) {
			err = fmt.Errorf("it prints:\n%s", out)
		}
		return err
	})
}

func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	plain(ts, neg, args, 2, 2)
	sig, ok := map[string]os.Signal{"TERM": syscall.SIGTERM, "INT": os.Interrupt, "HUP": syscall.SIGHUP}[args[0]]
	n, err := strconv.Atoi(args[1])
	running := ts.BackgroundCmds()
	if !ok || err != nil || n < 1 || n > len(running) {
		ts.Fatalf("no such signal or command: %v of %d", args, len(running))
	}
	if err := running[n-1].Process.Signal(sig); !errors.Is(err, os.ErrProcessDone) {
		ts.Check(err)
	}
}
