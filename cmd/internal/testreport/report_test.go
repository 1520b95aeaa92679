package main

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// events are what go test -json says of four packages: one that passes with skips,
// one that fails, one that does not build, one without tests.
const events = `{"Action":"build-output","ImportPath":"x/c","Output":"c.go:2: undefined: y\n"}
{"Action":"build-fail","ImportPath":"x/c"}
{"Action":"output","Package":"x/a","Output":"-test.shuffle 1\n"}
{"Action":"output","Package":"x/a","Test":"TestOK","Output":"=== RUN   TestOK\n"}
{"Action":"output","Package":"x/a","Test":"TestOK","Output":"    a_test.go:3: noise\n"}
{"Action":"pass","Package":"x/a","Test":"TestOK","Elapsed":0.05}
{"Action":"output","Package":"x/b","Test":"TestBad","Output":"    b_test.go:3: it is bad\n"}
{"Action":"output","Package":"x/a","Test":"TestBoth/node","Output":"=== CONT  TestBoth/node\n"}
{"Action":"output","Package":"x/a","Test":"TestBoth/node","Output":"    a_test.go:7: first\n"}
{"Action":"output","Package":"x/a","Test":"TestBoth/node","Output":"    a_test.go:8: no node here\n"}
{"Action":"output","Package":"x/a","Test":"TestBoth/node","Output":"    --- SKIP: TestBoth/node (0.00s)\n"}
{"Action":"skip","Package":"x/a","Test":"TestBoth/node"}
{"Action":"pass","Package":"x/a","Test":"TestBoth"}
{"Action":"output","Package":"x/a","Test":"TestSilent","Output":"--- SKIP: TestSilent (0.00s)\n"}
{"Action":"skip","Package":"x/a","Test":"TestSilent"}
{"Action":"output","Package":"x/a","Output":"PASS\n"}
{"Action":"output","Package":"x/a","Output":"testreport: CPU 0.25\n"}
{"Action":"output","Package":"x/a","Output":"ok  \tx/a\t0.1s\n"}
{"Action":"pass","Package":"x/a","Elapsed":0.1}
{"Action":"output","Package":"x/c","Output":"FAIL\tx/c [build failed]\n"}
{"Action":"fail","Package":"x/c"}
{"Action":"output","Package":"x/d","Output":"?   \tx/d\t[no test files]\n"}
{"Action":"skip","Package":"x/d"}
{"Action":"output","Package":"x/b","Output":"before all\n"}
{"Action":"output","Package":"x/b","Test":"TestBad","Output":"--- FAIL: TestBad (0.00s)\n"}
{"Action":"fail","Package":"x/b","Test":"TestBad"}
{"Action":"output","Package":"x/b","Output":"FAIL\tx/b\t0.1s\n"}
{"Action":"fail","Package":"x/b"}
go: said by go itself
`

const reported = `c.go:2: undefined: y
ok  	x/a	0.1s
FAIL	x/c [build failed]
?   	x/d	[no test files]
    b_test.go:3: it is bad
--- FAIL: TestBad (0.00s)
before all
FAIL	x/b	0.1s
go: said by go itself
skipped:
  x/a: a_test.go:8: no node here: TestBoth/node
  x/a: no reason given: TestSilent
CPU and wall time of the test binaries, in s:
    0.25     0.10  x/a
    0.25     0.10  all 1 packages
the slowest tests, in s:
    0.05  x/a TestOK
    0.00  x/a TestBoth
    0.00  x/a TestSilent
    0.00  x/b TestBad
`

func run(t *testing.T, in string) (string, bool) {
	t.Helper()
	var text strings.Builder
	out := bufio.NewWriter(&text)
	failed, err := report(strings.NewReader(in), out)
	if err != nil {
		t.Fatal(err)
	}
	out.Flush()
	return text.String(), failed
}

func TestReport(t *testing.T) {
	if got, failed := run(t, events); got != reported || !failed {
		t.Errorf("failed: %v, got\n%s", failed, got)
	}
	good, _, _ := strings.Cut(events[strings.Index(events, `{"Action":"output"`):], `{"Action":"output","Package":"x/c"`)
	if got, failed := run(t, good); failed || !strings.HasPrefix(got, "ok  \tx/a") {
		t.Errorf("failed: %v, got\n%s", failed, got)
	}
}

func TestReportNamesAFew(t *testing.T) {
	const in = `{"Action":"skip","Package":"x","Test":"T3"}
{"Action":"skip","Package":"x","Test":"T1"}
{"Action":"skip","Package":"x","Test":"T5"}
{"Action":"skip","Package":"x","Test":"T2"}
{"Action":"skip","Package":"x","Test":"T4"}
`
	if got, _ := run(t, in); got != "skipped:\n  x: no reason given: T1, T2, T3, T4, and 1 more\n" {
		t.Error(got)
	}
}

func FuzzReport(f *testing.F) {
	f.Add(events)
	f.Add(`{"Action":"skip"}`)
	f.Add("{}\n{\nx")
	f.Fuzz(func(t *testing.T, in string) {
		_, failed := run(t, in)
		for line := range strings.Lines(in) {
			var e event
			if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &e) == nil && e.Action == "fail" && !failed {
				t.Errorf("%q is no failure", in)
			}
		}
	})
}
