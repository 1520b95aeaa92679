package faults

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// The same seed always produces the same plan. Another seed produces another plan.
func TestSeedMakesThePlan(t *testing.T) {
	t.Parallel()
	for _, p := range append(Scenarios(), Matrix()...) {
		one := p.Expand(1, 8)
		if len(one) == 0 || !reflect.DeepEqual(one, p.Expand(1, 8)) {
			t.Errorf("%s: %v, then %v", p.Name, one, p.Expand(1, 8))
		}
		for i, e := range one {
			if e.At+e.For > p.Length || i > 0 && e.At < one[i-1].At || e.Player >= 8 || (e.Player < 0) != e.Fault.onHost() {
				t.Errorf("%s: %+v", p.Name, e)
			}
		}
	}
	p, err := Find("flappy")
	if err != nil {
		t.Fatal(err)
	}
	if reflect.DeepEqual(p.Expand(1, 8), p.Expand(2, 8)) {
		t.Error("the seed changes nothing")
	}
	if quick := p.quick(); quick.Length != p.Length/quickFactor || quick.Faults[0].At != p.Faults[0].At/quickFactor || p.Faults[0].At < Duration(time.Second) {
		t.Errorf("quick: %+v of %+v", quick, p)
	}
}

// An invalid plan is rejected with a single sentence that gives the line.
func TestPlansThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"{at: 1s, fault: silence, target: all}":                               `silence needs "for": how long it lasts`,
		"{at: 1s, fault: reset, target: all, for: 1s}":                        `reset happens at once: leave "for" and "upto" out`,
		"{at: 1s, fault: rain, target: all, for: 1s}":                         `there is no fault "rain": it must be one of silence, link`,
		"{at: 1s, fault: silence, target: host, for: 1s}":                     "the target of silence must be all, half or one",
		"{at: 1s, fault: silence, for: 1s}":                                   "the target of silence must be all, half or one",
		"{at: 1s, fault: stall, target: all, for: 1s}":                        "the target of stall must be host",
		"{at: 1s, fault: silence, target: all, for: 5s}":                      "the fault is not over at the end of the plan, whose length is 4s: it may last until 6s",
		"{at: 1s, fault: reset, target: all, times: 2, every: 5s}":            "the fault is not over at the end",
		"{at: 1s, fault: reset, target: all, spread: 5s}":                     "the fault is not over at the end",
		"{at: 1s, fault: link, target: all, for: 1s, upto: 5s, delay: 100ms}": "the fault is not over at the end",
		"{at: 1s, fault: silence, target: all, for: 2s, upto: 1s}":            "upto must not be less than for",
		"{at: 1s, fault: link, target: all, for: 1s, loss: 2}":                "loss must be 0 to 1",
		"{at: 1s, fault: link, target: all, for: 1s, rate: -1}":               "rate must not be negative",
		"{at: 1s, fault: link, target: all, for: 1s}":                         "delay, jitter, loss, duplicate, rate and mtu belong to link, which needs one of them",
		"{at: 1s, fault: silence, target: all, for: 1s, loss: 1}":             "delay, jitter, loss, duplicate, rate and mtu belong to link, which needs one of them",
		"{at: 1s, fault: reset, target: all, direction: up}":                  "direction belongs to link and silence",
		"{at: 1s, fault: silence, target: all, for: 1s, direction: left}":     "direction must be up or down",
		"{at: 1s, fault: reset, target: all, times: 100000}":                  "times must be 1 to 1000",
		"{at: 1s, fault: reset, target: all, times: often}":                   "times must be a number, not often",
		"{at: -1s, fault: reset, target: all}":                                "at: -1s is not between 0 and",
		"{at: 20m, fault: link, target: all, for: 1s, delay: 1s}":             "at: 20m is not between 0 and",
		"{at: 3, fault: reset, target: all}":                                  "at must be a time such as 500ms or 2s, not 3",
		"{at: 1s, fault: link, target: all, for: 1s, delay: a while}":         "delay: time: invalid duration",
		"{at: 1s, fault: reset, target: all, when: 2s}":                       `a fault has no "when"`,
		"{at: 1s, fault: throttle, target: host, for: 1s}":                    "share belongs to throttle",
		"{at: 1s, fault: throttle, target: host, for: 1s, share: 1}":          "share belongs to throttle",
		"{at: 1s, fault: stall, target: host, for: 1s, share: 0.5}":           "share belongs to throttle",
		"{at: 1s, fault: memory, target: host, for: 1s}":                      "mib belongs to memory",
		"{at: 1s, fault: memory, target: host, for: 1s, mib: 1}":              "mib belongs to memory, and must be 48 to",
		"{at: 1s, fault: stall, target: host, for: 1s, mib: 64}":              "mib belongs to memory",
		"{at: 1s, fault: disk-slow, target: host, for: 1s}":                   "disk-slow needs delay",
		"{at: 1s, fault: disk-full, target: host, for: 1s, delay: 1s}":        "delay, jitter, loss, duplicate, rate and mtu belong to link",
		"{at: 1s, fault: link, target: all, for: 1s, duplicate: 2}":           "duplicate must be 0 to 1",
		"{at: 1s, fault: link, target: all, for: 1s, mtu: 20}":                "mtu must be 68 to 65536",
		"{at: 1s, fault: reset, target: [all]}":                               "target must be one value",
		"{at: 1s, at: 2s, fault: reset, target: all}":                         `"at" appears twice`,
		"reset":                             "a fault must be keys and values",
		"{at: 1s":                           "did not find expected",
		"{at: 1s, fault: 7, target: all}":   "fault must be a text, not 7",
		"&x {at: 1s, fault: *x, for: 1s}":   "fault must be one value",
		"{at: 1s, fault: !!int x, for: 1s}": "cannot decode",
	} {
		_, err := Parse([]byte("name: x\nabout: y\nlength: 4s\nfaults:\n- " + line + "\n"))
		if err == nil || !strings.HasPrefix(err.Error(), "line ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
	fault := "\n- {fault: reset, target: all}\n"
	for text, want := range map[string]string{
		"":                                      "line 1: the plan is empty",
		"hello":                                 "line 1: a plan must be keys and values",
		"name: x":                               "line 1: a plan needs faults, a list",
		"name: x\nfaults: []":                   "line 2: a plan needs faults, a list",
		"name: a/b\nfaults:" + fault:            `line 1: the name "a/b" must be`,
		"name: x\nseed: -1\nfaults:" + fault:    "line 2: seed must be a number, not -1",
		"name: x\ncolour: red\nfaults:" + fault: `line 2: a plan has no "colour"`,
		"name: x\nfaults:" + fault + "- {at: 1s,\n   for: 10m, fault: silence, target: all}": "line 1: the plan takes 10m1s, and 10m0s is the most",
		"name: x\nfaults:" + fault + "-\n  at: 1s\n  fault: reset\n  target: them":           "line 5: the target of reset must be",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// A plan file needs only faults. Its name defaults to the file name, and its length to the end of the last fault.
func TestAPlanOfYourOwn(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "bus.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("seed: 7\nfaults:\n- {at: 2s, fault: silence, target: one, for: 1s, times: 2, every: 3s}\n")
	p, err := Find(file)
	if err != nil || p.Name != "bus" || *p.Seed != 7 || p.Length != Duration(6*time.Second) || len(p.Faults) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	write("faults:\n- {at: 2s}\n")
	if _, err := Find(file); err == nil || !strings.HasPrefix(err.Error(), file+": line 2: there is no fault \"\"") {
		t.Error(err)
	}
	write("#" + strings.Repeat(" ", planBytesMax))
	if _, err := Find(file); err == nil || !strings.Contains(err.Error(), "is larger than") {
		t.Error(err)
	}
}

// A quick plan is shorter, but the host still detects the outages that it would detect in the full plan.
func TestQuickOutagesAreNoticed(t *testing.T) {
	t.Parallel()
	for _, p := range append(Scenarios(), Matrix()...) {
		quick := p.quick()
		for i, s := range p.Faults {
			q := quick.Faults[i]
			least, known := outages[s.Fault]
			for _, d := range [][2]Duration{{s.For, q.For}, {s.Upto, q.Upto}} {
				if known && (d[0] > least.noticed) != (d[1] > least.noticed) || d[1] > max(d[0], least.quickest) {
					t.Errorf("%s: %v is %v", p.Name, time.Duration(d[0]), time.Duration(d[1]))
				}
			}
			if q.end() > quick.Length || quick.Length > p.Length {
				t.Errorf("%s: %+v ends after %v", p.Name, q, time.Duration(quick.Length))
			}
		}
	}
	p, err := Find("phone-sleep")
	if err != nil || time.Duration(p.quick().Faults[0].For) < 8*time.Second {
		t.Errorf("%+v, %v: the host waits for 6 s", p.quick(), err)
	}
}

// The example in the document is a valid plan. The document lists all kinds of fault and all scenarios.
func TestDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	if p, err := Parse([]byte(example)); err != nil || p.Name != "bus" || len(p.Faults) != 3 {
		t.Errorf("%+v, %v", p, err)
	}
	for _, kind := range kinds {
		if !strings.Contains(string(text), "\n| `"+string(kind)+"` | ") {
			t.Errorf("no fault %s", kind)
		}
		if colour := regexp.MustCompile(`\b'?` + string(kind) + `'?: '#[0-9a-f]{6}'`); !colour.MatchString(pageScript) || meanings[kind] == "" {
			t.Errorf("the page has no colour for %s, or no words", kind)
		}
	}
	for _, p := range slices.Concat(Scenarios(), ClusterScenarios()) {
		if !strings.Contains(string(text), "`"+p.Name+"`") {
			t.Errorf("no scenario %s", p.Name)
		}
	}
}

// A client may need 15 s to notice that a router has lost its connection. The promise that all players reconnect counts
// from then on.
func TestARebindIsOverWhenItIsNoticed(t *testing.T) {
	for _, c := range []struct {
		quick bool
		event Event
		want  time.Duration
	}{
		{false, Event{Fault: Rebind, At: Duration(2 * time.Second)}, 17 * time.Second},
		{true, Event{Fault: Rebind, At: Duration(2 * time.Second)}, 3500 * time.Millisecond},
		{false, Event{Fault: Handover, At: Duration(2 * time.Second)}, 0},
	} {
		r := &run{o: Options{Quick: c.quick}, events: []Event{c.event}}
		if got := time.Duration(r.noticed()); got != c.want {
			t.Errorf("%+v: %v, want %v", c.event, got, c.want)
		}
	}
}

// Each row of the specification's matrix has a plan, or no plan can test it. No plan refers to a row that does not
// exist.
func TestTheMatrixIsThatOfTheSpecification(t *testing.T) {
	t.Parallel()
	var spec []byte
	for _, name := range []string{"cluster", "reliability"} {
		text, err := os.ReadFile("../../docs/spec/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		spec = append(spec, text...)
	}
	// Crashes of single actors, floods, clocks, hostile traffic, and seeds. Rows that are not implemented yet say that
	// they have no test. Of the rows of a cluster, docs/faults.md names the tests of those that have no plan.
	without := []string{"RL-110", "RL-112", "RL-117", "RL-122", "RL-124", "CL-114", "CL-117", "CL-119", "CL-120", "CL-121",
		"CL-122", "CL-123", "CL-124", "CL-125"}
	var want, got []string
	for _, m := range regexp.MustCompile(`(?m)^\| ([CR]L-1\d\d) \|.*$`).FindAllStringSubmatch(string(spec), -1) {
		if !slices.Contains(without, m[1]) && !strings.Contains(m[0], "No test: ") {
			want = append(want, m[1])
		}
	}
	for _, p := range Matrix() {
		got = append(got, p.Row)
	}
	if got = slices.Compact(got); len(want) < 15 || !slices.Equal(got, want) {
		t.Errorf("plans for %v, want %v", got, want)
	}
	for _, p := range read("plans/matrix") {
		if p.Row == "" {
			t.Errorf("%s has no row", p.Name)
		}
	}
}

// A missed figure breaks a promise. A figure that is just reached does not.
func TestFiguresOfAPlan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plan            Plan
		reached, missed Figures
	}{
		"delivered":      {Plan{Delivered: 100}, Figures{Delivered: 100}, Figures{Delivered: 99}},
		"fast share":     {Plan{FastShare: 0.62}, Figures{FastSent: 50, FastDelivered: 62}, Figures{FastSent: 50, FastDelivered: 61}},
		"back, p99":      {Plan{BackP99: Duration(time.Second)}, Figures{Resumes: 1, ReattachP99Ms: 1000}, Figures{Resumes: 1, ReattachP99Ms: 1001}},
		"nobody is cut":  {Plan{BackP99: Duration(time.Second)}, Figures{Resumes: 1}, Figures{}},
		"back, the last": {Plan{BackMax: Duration(time.Second)}, Figures{ReattachMaxMs: 1000}, Figures{Resumes: 1, ReattachMaxMs: 1001}},
		"uncut":          {Plan{Uncut: true}, Figures{}, Figures{Resumes: 1}},
	} {
		for figures, want := range map[*Figures]string{&c.reached: holds, &c.missed: broken} {
			if got := c.plan.judgeFigures(figures, 2); len(got) != 1 || got[0].Outcome != want {
				t.Errorf("%s: %+v, want %s", name, got, want)
			}
		}
	}
}
