package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/report"
)

func TestTicks(t *testing.T) {
	t.Parallel()
	counts := func(set map[int]string) string {
		all := make([]string, tickSteps+1)
		for i := range all {
			all[i] = "0"
			if n, ok := set[i]; ok {
				all[i] = n
			}
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	const head = "03 November 2026 09:05:07,042 [INFO] (tick.js) 46: "
	log := head + "ticks 40 " + counts(map[int]string{0: "40"}) + "\n" +
		head + "something else\n" +
		head + "ticks 40 " + counts(map[int]string{0: "39", 3: "1"}) + "\n" +
		head + "ticks 40 " + counts(map[int]string{0: "39", tickSteps: "1"}) + "\n"
	var all ticks
	if n, err := all.add(log, 1); n != 2 || err != nil || all.total() != 80 {
		t.Errorf("%d reports, %d ticks, %v", n, all.total(), err)
	}
	for q, want := range map[float64]float64{0.5: 0.5, 0.98: 2, 0.9999: 50} {
		if got := all.quantile(q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	for _, bad := range []string{head + "ticks 1 [1,2]\n", head + "ticks\n" + head + "ticks 1 x\n"} {
		if _, err := new(ticks).add(bad, 0); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
	if new(ticks).quantile(0.99) != 0 {
		t.Error("a quantile of nothing")
	}
}

func TestCostIsTheDifferenceOfOneRound(t *testing.T) {
	t.Parallel()
	var r costResult
	r.compute([]float64{10, 20, 12}, []float64{15, 24, 30})
	if r.Over != (report.Spread{Median: 5, Min: 4, Max: 18}) || r.Relay.Median != 12 {
		t.Errorf("%+v", r)
	}
	if s := (sample{CPU: time.Millisecond, Received: 100}); s.cpuMicros() != 10 {
		t.Errorf("%v us", s.cpuMicros())
	}
	r.compute([]float64{sample{}.cpuMicros()}, []float64{1})
	if r.Relay.Known() {
		t.Errorf("known without messages: %+v", r)
	}
}

func TestTurnsAddUp(t *testing.T) {
	t.Parallel()
	turn := func(cpu time.Duration, received int64, other float64, p99 time.Duration) sample {
		return sample{Took: time.Second, CPU: cpu, Received: received, GeneratorCPU: cpu, OtherShare: other,
			Load: loadgen.Result{Sent: received, Expected: received, Delivered: received - 1, Latency: loadgen.Quantiles{P99: p99}}}
	}
	var sum sample
	sum.add(turn(10*time.Millisecond, 1000, 0.1, 5))
	sum.add(turn(20*time.Millisecond, 500, 0.3, 3))
	want := sample{Took: 2 * time.Second, CPU: 30 * time.Millisecond, Received: 1500, GeneratorCPU: 30 * time.Millisecond, OtherShare: 0.2,
		Load: loadgen.Result{Sent: 1500, Expected: 1500, Delivered: 1498, Latency: loadgen.Quantiles{P99: 5}}}
	if sum != want || sum.cpuMicros() != 20 {
		t.Errorf("%+v", sum)
	}
}

func TestHostileIsComparedWithItsOwnRound(t *testing.T) {
	t.Parallel()
	round := func(ms int, lost int64) sample {
		return sample{Load: loadgen.Result{Expected: 10, Delivered: 10 - lost, Latency: loadgen.Quantiles{P99: time.Duration(ms) * time.Millisecond}}}
	}
	r := hostileResult{Rounds: []sample{round(3, 0), round(8, 1), round(10, 0)}}
	r.compute([]sample{round(2, 0), round(2, 0), round(5, 0)})
	if r.Ratio != (report.Spread{Median: 2, Min: 1.5, Max: 4}) || r.Lost != 1 || r.P99.Median != 8 || r.Without.Median != 2 {
		t.Errorf("%+v", r)
	}
}

func TestConfigurationNamesEveryScript(t *testing.T) {
	t.Parallel()
	b := &bench{dir: t.TempDir(), options: options{config: config{Engine: "node"}}}
	if err := b.prepare(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(b.configFile())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"echo.js", "util.js", "tick.js", "hostile.js"} {
		if _, err := os.Stat(filepath.Join(b.dir, "scripts", name)); err != nil {
			t.Error(err)
		}
		if !strings.Contains(string(text), "launchPath: "+name+",") {
			t.Errorf("no %s in\n%s", name, text)
		}
	}
	if strings.Count(string(text), "engine: node}") != 3+len(hostileWays) {
		t.Errorf("%s", text)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	good := options{troupe: "x", parts: "cost,tick", ways: "loop,json", config: config{
		Rounds: 1, CostRooms: 1, CostRoomOf: 1, IdleSessions: 1, TickSessions: 1, HostileRooms: 1, HostileRoomOf: 1, Hz: 1, CostHz: 1, Measure: time.Second,
	}}
	if err := good.validate(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*options){
		"no binary": func(o *options) { o.troupe = "" }, "no rounds": func(o *options) { o.Rounds = 0 },
		"unknown way": func(o *options) { o.ways = "loop,charm" }, "no rate": func(o *options) { o.CostHz = 0 }, "unknown part": func(o *options) { o.parts = "cost,luck" }, "too short": func(o *options) { o.Measure = time.Millisecond },
	} {
		o := good
		change(&o)
		if o.validate() == nil {
			t.Error(name)
		}
	}
}
