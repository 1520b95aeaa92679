package watchdog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestHowMuchMayBeInExcess(t *testing.T) {
	for _, c := range []struct{ limit, memory, want int64 }{
		{256 * mib, 0, 1024 * mib}, {256 * mib, 16384 * mib, 1024 * mib}, {256 * mib, 2048 * mib, 512 * mib}, {64 * mib, 512 * mib, 128 * mib}, {0, 512 * mib, 0},
	} {
		if got := excessMax(c.limit, c.memory); got != c.want {
			t.Errorf("%d MiB of %d MiB: %d MiB", c.limit/mib, c.memory/mib, got/mib)
		}
	}
}

func TestWhatIsDoneAboutAnExcess(t *testing.T) {
	const most = 1024
	owner := func(grown int64) suspect { return suspect{grown: grown, measured: true} }
	call := func(grown int64) suspect { return suspect{grown: grown, abandoned: true} }
	for name, c := range map[string]struct {
		bytes int64
		all   []suspect
		do    action
		at    int
	}{
		"as much as may be":             {most, []suspect{owner(most)}, bear, -1},
		"nobody":                        {3 * most, nil, bear, -1},
		"little to each":                {2 * most, []suspect{owner(255), owner(255), call(255)}, bear, -1},
		"little to each, and very much": {2*most + 1, []suspect{owner(254), owner(255), call(255)}, end, 1},
		"nearly nothing to each":        {9 * most, []suspect{owner(63), owner(63), call(63)}, bear, -1},
		"the one with most":             {most + 1, []suspect{owner(256), owner(300), owner(280)}, end, 1},
		"the first of two alike":        {most + 1, []suspect{owner(256), owner(256)}, end, 0},
		"not measured since":            {most + 1, []suspect{owner(256), {grown: 300}, owner(280)}, measure, 1},
		"measured, and explained":       {most + 1, []suspect{owner(256), owner(0), owner(-200)}, end, 0},
		"a call that cannot be ended":   {most + 1, []suspect{owner(10), call(900)}, outgrown, 1},
		"an owner beside it":            {most + 1, []suspect{owner(450), call(900)}, end, 0},
		"one to be measured beside it":  {most + 1, []suspect{{grown: 450}, call(900)}, measure, 0},
		"less than half to the owner":   {most + 1, []suspect{owner(449), call(900)}, outgrown, 1},
		"nobody but such a call":        {most + 1, []suspect{call(256)}, outgrown, 0},
		"the one of two with most":      {most + 1, []suspect{call(256), call(257)}, outgrown, 1},
	} {
		if do, at := relief(c.bytes, most, c.all); do != c.do || at != c.at {
			t.Errorf("%s: %d with %d, want %d with %d", name, do, at, c.do, c.at)
		}
	}
}

// process is a process whose owners allocate what the test decides. Garbage is only collected on request.
type process struct {
	heap
	d        Watchdog
	lock     chan struct{}    // a channel, because a goroutine that waits for a mutex would stop virtual time
	kept     map[*owner]int64 // by owner: bytes that a collection finds alive in addition to the measured ones
	outgrown []string
}

func processOf(t *testing.T) *process {
	p := &process{kept: make(map[*owner]int64), lock: make(chan struct{}, 1)}
	p.d = Watchdog{heapFake: p.read, collectFake: p.collect}
	p.live.Store(300 * mib)
	t.Cleanup(p.d.Relieve(Process{Memory: 4096 * mib, Own: func() int64 { return 300 * mib }, Outgrown: func(reason string, urgent bool) {
		p.lock <- struct{}{}
		defer func() { <-p.lock }()
		p.outgrown = append(p.outgrown, fmt.Sprint(urgent, " ", reason))
	}}))
	return p
}

func (p *process) collect() {
	p.lock <- struct{}{}
	defer func() { <-p.lock }()
	live := int64(300 * mib)
	for _, n := range p.kept {
		live += n
	}
	p.live.Store(live)
	p.cycles.Add(1)
}

// keep makes an owner keep more bytes, and returns the total.
func (p *process) keep(o *owner, more int64) int64 {
	p.lock <- struct{}{}
	defer func() { <-p.lock }()
	p.kept[o] += more
	return p.kept[o]
}

// told returns how often Process.Outgrown was called.
func (p *process) told() int {
	p.lock <- struct{}{}
	defer func() { <-p.lock }()
	return len(p.outgrown)
}

// why returns why an owner was ended, or "" if it was not.
func (p *process) why(o *owner) string {
	synctest.Wait() // the watchdog may be about to end the owner
	p.lock <- struct{}{}
	defer func() { <-p.lock }()
	return o.interrupted
}

// owner returns a new owner with a limit of 64 MiB. So the limit of the excess is 256 MiB.
func (p *process) owner(t *testing.T) *owner {
	o := ownerIn(t, &p.d)
	o.o.Ask = func() { go p.tick(o, 0, 0) }
	return o
}

// tick makes an owner allocate bytes in a call and keep some of them.
func (p *process) tick(o *owner, allocates, keeps int64) {
	p.lock <- struct{}{}
	defer func() { <-p.lock }()
	if o.interrupted != "" {
		return
	}
	o.Begin()
	p.allocated.Add(allocates)
	p.kept[o] += keeps
	time.Sleep(time.Millisecond)
	if _, v := o.End(); v != InTime {
		delete(p.kept, o)
		o.Release()
	}
}

