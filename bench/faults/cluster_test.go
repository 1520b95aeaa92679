package faults

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/bench/server"
)

// second returns a time so many seconds after the start of a test.
func second(n float64) time.Time {
	return time.Unix(1000, 0).Add(time.Duration(n * float64(time.Second)))
}

// judged returns a judge of a cluster of three hosts and three members of etcd. node-0 is under fault from 5 s to 35 s.
// Each host has a game session, which carries the number of its host.
func judged(p Plan) *clusterJudge {
	p.Nodes, p.Row = 3, "CL-102"
	c := &cluster{run: new(run), plan: &p}
	j := &clusterJudge{cluster: c, load: &load{c: c, created: map[string]string{}}, healed: second(35)}
	j.watch = &watch{c: c, ended: map[string][]time.Time{}}
	for i, name := range []string{"0", "1", "2"} {
		c.nodes, c.members = append(c.nodes, &machine{name: "node-" + name}), append(c.members, &machine{name: "etcd-" + name})
		j.games = append(j.games, &game{id: name, node: i})
		j.watch.ended[name] = make([]time.Time, 3)
	}
	c.nodes[0].hurts = []span{{second(5), second(35)}}
	return j
}

// A game session of the host under fault must end in time at the other hosts, and at that host when it is back. No other
// game session may end.
func TestGameSessionsThatEnd(t *testing.T) {
	t.Parallel()
	in := Plan{EndsMin: Duration(5 * time.Second), EndsMax: Duration(10 * time.Second)}
	for name, c := range map[string]struct {
		plan   Plan
		ended  [3]float64 // when each host says that game session 0 ended; 0: never
		others bool       // node-1 says that game session 2 ended
		want   string
	}{
		"in time":            {in, [3]float64{36, 12, 15}, false, holds},
		"too late":           {in, [3]float64{36, 12, 15.4}, false, broken},
		"too early":          {in, [3]float64{36, 9.9, 15}, false, broken},
		"unknown to one":     {in, [3]float64{36, 12, 0}, false, broken},
		"unknown to its own": {in, [3]float64{0, 12, 15}, false, broken},
		"another one ends":   {in, [3]float64{36, 12, 15}, true, broken},
		"none may end":       {Plan{}, [3]float64{0, 12, 0}, false, broken},
		"none ends":          {Plan{}, [3]float64{}, false, holds},
	} {
		j := judged(c.plan)
		for i, at := range c.ended {
			if at > 0 {
				j.watch.ended["0"][i] = second(at)
			}
		}
		if c.others {
			j.watch.ended["2"][1] = second(12)
		}
		if v := j.judgeGames(); v.Outcome != c.want {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// A host that is not under fault answers. During a fault of another host, or shortly after, it may refuse with
// InternalServiceException.
func TestCallsOfACluster(t *testing.T) {
	t.Parallel()
	const create, seats, conflict = "CreateGameSession", "CreatePlayerSession", "InvalidGameSessionStatusException"
	for name, c := range map[string]struct {
		call  asked
		etcd  bool // the fault is etcd's
		ends  bool // game sessions of the host under fault end
		wrong int  // verdicts that are broken
	}{
		"answered":                           {asked{create, codeOK, 1, second(8), second(9)}, false, false, 0},
		"no answer of the host under fault":  {asked{create, codeNoAnswer, 0, second(8), second(9)}, false, false, 0},
		"no answer of another host":          {asked{create, codeNoAnswer, 1, second(8), second(9)}, false, false, 1},
		"refused meanwhile":                  {asked{create, codeInternal, 1, second(8), second(9)}, false, false, 0},
		"refused before":                     {asked{create, codeInternal, 1, second(1), second(2)}, false, false, 1},
		"refused long after":                 {asked{create, codeInternal, 1, second(51), second(52)}, false, false, 1},
		"another code":                       {asked{create, "NotFoundException", 1, second(8), second(9)}, false, false, 1},
		"a seat in a game session that ends": {asked{seats, conflict, 1, second(8), second(9)}, false, true, 0},
		"a login in one that ends":           {asked{"login", codeOver, 1, second(8), second(9)}, false, true, 0},
		"a login in one that goes on":        {asked{"login", codeOver, 1, second(8), second(9)}, false, false, 1},
		"a seat in one that goes on":         {asked{seats, conflict, 1, second(8), second(9)}, false, false, 1},
		"created without etcd":               {asked{create, codeOK, 1, second(8), second(9)}, true, false, 1},
		"created as etcd came back":          {asked{create, codeOK, 1, second(34), second(36)}, true, false, 0},
		"refused without etcd":               {asked{create, codeInternal, 1, second(8), second(9)}, true, false, 0},
		"no seat without etcd":               {asked{seats, codeInternal, 1, second(8), second(9)}, true, false, 1},
	} {
		p := Plan{}
		if c.ends {
			p.EndsMax = Duration(time.Second)
		}
		j := judged(p)
		if c.etcd {
			j.events = []Event{{Fault: Crash, Player: -1, Target: "etcd"}}
			for _, m := range j.members {
				m.hurts = j.nodes[0].hurts
			}
			j.nodes[0].hurts = nil
		}
		j.load.made = []asked{c.call}
		got := 0
		for _, v := range j.judgeCalls() {
			if v.Outcome == broken {
				got++
			}
		}
		if got != c.wrong {
			t.Errorf("%s: %+v", name, j.judgeCalls())
		}
	}
	j := judged(Plan{CallMax: Duration(3 * time.Second)})
	j.load.made = []asked{{create, codeOK, 1, second(8), second(11.1)}}
	if v := j.judgeCalls(); v[1].Outcome != broken {
		t.Errorf("a call of 3.1 s: %+v", v)
	}
	if c := j.load.table(); len(c) != 1 || c[0] != (Calls{create, codeOK, 1, 0, 3100}) {
		t.Errorf("%+v", c)
	}
}

// Another host leads in time, and all hosts come back in time.
func TestAClusterIsWholeAgain(t *testing.T) {
	t.Parallel()
	leads := Plan{LeadMax: Duration(8 * time.Second), Back: Duration(5 * time.Second)}
	for name, c := range map[string]struct {
		led   []change
		whole time.Time
		want  string
	}{
		"in time":        {[]change{{second(0), "node-0"}, {second(13), "node-1"}}, second(40), holds},
		"never away":     {[]change{{second(0), "node-0"}, {second(13), "node-1"}}, second(1), holds},
		"leads too late": {[]change{{second(0), "node-0"}, {second(13.2), "node-1"}}, second(40), broken},
		"nobody leads":   {[]change{{second(0), "node-0"}}, second(40), broken},
		"back too late":  {[]change{{second(0), "node-0"}, {second(13), "node-1"}}, second(40.2), broken},
		"not back":       {[]change{{second(0), "node-0"}, {second(13), "node-1"}}, time.Time{}, broken},
	} {
		j := judged(leads)
		j.healed = second(50) // a plan may last longer than its last fault
		j.watch.led, j.watch.whole = c.led, c.whole
		if v := j.judgeFound(); v.Outcome != c.want {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestCodeOfAnAnswer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"__type":"com.amazonaws.gamelift#InternalServiceException","Message":"x"}`: codeInternal,
		`{"__type": "NotFoundException"}`:                                            "NotFoundException",
		"draining":                                                                   "503",
	} {
		if got := codeOf(&server.AnswerError{Status: 503, Text: text}); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	if codeOf(nil) != codeOK || codeOf(os.ErrClosed) != codeNoAnswer {
		t.Error("no answer is not told from ok")
	}
}

// An event that is delivered again counts once, at whichever host. A line that a kill has cut off does not count.
func TestEventsOfACluster(t *testing.T) {
	t.Parallel()
	j := judged(Plan{})
	dir := t.TempDir()
	line := func(id, detail string) string { return `{"id":"` + id + `","detail":{` + detail + "}}\n" }
	end, placed := line("1", `"type":"GameSessionTerminated","gameSessionArn":"g"`), line("2", `"type":"PlacementFulfilled","placementId":"p","gameSessionArn":"g"`)
	for i, text := range []string{end + placed + `{"id":"3","det`, end + line("4", `"type":"GameSessionTerminated","gameSessionArn":"g"`)} {
		j.nodes[i].events = filepath.Join(dir, j.nodes[i].name)
		if err := os.WriteFile(j.nodes[i].events, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	j.nodes[2].events = filepath.Join(dir, "none")
	all, err := j.readEvents()
	if err != nil || all["g"]["GameSessionTerminated"] != 2 || all["p"]["PlacementFulfilled"] != 1 || len(all) != 2 {
		t.Errorf("%v, %v", all, err)
	}
}

// The faults of a cluster have their own targets.
func TestPlansOfAClusterThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"{fault: crash, target: host, for: 1s}":              "a plan with nodes has faults of its processes only",
		"{fault: reset, target: all}":                        "a plan with nodes has faults of its processes only",
		"{fault: cut, target: node, for: 1s}":                "from must be etcd, peers, one or all",
		"{fault: cut, target: etcd, from: all, for: 1s}":     "the target of cut must be a host",
		"{fault: cut, target: host, from: all, for: 1s}":     "the target of cut must be node, leader or follower",
		"{fault: stall, target: node, from: all, for: 1s}":   "from belongs to cut",
		"{fault: throttle, target: node, for: 1s}":           "the target of throttle must be host",
		"{fault: cut, target: leader, from: one}":            `cut needs "for"`,
		"{fault: revoke, target: etcd}":                      "the target of revoke must be a host",
		"{fault: revoke, target: node, for: 1s}":             `revoke happens at once`,
		"{fault: restore, target: etcd-0, for: 1s}":          "the target of restore must be etcd",
		"{fault: disk-slow, target: etcd-follower, for: 1s}": "disk-slow needs delay",
		"{fault: disk-full, target: node-0, for: 1s}":        "",
		"{fault: restore, target: etcd, for: 1s}":            "",
		"{fault: revoke, target: leader}":                    "",
		"{fault: crash, target: node-0, for: 1s}":            "",
		"{fault: cut, target: follower, from: one, for: 1s}": "",
	} {
		_, err := Parse([]byte("name: x\nnodes: 3\nfaults:\n- " + line + "\n"))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
	for text, want := range map[string]string{
		"nodes: 1\nfaults: [{fault: crash, target: node, for: 1s}]": "nodes must be 2 to 9",
		"faults: [{fault: crash, target: node, for: 1s}]":           "no other plan has those",
	} {
		if _, err := Parse([]byte("name: x\n" + text + "\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	p, err := Find("node-crash")
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for seed := range uint64(20) {
		targets[p.Expand(seed, 4)[0].Target] = true
	}
	if len(targets) != 3 || !targets["node-0"] {
		t.Errorf("20 seeds chose %v", targets)
	}
	r := &run{o: Options{Plan: p, Players: 4, Quick: true}}
	if err := r.check(); err == nil || !strings.Contains(err.Error(), "leave --quick and --script out") {
		t.Error(err)
	}
}
