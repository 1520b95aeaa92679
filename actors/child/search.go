package child

import "iter"

// looksMax bounds the looks of a search: on a machine where processes start all the time, no look may be the last.
const looksMax = 100

// search finds processes. A process may start another one and end while the list of all is read, so that neither is
// seen. So a search looks at the list again until it has nothing on it that an earlier look has not seen.
type search struct {
	list func() []int       // the process ids of the system, at this moment
	is   func(pid int) bool // whether a process is one of those sought; false if it has ended
	// unsure is set by all: after looksMax looks there were still new processes, so there may be more of those sought.
	unsure bool
}

// all returns the processes sought, each once, as soon as it is seen.
func (s *search) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		seen := make(map[int]bool)
		for range looksMax {
			news := false
			for _, pid := range s.list() {
				if seen[pid] {
					continue
				}
				seen[pid], news = true, true
				if s.is(pid) && !yield(pid) {
					return
				}
			}
			if !news {
				return
			}
		}
		s.unsure = true
	}
}

// any reports whether there is a process of those sought, or may be one.
func (s *search) any() bool {
	for range s.all() {
		return true
	}
	return s.unsure
}

// end stops all processes sought and kills them when no other one is left that could start more: a process that is
// stopped still counts for the limits of its user and its control group, so one that starts others without end cannot
// replace those that are killed. It returns false if there may be more of them.
func (s *search) end(stop, kill func(pid int)) bool {
	var all []int
	for pid := range s.all() {
		stop(pid)
		all = append(all, pid)
	}
	for _, pid := range all {
		kill(pid)
	}
	return !s.unsure
}
