package faults

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// clusterJudge judges a run of a cluster.
type clusterJudge struct {
	*cluster
	load   *load
	watch  *watch
	games  []*game
	healed time.Time // when the plan was over
}

// ends reports whether the game sessions of a host must end in the run.
func (j *clusterJudge) ends(node int) bool {
	return j.plan.EndsMax > 0 && j.nodes[node].under(time.Time{}, time.Now(), 0)
}

// began returns when the first fault of a host began. It must have had one.
func (m *machine) began() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hurts[0].from
}

// judge adds the verdicts.
func (j *clusterJudge) judge(ctx context.Context, report *Report) error {
	report.Calls = j.load.table()
	add := func(all ...Verdict) { report.Verdicts = append(report.Verdicts, all...) }
	if err := j.judgePlayers(ctx, report); err != nil { // first, because it judges how long players wait
		return err
	}
	add(j.judgeGames(), j.judgeFound())
	add(j.judgeCalls()...)
	placements, err := j.judgePlacements(ctx)
	add(placements...)
	if err != nil {
		return err
	}
	state, err := j.judgeState(ctx)
	add(state...)
	if err != nil {
		return err
	}
	j.watch.mu.Lock()
	add(j.load.twice.judge("CL-203", "one token makes one game session", "%d did not", j.load.twice.count),
		j.watch.back.judge("CL-205", "no host takes back what it said about a game session", "%d answers did", j.watch.back.count),
		j.watch.noted.judge(j.plan.Row, "processes end when they are asked to", "%d did not", j.watch.noted.count))
	j.watch.mu.Unlock()
	return nil
}

// judgeGames judges whether game sessions ended when they had to, and only then.
func (j *clusterJudge) judgeGames() Verdict {
	j.watch.mu.Lock()
	defer j.watch.mu.Unlock()
	var wrong violations
	first, last, must := time.Duration(-1), time.Duration(0), 0
	for _, g := range j.games {
		for node, at := range j.watch.ended[g.id] {
			switch m := j.nodes[g.node]; {
			case !j.ends(g.node):
				if !at.IsZero() {
					wrong.add("node-%d says that a game session of %s ended", node, m.name)
				}
			case at.IsZero():
				wrong.add("node-%d does not say that a game session of %s ended", node, m.name)
			case !j.nodes[node].under(m.began(), at, 0):
				must++
				after := at.Sub(m.began())
				last = max(last, after)
				if first < 0 || after < first {
					first = after
				}
			}
		}
	}
	if j.plan.EndsMax == 0 {
		return wrong.judge(j.plan.Row, "no game session ends", "%d game sessions", len(j.games))
	}
	v := wrong.judge(j.plan.Row, fmt.Sprintf("game sessions of the host under fault are TERMINATED at the others after %v to %v, and no others",
		time.Duration(j.plan.EndsMin), time.Duration(j.plan.EndsMax)), "%d answers, after %v to %v", must, first.Round(time.Millisecond), last.Round(time.Millisecond))
	if must == 0 || first < time.Duration(j.plan.EndsMin) || last > time.Duration(j.plan.EndsMax)+statusEvery {
		v.Outcome = broken
	}
	return v
}

// judgeFound judges how long it took to detect a fault, and to recover from it.
func (j *clusterJudge) judgeFound() Verdict {
	j.watch.mu.Lock()
	defer j.watch.mu.Unlock()
	var words []string
	for _, m := range j.nodes {
		m.mu.Lock()
		hurts := slices.Clone(m.hurts)
		m.mu.Unlock()
		for _, s := range hurts {
			for _, at := range j.watch.gone[m.name] {
				if at.After(s.from) && at.Before(s.to) {
					words = append(words, fmt.Sprintf("%s unregistered after %.1f s", m.name, at.Sub(s.from).Seconds()))
				}
			}
			for _, at := range j.watch.joined[m.name] {
				if at.After(s.from) {
					words = append(words, fmt.Sprintf("registered %.1f s after the end", at.Sub(s.to).Seconds()))
				}
			}
		}
	}
	for i, l := range j.watch.led {
		if i > 0 {
			words = append(words, fmt.Sprintf("%s leads after %.1f s", l.node, l.at.Sub(j.firstFault()).Seconds()))
		}
	}
	most := time.Duration(j.plan.Back)
	if most == 0 {
		most = healedMax
	}
	whole := max(0, j.watch.whole.Sub(j.lastFault()))
	ok := !j.watch.whole.IsZero() && whole <= most+watchEvery
	promise := fmt.Sprintf("all hosts are registered, and one leads, within %v", most)
	if j.plan.LeadMax > 0 {
		promise += fmt.Sprintf("; another host leads within %v", time.Duration(j.plan.LeadMax))
		ok = ok && len(j.watch.led) > 1 && j.watch.led[1].at.Sub(j.firstFault()) <= time.Duration(j.plan.LeadMax)+watchEvery
	}
	return judge("CL-210", promise, ok, "after %v; %s", whole.Round(time.Millisecond), strings.Join(words, ", "))
}

