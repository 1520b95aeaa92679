package cluster

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"troupe/messages/coord"
)

// All outcomes of up to three nodes, in any order. If one node reaches the target, that decides. Otherwise the verdict
// depends on whether any other node reported an outcome.
func TestJudge(t *testing.T) {
	outcomes := []coord.Outcome{0, coord.Answered, coord.Refused, coord.Silent}
	var each func(answers []coord.Outcome)
	each = func(answers []coord.Outcome) {
		count := map[coord.Outcome]int{}
		for _, a := range answers {
			count[a]++
		}
		want := silent
		if count[coord.Answered] > 0 {
			want = adrift
		} else if len(answers) > 1 && count[0] >= len(answers)-1 && (count[0] == len(answers) || answers[0] != 0) {
			want = unheard
		} else if count[coord.Refused] == len(answers) {
			want = gone
		}
		if got := judge(answers); len(answers) > 0 && got != want {
			t.Errorf("%v: %v, want %v", answers, got, want)
		}
		if len(answers) < 3 {
			for _, o := range outcomes {
				each(append(answers[:len(answers):len(answers)], o))
			}
		}
	}
	each(nil)
}

func TestNextLoad(t *testing.T) {
	room := func(rooms ...int) *coord.Load {
		l := &coord.Load{}
		for i, n := range rooms {
			l.Places = append(l.Places, coord.Place{Fleet: fmt.Sprint(i), Room: n})
		}
		return l
	}
	for _, c := range []struct {
		what         string
		written, now *coord.Load
		since        time.Duration
		want         string
	}{
		{"nothing to say", nil, nil, 0, "0s false"},
		{"newly registered", nil, room(1), 0, "0s true"},
		{"the same", room(1), room(1), time.Hour, "0s false"},
		{"an eighth less", room(80), room(70), 0, "1s true"},
		{"an eighth more, late", room(80), room(90), 5 * time.Second, "0s true"},
		{"a little less", room(80), room(71), 10 * time.Second, "20s true"},
		{"of few, one", room(3), room(2), 400 * time.Millisecond, "600ms true"},
		{"from zero", room(0), room(1), 0, "1s true"},
		{"to zero", room(100, 1), room(100, 0), 0, "1s true"},
		{"a new fleet", room(1), room(1, 1), 0, "1s true"},
		{"a fleet less", room(1, 1), room(1), 0, "1s true"},
		{"a fleet less, without room", room(1, 0), room(1), 0, "30s true"},
		{"players", &coord.Load{Players: 1}, &coord.Load{Players: 900}, time.Minute, "0s true"},
	} {
		if wait, ok := nextLoad(c.written, c.now, c.since, loadLate); fmt.Sprint(wait, ok) != c.want {
			t.Errorf("%s: %v %v, want %s", c.what, wait, ok, c.want)
		}
	}
}

func TestNodesWriteSmallDifferencesAtDifferentTimes(t *testing.T) {
	count := map[time.Duration]int{}
	for seed := range uint64(1000) {
		n := New(Options{Seed: seed + 1})
		defer n.cancel()
		if late := n.reg.late; late < loadLate/2 || late >= loadLate {
			t.Fatal("seed", seed, late)
		}
		count[n.reg.late.Truncate(time.Second)]++
	}
	for second, nodes := range count {
		if len(count) != 15 || nodes > 100 {
			t.Errorf("%d of 1000 nodes write after %v, in one of %d seconds", nodes, second, len(count))
		}
	}
}

func TestWithRoom(t *testing.T) {
	place := func(room, warm int) coord.Load {
		return coord.Load{Places: []coord.Place{{Fleet: "other", Location: "l", Room: 99}, {Fleet: "f", Location: "l", Room: room, Warm: warm}}}
	}
	member := func(name string, room, warm int) Member {
		return Member{Node: coord.Node{Name: name}, State: Live, Load: place(room, warm)}
	}
	suspect, draining := member("s", 9, 9), member("t", 9, 9)
	suspect.State, draining.Draining = Suspect, true
	random := rand.New(rand.NewPCG(1, 1))
	firsts := func(members ...Member) map[string]int {
		count := map[string]int{}
		for range 3000 {
			v := &View{Members: append(members[:len(members):len(members)], suspect, draining)}
			nodes := v.WithRoom("f", "l", random)
			seen := map[string]bool{}
			for _, n := range nodes {
				seen[n.Name] = true
			}
			if len(nodes) != len(members) || len(seen) != len(members) {
				t.Fatalf("%v of %d", nodes, len(members))
			}
			count[nodes[0].Name]++
		}
		return count
	}
	near := func(got, want int) {
		t.Helper()
		if got < want-120 || got > want+120 {
			t.Errorf("%d of 3000 times first, want about %d", got, want)
		}
	}
	even := firsts(member("a", 5, 0), member("b", 5, 0), member("c", 5, 0))
	near(even["a"], 1000)
	near(even["b"], 1000)
	uneven := firsts(member("a", 3, 0), member("b", 1, 0)) // b is first only if both draws are b
	near(uneven["b"], 3000/16)
	warm := firsts(member("a", 5, 0), member("b", 5, 1))
	near(warm["b"], 2250)
	if v := (&View{Members: []Member{member("a", 0, 0)}}).WithRoom("f", "l", random); len(v) != 0 {
		t.Errorf("%v", v)
	}
}
