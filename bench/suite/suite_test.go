package suite

import (
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/result"
	"troupe/bench/server"
)

func TestLargestLoad(t *testing.T) {
	t.Parallel()
	for limit, want := range map[float64]struct {
		low, high float64
		capped    bool
	}{0.5: {0, 0, false}, 1: {1, 1.1, false}, 5: {4.5, 5, false}, 30: {27, 30, false}, 1e9: {64, 64, true}} {
		s := search{first: 1}
		for v, more := s.next(); more; v, more = s.next() {
			s.tell(v, v <= limit)
		}
		if capped := s.low > 0 && s.high == 0; s.low < want.low || s.low > want.high || capped != want.capped || s.tried > rampDoublings+rampHalvings {
			t.Errorf("limit %v: %+v", limit, s)
		}
	}
}

// Even if every load is near the limit, a ramp has a bounded number of tries and can still try all loads of its search.
func TestRampEndsInTime(t *testing.T) {
	t.Parallel()
	for _, limit := range []float64{1, 1.5, 3, 9, 20, 40, 100} {
		l := ladder{search: search{first: 1}}
		loads := 0
		for v, more := l.search.next(); more; v, more = l.search.next() {
			for loads, l.tries = loads+1, l.tries+1; l.mayRepeat(); l.tries++ {
				l.near++
			}
			l.search.tell(v, v <= limit)
		}
		if l.tries > rampTries || l.tries == loads || l.search.high > 0 && l.search.left() > 0 {
			t.Errorf("limit %v: %d tries of %d loads, %+v", limit, l.tries, loads, l.search)
		}
	}
}