// faults returns the faults of all processes.
func (c *cluster) faults() (all []span) {
	for _, m := range slices.Concat(c.nodes, c.members) {
		m.mu.Lock()
		all = append(all, m.hurts...)
		m.mu.Unlock()
	}
	return all
}

// firstFault returns when the first fault began.
func (j *clusterJudge) firstFault() time.Time {
	return slices.MinFunc(j.faults(), func(a, b span) int { return a.from.Compare(b.from) }).from
}

// lastFault returns when the last fault ended.
func (j *clusterJudge) lastFault() time.Time {
	return slices.MaxFunc(j.faults(), func(a, b span) int { return a.to.Compare(b.to) }).to
}

// allowed reports whether a host that is not under fault may answer a call so. faulty means that another process is under
// fault, or was shortly before. lost holds the game sessions that end.
func allowed(a asked, faulty bool, lost map[string]bool) bool {
	switch {
	case a.code == codeOK:
		return true
	case a.operation == "CreatePlayerSession" && a.code == "InvalidGameSessionStatusException", a.code == codeOver:
		return len(lost) > 0
	}
	return faulty && a.code == codeInternal
}

// judgeCalls judges the codes of the calls.
func (j *clusterJudge) judgeCalls() []Verdict {
	all := slices.Concat(j.nodes, j.members)
	lost := map[string]bool{}
	for _, g := range j.games {
		if j.ends(g.node) {
			lost[g.id] = true
		}
	}
	etcdAway := slices.ContainsFunc(j.events, func(e Event) bool { return e.Target == "etcd" && !e.Fault.onDisk() })
	var wrong, away, cut violations
	internal, total, refused := 0, 0, 0
	early := uint64(0) // refusals while nothing was under fault
	longest := time.Duration(0)
	j.load.mu.Lock()
	defer j.load.mu.Unlock()
	for _, a := range j.load.made {
		if j.nodes[a.node].under(a.from, a.to, backGrace) {
			continue
		}
		faulty := slices.ContainsFunc(all, func(m *machine) bool { return m.under(a.from, a.to, backGrace) })
		total++
		longest = max(longest, a.to.Sub(a.from))
		if a.code == codeInternal {
			internal++
		}
		if !allowed(a, faulty, lost) {
			if a.code == codeInternal {
				early++
			}
			wrong.add("%s at node-%d: %s after %v, %v after the first fault", a.operation, a.node, a.code, a.to.Sub(a.from).Round(time.Millisecond), a.from.Sub(j.firstFault()).Round(time.Millisecond))
		}
		if !etcdAway || slices.ContainsFunc(j.members, func(m *machine) bool { return !m.within(a.from, a.to) }) {
			continue
		}
		needs := a.operation == "CreateGameSession" || a.operation == "StartGameSessionPlacement"
		if needs {
			refused++
		}
		switch {
		case needs && a.code == codeOK:
			away.add("%s at node-%d, %v after the fault", a.operation, a.node, a.from.Sub(j.firstFault()).Round(time.Millisecond))
		case !needs && a.code != codeOK:
			cut.add("%s at node-%d: %s", a.operation, a.node, a.code)
		}
	}
	verdicts := []Verdict{j.unlessBusy(wrong.judge(j.plan.Row, "hosts that are not under fault answer, during a fault at most InternalServiceException", "%d calls, %d with InternalServiceException", total, internal), wrong.count == early)}
	if etcdAway {
		verdicts = append(verdicts,
			away.judge("CL-12", "without etcd nothing is created or placed", "%d calls, %d were answered", refused, away.count),
			cut.judge("CL-12", "without etcd seats, logins, searches and probes are answered", "%d were not", cut.count))
	}
	if most := time.Duration(j.plan.CallMax); most > 0 {
		verdicts = append(verdicts, j.unlessBusy(judge(j.plan.Row, fmt.Sprintf("no call takes longer than %v", most), longest <= most, "the longest took %v", longest.Round(time.Millisecond)), true))
	}
	return verdicts
}

// busy is how late a machine may run a timer before figures that depend on it say nothing.
const busy = 25 * time.Millisecond

