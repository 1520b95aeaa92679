package faults

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// A seed makes the same plan each time, and another one another plan.
func TestSeedMakesThePlan(t *testing.T) {
	t.Parallel()
	for _, p := range Scenarios() {
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

func TestPlansThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"{at: 1s, fault: silence, target: all}":                               `"for" is missing`,
		"{at: 1s, fault: reset, target: all, for: 1s}":                        `"for" is missing, or should be`,
		"{at: 1s, fault: rain, target: all, for: 1s}":                         `there is no fault "rain"`,
		"{at: 1s, fault: silence, target: host, for: 1s}":                     `silence cannot be of target "host"`,
		"{at: 1s, fault: silence, target: some, for: 1s}":                     "target must be all, half, one or host",
		"{at: 1s, fault: silence, target: all, for: 5s}":                      "it is not over at the end",
		"{at: 1s, fault: reset, target: all, times: 2, every: 5s}":            "it is not over at the end",
		"{at: 1s, fault: silence, target: all, for: 2s, upto: 1s}":            "upto must not be less than for",
		"{at: 1s, fault: link, target: all, for: 1s, loss: 2}":                "loss must be 0 to 1",
		"{at: 1s, fault: link, target: all, for: 1s, rate: -1}":               "rate must not be negative",
		"{at: 1s, fault: link, target: all, for: 1s, direction: left}":        "direction must be up or down",
		"{at: 1s, fault: reset, target: all, times: 100000}":                  "times must be 1 to 1000",
		"{at: -1s, fault: reset, target: all}":                                "-1s is not between 0 and",
		"{at: 1s, fault: reset, target: all, when: 2s}":                       `unknown field "when"`,
		"{at: 1s, fault: link, target: all, for: 1s, delay: a while}":         "invalid duration",
		"{at: 20m, fault: link, target: all, for: 1s, delay: 1s}":             "20m is not between 0 and",
		"{at: 1s, fault: stall, target: all, for: 1s}":                        `stall cannot be of target "all"`,
		"{at: 1s, fault: reset, target: all, spread: 5s}":                     "it is not over at the end",
		"{at: 1s, fault: link, target: all, for: 1s, upto: 5s, delay: 100ms}": "it is not over at the end",
	} {
		_, err := Parse([]byte("name: x\nabout: y\nlength: 4s\nfaults:\n- " + line + "\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}
