package child

import (
	"fmt"
	"slices"
	"testing"
)

// machine is a system without a kernel. Process ids from 1000 on are sought.
type machine struct {
	alive []int
	steps []func(*machine) // what happens between looks at the list or at a process
	did   []string
}

func (m *machine) step() {
	if len(m.steps) > 0 {
		m.steps[0](m)
		m.steps = m.steps[1:]
	}
}

// fork starts a process, and ends another one if it is not 0.
func fork(child, ends int) func(*machine) {
	return func(m *machine) {
		m.alive = append(m.alive, child)
		m.alive = slices.DeleteFunc(m.alive, func(p int) bool { return p == ends })
	}
}

func wait(*machine) {}

func (m *machine) search() *search {
	return &search{
		list: func() []int {
			all := slices.Clone(m.alive)
			m.step()
			return all
		},
		is: func(pid int) bool {
			is := pid >= 1000 && slices.Contains(m.alive, pid)
			m.step()
			return is
		},
	}
}

func TestASearchFindsWhatStartsDuringIt(t *testing.T) {
	for name, try := range map[string]struct {
		alive []int
		steps []func(*machine)
		found bool
	}{
		"nothing":                         {[]int{1, 2}, nil, false},
		"one that stays":                  {[]int{1, 1000}, nil, true},
		"one that ends":                   {[]int{1, 1000}, []func(*machine){func(m *machine) { m.alive = []int{1} }}, false},
		"a double fork after the list":    {[]int{1, 1000}, []func(*machine){fork(1001, 1000)}, true},
		"a double fork to an id before":   {[]int{1, 2, 1005}, []func(*machine){wait, fork(1000, 1005)}, true},
		"several, one after the other":    {[]int{1, 1000}, []func(*machine){fork(1001, 1000), wait, fork(1002, 1001), fork(1003, 1002)}, true},
		"processes of others come and go": {[]int{1, 2}, []func(*machine){fork(3, 2), fork(4, 3), wait, fork(5, 4)}, false},
	} {
		m := &machine{alive: try.alive, steps: try.steps}
		if found := m.search().any(); found != try.found {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// Where others start processes all the time, a search ends, too, and does not say that there is nothing.
func TestASearchEnds(t *testing.T) {
	n, looks := 1, 0
	s := &search{list: func() []int { looks++; n++; return []int{n} }, is: func(int) bool { return false }}
	if !s.any() || !s.unsure || looks != looksMax {
		t.Errorf("unsure %v after %d looks", s.unsure, looks)
	}
	if s.end(func(int) {}, func(int) {}) {
		t.Error("all are ended")
	}
}

// A process that starts others without end can be ended if there is a limit: what is stopped keeps its place in it.
func TestAForkBombIsStoppedBeforeItIsKilled(t *testing.T) {
	const most = 50
	next, state, order := 1000, map[int]string{1000: "runs"}, ""
	s := &search{
		list: func() (all []int) {
			for pid := range state {
				all = append(all, pid)
			}
			for _, pid := range slices.Clone(all) { // each that runs starts two more, if it may
				for range 2 {
					if state[pid] == "runs" && len(state) < most {
						next++
						state[next] = "runs"
					}
				}
			}
			return all
		},
		is: func(int) bool { return true },
	}
	ok := s.end(func(pid int) { state[pid] = "stopped" }, func(pid int) {
		if order == "" {
			order = fmt.Sprint(len(state), " before the first is killed")
		}
		delete(state, pid)
	})
	if !ok || len(state) != 0 || order != "50 before the first is killed" {
		t.Errorf("%v, %d left, %s", ok, len(state), order)
	}
}