// unlessBusy returns a verdict that is not checked, instead of broken, if it is only about times and the machine was too
// busy to tell.
func (j *clusterJudge) unlessBusy(v Verdict, times bool) Verdict {
	if late := time.Duration(j.late.most.Load()); times && v.Outcome == broken && late > busy {
		v.Outcome = notChecked
		v.Detail += fmt.Sprintf("; this machine ran up to %v late", late.Round(time.Millisecond))
	}
	return v
}

// within reports whether an interval is inside a fault.
func (m *machine) within(from, to time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.hurts, func(s span) bool { return from.After(s.from) && to.Before(s.to) })
}

// each calls do for each value, some at once.
func each[T any](values []T, do func(v T)) {
	var work sync.WaitGroup
	slots := make(chan struct{}, 8)
	for _, v := range values {
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			do(v)
		})
	}
	work.Wait()
}

// judgePlacements waits until all placements have ended and judges how.
func (j *clusterJudge) judgePlacements(ctx context.Context) ([]Verdict, error) {
	var mu sync.Mutex
	var wrong, unequal violations
	statuses := map[string]int{}
	ended := map[string]string{}
	deadline := time.Now().Add(time.Minute + foundMax)
	each(j.load.placements, func(id string) {
		said := map[string]int{}
		for node := range j.nodes {
			for said["PENDING"] == 0 || node == 0 {
				var out struct{ GameSessionPlacement struct{ Status string } }
				err := j.nodes[node].client().Call(ctx, "DescribeGameSessionPlacement", struct{ PlacementId string }{id}, &out)
				status := out.GameSessionPlacement.Status
				if err != nil {
					status = codeOf(err)
				}
				if node == 0 && status == "PENDING" && time.Now().Before(deadline) && rest(ctx, 100*time.Millisecond) == nil {
					continue
				}
				said[status]++
				break
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if len(said) != 1 {
			unequal.add("%s: %v", id, said)
			return
		}
		for status := range said {
			statuses[status]++
			ended[id] = status
		}
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err := rest(ctx, 2*time.Second); err != nil { // for the last events
		return nil, err
	}
	events, err := j.readEvents()
	if err != nil {
		return nil, err
	}
	ends := map[string]string{"FULFILLED": "PlacementFulfilled", "TIMED_OUT": "PlacementTimedOut", "FAILED": "PlacementFailed", "CANCELLED": "PlacementCancelled"}
	failed := 0
	for id, status := range ended {
		if e := events[id]; len(e) != 1 || e[ends[status]] != 1 {
			wrong.add("%s is %s and has the events %v", id, status, e)
		}
		if status != "FULFILLED" {
			failed++
		}
	}
	terminated, games := 0, violations{}
	for _, g := range j.games {
		n := events[g.id]["GameSessionTerminated"]
		terminated += n
		if want := map[bool]int{true: 1}[j.ends(g.node)]; n != want {
			games.add("%s of node-%d has %d events of its end", g.id, g.node, n)
		}
	}
	return []Verdict{
		judge(j.plan.Row, "no placement that was started fails", failed == 0 && len(ended) > 0, "%d placements, ended as %v", len(j.load.placements), statuses),
		unequal.judge("CL-13", "each host says the same about a placement", "%d placements, %d are told in different ways", len(j.load.placements), unequal.count),
		wrong.judge("CL-204", "each placement has ended once, with one event", "%d placements, %d have not", len(ended), wrong.count),
		games.judge("CL-204", "each game session that ended has one event of its end", "%d game sessions, %d events", len(j.games), terminated),
	}, nil
}

// judgeState compares what the hosts and the directory say about what was answered.
func (j *clusterJudge) judgeState(ctx context.Context) ([]Verdict, error) {
	directory, err := j.directory(ctx)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var forgotten, records, gone violations
	counts := map[string]int{}
	played := map[string]int{}
	var others []string
	ids := slices.Collect(maps.Values(j.load.created))
	for _, g := range j.games {
		ids = append(ids, g.id)
		played[g.id] = g.node
	}
	each(ids, func(id string) {
		said := map[string]int{}
		for _, m := range j.nodes {
			var out struct{ GameSessions []struct{ Status string } }
			err := m.client().Call(ctx, "DescribeGameSessions", struct{ GameSessionId string }{id}, &out)
			switch {
			case err != nil:
				said[codeOf(err)]++
			case len(out.GameSessions) == 0:
				said["unknown"]++
			default:
				said[out.GameSessions[0].Status]++
			}
		}
		mu.Lock()
		defer mu.Unlock()
		owner, listed := directory[id]
		for status := range said {
			if counts[status]++; len(said) > 1 || status != "ACTIVE" && status != "TERMINATED" {
				forgotten.add("%s is %v", id, said)
				return
			}
			if listed != (status == "ACTIVE") {
				records.add("%s is %s, and in the directory: %v", id, status, listed)
			}
		}
		if node, ok := played[id]; ok && listed && owner != j.nodes[node].name {
			records.add("%s is played at node-%d, and the directory has %s", id, node, owner)
		}
	})
	// The others are game sessions of placements and of calls that were not answered.
	for id := range directory {
		if !slices.Contains(ids, id) {
			others = append(others, id)
		}
	}
	each(others, func(id string) {
		status, err := j.nodes[0].process().Status(ctx, id)
		if status != "ACTIVE" {
			mu.Lock()
			defer mu.Unlock()
			records.add("%s is %q in the directory, %v", id, status, err)
		}
	})
	var seats []seat
	for _, s := range j.load.seats {
		if !j.ends(s.g.node) {
			seats = append(seats, s)
		}
	}
	each(seats, func(s seat) {
		var out struct{ PlayerSessions []struct{ Status string } }
		err := j.nodes[0].client().Call(ctx, "DescribePlayerSessions", struct{ PlayerSessionId string }{s.id}, &out)
		if err != nil || len(out.PlayerSessions) != 1 {
			mu.Lock()
			defer mu.Unlock()
			gone.add("%s: %v", s.id, err)
		}
	})
	return []Verdict{
		forgotten.judge("CL-209", "each game session that was created is known, and equal, at each host", "%d game sessions, as %v", len(ids), counts),
		records.judge("CL-202", "running game sessions are in the directory under their hosts, and no others", "%d records, %d of them of placements and unanswered calls", len(directory), len(others)),
		gone.judge("CL-208", "each seat that was answered is there", "%d seats, %d are not", len(seats), gone.count),
	}, ctx.Err()
}

// judgePlayers judges the delivery to players whose game sessions did not end.
func (j *clusterJudge) judgePlayers(ctx context.Context, report *Report) error {
	var merged []Verdict
	crews := 0
	slowest := time.Duration(0)
	for _, g := range j.games {
		if j.ends(g.node) {
			continue
		}
		after, err := j.recover(ctx, g.crew, j.healed)
		if err != nil {
			return err
		}
		var f Figures
		verdicts := g.crew.delivery(&f, after)
		report.Figures.add(&f)
		crews++
		if merged == nil {
			merged = verdicts
		}
		for i, v := range verdicts {
			if v.Outcome == broken && merged[i].Outcome != broken {
				merged[i] = v
				merged[i].Detail = fmt.Sprintf("game session of node-%d: %s", g.node, v.Detail)
			}
		}
		if j.nodes[g.node].under(time.Time{}, time.Now(), 0) {
			continue
		}
		for _, p := range g.crew.players {
			p.mu.Lock()
			slowest = max(slowest, p.slowest)
			p.mu.Unlock()
		}
	}
	for i := range merged {
		if merged[i].Outcome == holds {
			merged[i].Detail = fmt.Sprintf("in %d game sessions", crews)
		}
	}
	report.Verdicts = append(report.Verdicts, merged...)
	report.Figures.Goroutines = -1
	report.Figures.SlowestElsewhereMs = float64(slowest) / float64(time.Millisecond)
	return nil
}

// add adds the figures of another game session. Times are those of the worst one.
func (f *Figures) add(o *Figures) {
	f.Sent, f.Unsent, f.Delivered, f.Lost, f.LostAndTold = f.Sent+o.Sent, f.Unsent+o.Unsent, f.Delivered+o.Delivered, f.Lost+o.Lost, f.LostAndTold+o.LostAndTold
	f.Duplicated, f.OutOfOrder, f.FastSent, f.FastDelivered = f.Duplicated+o.Duplicated, f.OutOfOrder+o.OutOfOrder, f.FastSent+o.FastSent, f.FastDelivered+o.FastDelivered
	f.Resumes, f.ResumesFailed = f.Resumes+o.Resumes, f.ResumesFailed+o.ResumesFailed
	f.ReattachP50Ms, f.ReattachP99Ms, f.ReattachMaxMs = max(f.ReattachP50Ms, o.ReattachP50Ms), max(f.ReattachP99Ms, o.ReattachP99Ms), max(f.ReattachMaxMs, o.ReattachMaxMs)
	f.HealedMs = max(f.HealedMs, o.HealedMs)
}
