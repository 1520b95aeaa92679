package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rs/zerolog"

	"troupe/transport/host"
)

// serial makes testscript run its scripts sequentially, because the commands that they run in this process share its
// working directory and its environment.
type serial struct{ *testing.T }

func (serial) Parallel()     {}
func (serial) Verbose() bool { return testing.Verbose() }

func (s serial) Run(name string, do func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) { do(serial{t}) })
}

// processes are the background commands of a script, by name.
type processes map[string]*process

// TestScript runs the scripts in testdata/script. In addition to the commands of testscript, they have:
//
//	troupe [<FILE] ARGS...  run troupe in this process; with &NAME& at the end, run it in the background
//	ended NAME [CODE]       wait until a background command has ended, with an exit code
//	signal SIGNAL NAME      send a signal to a background command or, with a number, to the Nth background process
//	said NAME.out|NAME.err RE, said FILE RE
//	                        wait until the output or the file contains a line that matches
//	variable NAME=VALUE...  set variables for commands in this process and for others
//	announced FILE          wait for an announce file; sets API, WS, FAST, WSS, DTLS, KCP and CA
//	http PATH STATUS [RE]   wait until GET PATH of $API returns the status and a body that matches
//	metric NAME VALUE       wait until a metric of $API has the value
//	logged STATE            wait for a game session with a log that is running or has ended; sets SESSION to its last part
//	shown 'ARGS' RE         wait until troupe with these arguments prints a line that matches
//	measured ARGS...        run troupe bench; ignores missed goals and a generator that is late
func TestScript(t *testing.T) {
	testscript.RunT(serial{t}, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			t, level, begun := e.T().(serial).T, zerolog.GlobalLevel(), processes{}
			e.Values["processes"], e.Values["test"] = begun, t
			t.Chdir(e.WorkDir)
			for name, value := range map[string]string{
				"HOME": e.WorkDir, "TROUPE_LOG_GAMESESSIONS_DIR": filepath.Join(e.WorkDir, "logs"), "TROUPE_STORE_MEMORY": "true", asTroupe: os.Getenv(asTroupe),
			} {
				e.Setenv(name, value)
				t.Setenv(name, value)
			}
			e.Defer(func() {
				for _, p := range begun {
					p.stop(t)
				}
				zerolog.SetGlobalLevel(level) // a host has changed it
			})
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"troupe": here, "ended": ended, "variable": variable,
			"announced": announced, "http": httpGet, "logged": logged, "metric": metric, "signal": sendSignal, "said": said, "shown": shown, "measured": measured,
		},
	})
}

// begun returns the background commands of a script.
func begun(ts *testscript.TestScript) processes { return ts.Value("processes").(processes) }

// here runs troupe in this process.
func here(ts *testscript.TestScript, neg bool, args []string) {
	in := ""
	if len(args) > 0 && strings.HasPrefix(args[0], "<") {
		in, args = ts.ReadFile(args[0][1:]), args[1:]
	}
	if last := len(args) - 1; last >= 0 && len(args[last]) > 2 && args[last][0] == '&' {
		name := strings.Trim(args[last], "&")
		if begun(ts)[name] != nil {
			ts.Fatalf("%s is begun already", name)
		}
		begun(ts)[name] = begin(strings.NewReader(in), args[:last]...)
		return
	}
	code := run(args, streams{in: strings.NewReader(in), out: ts.Stdout(), err: ts.Stderr()})
	if (code != 0) != neg {
		ts.Fatalf("exit code %d", code)
	}
}

func ended(ts *testscript.TestScript, neg bool, args []string) {
	plain(ts, neg, args, 1, 2)
	p := begun(ts)[args[0]]
	if p == nil {
		ts.Fatalf("nothing is begun as %s", args[0])
	}
	code := p.wait(ts)
	delete(begun(ts), args[0])
	fmt.Fprint(ts.Stdout(), &p.out)
	fmt.Fprint(ts.Stderr(), &p.err)
	if want := append(args, "0")[1]; strconv.Itoa(code) != want {
		ts.Fatalf("exit code %d, want %s", code, want)
	}
}

func variable(ts *testscript.TestScript, neg bool, args []string) {
	plain(ts, neg, args, 1, 100)
	for _, pair := range args {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			ts.Fatalf("%s is not NAME=VALUE", pair)
		}
		ts.Setenv(name, value)
		ts.Value("test").(*testing.T).Setenv(name, value)
	}
}

func measured(ts *testscript.TestScript, neg bool, args []string) {
	plain(ts, neg, args, 1, 100)
	code := run(append([]string{"bench"}, args...), streams{in: strings.NewReader(""), out: ts.Stdout(), err: ts.Stderr()})
	if code != 0 && code != exitFailure && code != exitVoid {
		ts.Fatalf("troupe bench: exit code %d", code)
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
		for name, p := range begun(ts) {
			select {
			case <-p.ended:
				if p.code != 0 {
					ts.Fatalf("%s has ended: %s", name, &p.err)
				}
			default:
			}
		}
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

// get requests a page.
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

// metric waits until a metric, or a sum of metrics a+b, has a whole number as its value.
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
		text, err := printedTo(ts, args[0])
		if err == nil && !re.Match(text) {
			err = fmt.Errorf("it says:\n%s", text)
		}
		return err
	})
}

// printedTo returns the output of a command so far, or the content of a file.
func printedTo(ts *testscript.TestScript, name string) ([]byte, error) {
	command, stream, _ := strings.Cut(name, ".")
	if p := begun(ts)[command]; p != nil && stream == "out" {
		return []byte(p.out.String()), nil
	} else if p != nil && stream == "err" {
		return []byte(p.err.String()), nil
	}
	return os.ReadFile(ts.MkAbs(name))
}

func shown(ts *testscript.TestScript, neg bool, args []string) {
	plain(ts, neg, args, 2, 2)
	re := regexp.MustCompile("(?m)" + args[1])
	until(ts, args[1], func() error {
		if code, out, said := call(strings.Fields(args[0])...); code != 0 || !re.MatchString(out) {
			return fmt.Errorf("exit code %d, it prints:\n%s%s", code, out, said)
		}
		return nil
	})
}

func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	plain(ts, neg, args, 2, 2)
	sig, ok := map[string]os.Signal{"TERM": syscall.SIGTERM, "INT": os.Interrupt, "HUP": syscall.SIGHUP}[args[0]]
	if p := begun(ts)[args[1]]; ok && p != nil {
		p.signal(sig)
		return
	}
	n, err := strconv.Atoi(args[1])
	running := ts.BackgroundCmds()
	if !ok || err != nil || n < 1 || n > len(running) {
		ts.Fatalf("no such signal or command: %v of %d", args, len(running))
	}
	if err := running[n-1].Process.Signal(sig); !errors.Is(err, os.ErrProcessDone) {
		ts.Check(err)
	}
}