// Among owners whose memory is invisible to measurements, the one with most of it is ended first. No other
// owner is ended, however much garbage it makes.
func TestWhoMakesTheExcessEnds(t *testing.T) {
	steady := func(mibs ...int64) func(second int) []int64 { return func(int) []int64 { return mibs } }
	for name, c := range map[string]struct {
		garbage []int64                  // MiB of garbage that each owner makes per second
		keeps   func(second int) []int64 // additional MiB that each owner keeps; -1 means that it makes no call
		ends    []int
	}{
		"one beside nobody":                 {[]int64{0, 0, 0}, steady(20, 0, 0), []int{0}},
		"one beside others":                 {[]int64{2, 0, 2}, steady(0, 20, 0), []int{1}},
		"one beside one that makes as much": {[]int64{15, 0, 2}, steady(0, 20, 0), []int{1}},
		"two, until it has fallen":          {[]int64{0, 0, 1}, steady(30, 20, 0), []int{0, 1}},
		"garbage alone":                     {[]int64{50, 50, 50}, steady(0, 0, 0), nil},
		"one that makes no more calls": {[]int64{1, 1, 1}, func(second int) []int64 {
			if second < 30 {
				return []int64{10, 0, 0}
			}
			return []int64{-1, 0, 0}
		}, []int{0}},
		"others than one that has let go": {[]int64{0, 0, 0}, func(second int) []int64 {
			switch {
			case second < 22:
				return []int64{11, 2, 0}
			case second == 22:
				return []int64{-242, 0, 0}
			}
			return []int64{0, 10, 11}
		}, []int{2, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := processOf(t)
				all := []*owner{p.owner(t), p.owner(t), p.owner(t)}
				var ended []int
				for second := range 90 {
					for i, keeps := range c.keeps(second) {
						o := all[i]
						if keeps != -1 {
							p.tick(o, (c.garbage[i]+max(0, keeps))*mib, keeps*mib)
						}
						if why := p.why(o); why != "" && !slices.Contains(ended, i) {
							ended = append(ended, i)
							if !strings.Contains(why, "script.memoryMax") {
								t.Error(why)
							}
						}
					}
					if second == 6 || second == 12 || second == 23 || second == 45 {
						p.collect()
					}
					time.Sleep(time.Second)
				}
				if !slices.Equal(ended, c.ends) || len(p.outgrown) > 0 {
					t.Errorf("%v end, want %v; %v", ended, c.ends, p.outgrown)
				}
				if excess := p.live.Load() - 300*mib; excess > 256*mib {
					t.Errorf("%d MiB are left", excess/mib)
				}
			})
		})
	}
}

// An owner whose memory can be measured is not ended because of the excess.
func TestWhatIsMeasuredIsNoExcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := processOf(t)
		var all []*owner
		for range 24 {
			o := p.owner(t)
			o.takes = 100 * time.Millisecond // so that most owners are not measured for a long time
			all = append(all, o)
		}
		for range 60 {
			for _, o := range all {
				p.tick(o, 4*mib, mib) // 60 MiB at the end; the limit is 64
				o.held = p.keep(o, 0)
			}
			time.Sleep(time.Second)
			p.collect()
		}
		for i, o := range all {
			if why := p.why(o); why != "" {
				t.Error(i, why)
			}
		}
	})
}

// An owner with much measurable memory is not ended before owners that keep less memory, but invisible
// memory.
func TestWhatIsMeasuredIsNotPutDownToAnybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := processOf(t)
		seen := p.owner(t)
		var hogs []*owner
		for range 12 {
			hogs = append(hogs, p.owner(t))
		}
		ended := 0
		for second := range 60 {
			more := mib * int64(second%3) // 60 MiB at the end
			if p.tick(seen, more, more); second%20 == 19 {
				p.collect()
			}
			seen.held = p.keep(seen, 0)
			ended = 0
			for _, o := range hogs {
				if p.tick(o, mib, mib); p.why(o) != "" {
					ended++
				}
			}
			time.Sleep(time.Second)
		}
		if why := p.why(seen); why != "" || ended == 0 {
			t.Errorf("%q, and %d of the others end", why, ended)
		}
	})
}

// If a call that cannot be ended takes more and more memory, Process.Outgrown is called once, and again when
// most of the memory is used.
func TestACallThatOutgrowsTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := processOf(t)
		gone := make(chan struct{})
		w := p.d.Watch(Options{Limit: time.Second, MemoryMax: 64 * mib, Held: func(int64) int64 { return 0 }, Interrupt: func(string) {}, Stuck: func(string) { close(gone) }})
		hog := &owner{Watch: w}
		w.Begin()
		<-gone
		w.Release() // the game session has ended
		for second := range 330 {
			p.allocated.Add(10 * mib)
			p.keep(hog, 10*mib)
			if second%10 == 0 {
				p.collect()
			}
			time.Sleep(time.Second)
			if n := p.told(); n == 1 && p.live.Load() > 3200*mib || n == 0 && p.live.Load() > 1024*mib {
				t.Fatalf("at %d MiB: %q", p.live.Load()/mib, p.outgrown)
			}
		}
		if len(p.outgrown) != 2 || !strings.HasPrefix(p.outgrown[0], "false a call into a script") || !strings.HasPrefix(p.outgrown[1], "true ") {
			t.Errorf("%q", p.outgrown)
		}
		if _, v := w.End(); v != Stuck || len(p.d.abandoned) != 0 {
			t.Error(v, p.d.abandoned)
		}
	})
}