// A load that was not sent, or that did not arrive, is not good, however low the latency of the messages that did
// arrive.
func TestLoadsThatAreTooMuch(t *testing.T) {
	t.Parallel()
	load := func(due, sent, expected, delivered int64, p99 time.Duration) *loadgen.Result {
		return &loadgen.Result{Due: due, Sent: sent, Expected: expected, Delivered: delivered, Latency: loadgen.Quantiles{P99: p99}}
	}
	for name, c := range map[string]struct {
		load *loadgen.Result
		want bool
	}{
		"all is well":       {load(100, 100, 800, 800, time.Millisecond), true},
		"late":              {load(100, 100, 800, 800, time.Second), false},
		"lost":              {load(100, 100, 800, 700, time.Millisecond), false},
		"nothing was sent":  {load(100, 0, 0, 0, 0), false},
		"half of it is due": {load(100, 50, 400, 400, time.Millisecond), false},
	} {
		if got := withinLimit(c.load); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The result of a load near the limit is the one on which two tries agree. A load far from the limit is tried once.
func TestLoadsNearTheLimitAreTriedAgain(t *testing.T) {
	t.Parallel()
	const good, far, near = true, false, true
	type one struct{ good, near bool }
	for name, c := range map[string]struct {
		tries []one // all but the last require another try
	}{
		"clearly good":     {[]one{{good, far}}},
		"clearly bad":      {[]one{{!good, far}}},
		"near, twice good": {[]one{{good, near}, {good, near}}},
		"near, twice bad":  {[]one{{!good, near}, {!good, near}}},
		"good in the end":  {[]one{{!good, near}, {good, near}, {good, near}}},
		"bad in the end":   {[]one{{good, near}, {!good, near}, {!good, near}}},
		"clear afterwards": {[]one{{!good, near}, {good, far}}},
	} {
		var all tally
		for i, try := range c.tries {
			if got, want := all.again(try.good, try.near), i < len(c.tries)-1; got != want {
				t.Errorf("%s: again %v after try %d", name, got, i+1)
			}
		}
	}
	load := func(delivered int64, p99 time.Duration) *loadgen.Result {
		return &loadgen.Result{Due: 100, Sent: 100, Expected: 800, Delivered: delivered, Latency: loadgen.Quantiles{P99: p99}}
	}
	for p99, want := range map[time.Duration]bool{rampLimit / 2: false, rampLimit * 9 / 10: true, rampLimit * 11 / 10: true, rampLimit * 3: false} {
		if got := nearLimit(load(800, p99)); got != want {
			t.Errorf("p99 %v: near %v", p99, got)
		}
	}
	for name, c := range map[string]struct {
		try  try
		want bool
	}{
		"alone":               {try{step: result.Step{Others: 0.05}}, false},
		"others were busy":    {try{step: result.Step{Others: 0.4}}, true},
		"good in spite of it": {try{step: result.Step{Others: 0.4, Good: true}}, false},
		"players are gone":    {try{step: result.Step{Others: 0.4}, lost: true}, false},
	} {
		if got := c.try.disturbed(); got != c.want {
			t.Errorf("%s: disturbed %v", name, got)
		}
	}
	for name, c := range map[string]struct {
		try  try
		want int
	}{
		"the server's":    {try{}, 0},
		"the generator's": {try{bound: rampLimit}, 1},
		"of others":       {try{step: result.Step{Others: 0.4}}, 1},
		"not there":       {try{step: result.Step{Good: true}}, 0},
	} {
		l := ladder{r: new(run)}
		if l.judge(c.try); len(l.r.void) != c.want {
			t.Errorf("%s: %q", name, l.r.void)
		}
	}
	if nearLimit(load(700, rampLimit)) {
		t.Error("near, but messages are missing")
	}
}

// A run that its generator limits must say so. A run whose latencies are far above the generator's lateness need not.
func TestBoundByTheGenerator(t *testing.T) {
	t.Parallel()
	load := func(due, sent int64, late, p99 time.Duration) *loadgen.Result {
		return &loadgen.Result{Due: due, Sent: sent, Delivered: sent, Latency: loadgen.Quantiles{P99: p99}, Lateness: loadgen.Quantiles{P99: late}}
	}
	for name, c := range map[string]struct {
		load *loadgen.Result
		want bool
	}{
		"all is well":           {load(1000, 1000, time.Millisecond, 2*time.Millisecond), false},
		"not all was sent":      {load(1000, 980, 0, time.Millisecond), true},
		"late":                  {load(1000, 1000, 10*time.Millisecond, 12*time.Millisecond), true},
		"the server is so slow": {load(1000, 1000, 10*time.Millisecond, time.Second), false},
	} {
		if _, got := isBound(c.load); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A generator that limits logins makes them slower, never faster. Therefore a goal that holds stays valid, and a missed
// goal is unproven.
func TestAsFastAsTheGeneratorCan(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		took, waited time.Duration
		perSecond    float64
		want         string
	}{
		"a slow server":             {60 * ms, 8 * ms, 4000, "MISSED"},
		"a generator that is quick": {2 * ms, 3 * ms, 4000, "MISSED"},
		"a slow generator":          {60 * ms, 30 * ms, 4000, "not measured"},
		"good in spite of it":       {60 * ms, 30 * ms, 9000, "holds"},
	} {
		r := &run{now: host}
		r.asFastAsItCan(c.took, c.waited, joinFigures...)
		res := result.Result{Subjects: []result.Subject{{Name: host, Rounds: []result.Round{{Figures: result.Figures{"joins_per_s": c.perSecond, "failed": 1}}}}}}
		res.Summarise([]result.Goal{{Subject: host, Figure: "joins_per_s", Plus: 8000, AtLeast: true}, {Subject: host, Figure: "failed"}})
		r.excuseMissed(&res)
		if got := res.Goals[0].String(); !strings.HasPrefix(got, c.want) || res.Unproven() != (c.want == "not measured") || !strings.HasPrefix(res.Goals[1].String(), "MISSED") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A reason is recorded once per subject, not once per round.
func TestProvesNothingOnceForASubject(t *testing.T) {
	t.Parallel()
	r := new(run)
	for _, r.now = range []string{"bare", "bare epoll", "bare", "bare epoll"} {
		r.provesNothing("late")
		r.provesNothing("later")
	}
	if want := []string{"bare: late", "bare epoll: late"}; !slices.Equal(r.void, want) {
		t.Errorf("%q", r.void)
	}
}

// Goals refer to existing figures, and to subjects of the workload or possible peers.
func TestTableOfWorkloads(t *testing.T) {
	t.Parallel()
	figures := map[string]bool{}
	for _, f := range result.Catalogue {
		if figures[f.Name] {
			t.Errorf("figure %s comes twice", f.Name)
		}
		figures[f.Name] = true
	}
	names := map[string]bool{}
	for _, w := range Workloads() {
		if names[w.Name] || w.About == "" || strings.ContainsAny(w.Name, " /") {
			t.Errorf("workload %q comes twice, or says nothing of itself", w.Name)
		}
		names[w.Name] = true
		r := &run{w: w, p: w.Params}
		if err := r.p.validate(); err != nil || w.Params.Rounds < 1 {
			t.Errorf("%s: %v", w.Name, err)
		}
		subjects := map[string]bool{colyseus: true}
		each := w.subjects(r)
		for _, s := range each {
			subjects[s.name] = true
		}
		about := w.Params.lasts()
		if w.lasts != nil {
			about = w.lasts(w.Params)
		}
		if all := about * time.Duration(w.Params.Rounds*len(each)); all > 10*time.Minute {
			t.Errorf("%s takes %v", w.Name, all)
		}
		for _, g := range w.Goals {
			for goal := &g; goal != nil; goal = goal.Where {
				if !figures[goal.Figure] || !subjects[goal.Subject] || goal.Over != "" && !subjects[goal.Over] {
					t.Errorf("%s: the goal %+v is about nothing", w.Name, *goal)
				}
			}
		}
	}
	if len(names) < 8 {
		t.Errorf("%d workloads", len(names))
	}
}

// 200 messages are too few for the quantile 99.9 %.
func TestPercentilesOfFewMessages(t *testing.T) {
	t.Parallel()
	load := &loadgen.Result{Delivered: 200, Expected: 200, Latency: loadgen.Quantiles{P99: time.Millisecond, P999: time.Second, Max: time.Second},
		Detail: &loadgen.Detail{Distribution: []loadgen.Point{{Share: 0.5}, {Share: 0.994}, {Share: 0.999}, {Share: 1}}}}
	round := result.Round{Figures: make(result.Figures)}
	addLatencies(&round, load)
	if _, known := round.Figures["p999_ms"]; known || round.Figures["p99_ms"] != 1 || len(round.Latency) != 3 || round.Latency[2].Share != 1 {
		t.Errorf("%+v", round)
	}
	load.Delivered = 20_000
	round = result.Round{Figures: make(result.Figures)}
	if addLatencies(&round, load); round.Figures["p999_ms"] != 1000 || len(round.Latency) != 4 {
		t.Errorf("%+v", round)
	}
}

// The user's own script need not answer. Costs are also reported per sent message, and nothing is divided by zero.
func TestFiguresOfAScript(t *testing.T) {
	t.Parallel()
	const second = time.Second
	for name, c := range map[string]struct {
		own, blind     bool
		sent, received int64
		want, none     []string
	}{
		"it answers":       {true, false, 1000, 500, []string{"cpu_us", "cpu_inbound_us", "inbound_per_s", "delivered_per_s"}, nil},
		"it says nothing":  {true, false, 1000, 0, []string{"cpu_inbound_us", "inbound_per_s", "delivered_per_s"}, []string{"cpu_us", "allocs", "generator_us"}},
		"nothing was sent": {true, false, 0, 0, []string{"inbound_per_s"}, []string{"cpu_us", "cpu_inbound_us", "allocs_inbound"}},
		"a blind meter":    {true, true, 1000, 500, []string{"inbound_per_s"}, []string{"cpu_us", "cpu_inbound_us"}},
		"there is none":    {false, false, 1000, 500, []string{"cpu_us", "allocs_inbound"}, []string{"cpu_inbound_us", "inbound_per_s"}},
	} {
		r := new(run)
		if c.own {
			r.o.Script = "game.js"
		}
		m := &meter{r: r, proc: new(server.Process), swarm: new(loadgen.Swarm), blind: c.blind}
		m.end.at = m.start.at.Add(2 * second)
		m.end.usage.User, m.end.sent, m.end.received = second, c.sent, c.received
		f := m.figures()
		for _, figure := range c.want {
			if _, ok := f[figure]; !ok {
				t.Errorf("%s: no %s in %v", name, figure, f)
			}
		}
		for _, figure := range c.none {
			if v, ok := f[figure]; ok {
				t.Errorf("%s: %s is %v", name, figure, v)
			}
		}
		if v, ok := f["cpu_inbound_us"]; ok && (v != 1000 || f["inbound_per_s"] != 500) {
			t.Errorf("%s: %v", name, f)
		}
	}
}

// If a user's script yields no latencies, a warning gives the reason. If no message came back, the figures are invalid.
func TestWhyThereIsNoLatency(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		perSecond float64
		stamps    int64
		want      string
	}{
		"latencies":          {10, 5, ""},
		"answers without":    {10, 0, "troupe: no latency: no answer held the time that was sent (put {{stamp}} into --message, and let the script send it back)"},
		"no answers":         {0, 0, "no message of op code 12 came back: does the script pass it on?"},
		"after the measured": {0, 5, ""}, // arrived too late
	} {
		r := &run{now: host, o: Options{Script: "game.js", OpCode: 12}}
		r.judgeAnswers(result.Figures{"delivered_per_s": c.perSecond}, &loadgen.Result{Delivered: c.stamps}, server.ScriptErrors{})
		if got := strings.Join(append(r.warnings, r.void...), "; "); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// The user's own script is compared with a script that does nothing, except on a host that is already running.
func TestColumnsOfAScript(t *testing.T) {
	t.Parallel()
	w, err := Find("relay-25x8")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    Options
		want []string
	}{
		{Options{Script: "game.js"}, []string{noScript, host}},
		{Options{Script: "game.js", Only: []string{host}}, []string{host}},
		{Options{Against: new(server.Remote), OpCode: 12}, []string{host}},
	} {
		r := &run{o: c.o, w: w, p: w.Params}
		subjects, err := r.chosen()
		var names []string
		for _, s := range subjects {
			names = append(names, s.name)
		}
		if err != nil || !slices.Equal(names, c.want) {
			t.Errorf("%+v: %q, %v", c.o, names, err)
		}
	}
}
