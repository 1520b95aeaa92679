package fleet

import (
	"crypto/subtle"
	"slices"
	"strings"
	"time"

	"troupe/actors/serverprocess"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/counters"
)

const (
	// serversMax limits the processes of this host that have not ended.
	serversMax = 50_000
	// computeServersMax limits those of one compute that are connected or have a game session, and computeRecordsMax all of
	// them, so that who has its token keeps out no process of others. Between the two are those of a machine that has crashed,
	// until they are dead. GameLift's instances run 50. Those that this host starts have a limit of their own
	// (fleets[].server.processes).
	computeServersMax = 1000
	computeRecordsMax = 2 * computeServersMax
	// usedUpMax limits the ids of ended processes that are kept, so that nobody uses them again. The oldest of the compute
	// with the most are dropped, usedUpDrop at a time at most.
	usedUpMax  = 50_000
	usedUpDrop = 50
)

// serverCompute names a compute.
type serverCompute struct {
	fleet messages.FleetID
	name  string
}

func computeOf(id messages.ProcessID) serverCompute { return serverCompute{id.FleetID, id.Compute} }

// openServer accepts a connection of a process, or returns why not.
func (gs *games) openServer(id messages.ProcessID, link messages.ProcessLink, q messages.OpenProcess) error {
	now := gs.context.Now()
	compute := gs.catalog.Compute(id.FleetID, id.Compute)
	ends, reason, err := gs.admitServer(id, compute, q, now)
	if q.MayBeOld && (reason == counters.ServerUnknownCompute || reason == counters.ServerToken) {
		return messages.ErrMayBeOld
	}
	if reason != 0 {
		gs.context.Counters().ServerRefused.Add(reason, 1)
		return err
	}
	if q.Asks {
		return nil
	}
	p := gs.servers.of[id]
	if p == nil {
		p = &server{id: id, machine: serverprocess.New(now)}
		gs.servers.add(p)
	} else {
		p.machine.Open()
		if p.link != nil {
			p.link.Supersede()
			if len(p.formers) < formersMax {
				p.formers = append(p.formers, p.serverConnection)
			}
		}
	}
	gs.unlist(p) // its location may have changed
	p.compute = *compute
	p.compute.Tokens = nil
	p.serverConnection = serverConnection{link: link, signature: q.Signature, renewAt: renewal(id, ends, now)}
	gs.settle(p)
	return nil
}

// resumeServer makes the connection that was superseded the current one again.
func (gs *games) resumeServer(p *server, link messages.ProcessLink) error {
	i := p.former(link)
	switch {
	case p.link == link: // it was never superseded
		return nil
	case p.link != nil || i < 0:
		return messages.RefuseProcess(409, "Another connection of the process is the current one.")
	}
	p.serverConnection = p.formers[i]
	p.formers = slices.Delete(p.formers, i, i+1)
	p.heard = false // what was pushed meanwhile waits for a heartbeat
	p.machine.Open()
	gs.settle(p)
	return nil
}

// former returns the index of a superseded connection, or -1.
func (p *server) former(link messages.ProcessLink) int {
	return slices.IndexFunc(p.formers, func(c serverConnection) bool { return c.link == link })
}

// admitServer checks a handshake (server-sdk.md 5.1). ends is when its token expires. reason is 0 if it is accepted.
func (gs *games) admitServer(id messages.ProcessID, compute *messages.Compute, q messages.OpenProcess, now time.Time) (ends time.Time, reason counters.ServerRefusal, err error) {
	p := gs.servers.of[id]
	switch {
	case compute == nil:
		return ends, counters.ServerUnknownCompute, messages.RefuseProcess(403, "The fleet or the compute is not registered.")
	case compute.Host && !gs.servers.launched[id]:
		return ends, counters.ServerNotLaunched, messages.RefuseProcess(403, "The compute is a host of Troupe, which has not started this process.")
	case gs.servers.ended.has(id) || gs.servers.unread.Has(store.Process, processKey(id).ID):
		return ends, counters.ServerUsedUp, messages.RefuseProcess(403, "The process id was used by a process that has ended.")
	case q.TokenSHA256 == "" && !q.Signed && (p == nil || q.Signature == "" || p.signature != q.Signature):
		return ends, counters.ServerSignature, messages.RefuseProcess(403, "The signature is not valid.")
	}
	if q.TokenSHA256 != "" {
		if ends = tokenEnds(compute, q.TokenSHA256, now); ends.IsZero() {
			return ends, counters.ServerToken, messages.RefuseProcess(403, "The token is wrong, or has expired.")
		}
	}
	switch {
	case p != nil:
	case gs.drain.on:
		return ends, counters.ServerDraining, messages.RefuseProcess(503, "The host is shutting down.")
	case !compute.Host && gs.servers.perCompute[computeOf(id)].full():
		return ends, counters.ServerComputeFull, messages.RefuseProcess(429, "The compute has %d processes with a connection or a game session already, or %d in all.", computeServersMax, computeRecordsMax)
	case len(gs.servers.of) >= serversMax:
		return ends, counters.ServerHostFull, messages.RefuseProcess(503, "There are %d processes already.", serversMax)
	}
	return ends, 0, nil
}

// tokenEnds returns when a token of a compute expires, or the zero time if it is not valid. It takes the same time for
// each wrong token.
func tokenEnds(c *messages.Compute, hash string, now time.Time) (ends time.Time) {
	for _, t := range c.Tokens {
		if subtle.ConstantTimeCompare([]byte(t.SHA256), []byte(hash)) == 1 && now.Before(t.Expires) {
			ends = t.Expires
		}
	}
	return ends
}

// computeUse counts the processes of a compute that have not ended.
type computeUse struct {
	all    int
	active int // those that are connected, or have a game session
}

func (u computeUse) full() bool { return u.active >= computeServersMax || u.all >= computeRecordsMax }

func (s *servers) add(p *server) {
	s.of[p.id] = p
	s.use(p, 1, p.isActive())
}

func (s *servers) remove(p *server) {
	delete(s.of, p.id)
	s.use(p, -1, false)
}

// use counts a process. all is 1 for a new one, and -1 for one that has ended.
func (s *servers) use(p *server, all int, active bool) {
	k := computeOf(p.id)
	u := s.perCompute[k]
	if u.all += all; active != p.active {
		if p.active = active; active {
			u.active++
		} else {
			u.active--
		}
	}
	if s.perCompute[k] = u; u.all == 0 {
		delete(s.perCompute, k)
	}
}

func (p *server) isActive() bool { return p.link != nil || p.e != nil }

// forgetServer forgets a process that was never activated and has lost its connection: it may connect with its id again.
func (gs *games) forgetServer(p *server) {
	if p.link != nil || len(p.formers) > 0 || p.changing > 0 || p.machine.State != serverprocess.Connected || p.compute.Host || gs.servers.of[p.id] != p {
		return
	}
	gs.servers.remove(p)
	gs.count(p, 0)
	gs.context.Counters().ServersEnded.Add(counters.ServerNotActivated, 1)
	p.wake.Stop()
	p.wake = nil
}

// count counts a process in a state. State 0 is none.
func (gs *games) count(p *server, s serverprocess.State) {
	if s == serverprocess.Terminated {
		s = 0
	}
	gs.context.Counters().Servers.Move(&p.counted, counters.ServerState(s))
}

// usedUp are the ids of processes that have ended.
type usedUp struct {
	is map[messages.ProcessID]bool
	of map[serverCompute][]messages.ProcessID // the same, oldest first
}

func newUsedUp() usedUp {
	return usedUp{make(map[messages.ProcessID]bool), make(map[serverCompute][]messages.ProcessID)}
}

func (u *usedUp) has(id messages.ProcessID) bool { return u.is[id] }

// add adds an id that is not there, and returns those that are dropped for it.
func (u *usedUp) add(id messages.ProcessID) (dropped []messages.ProcessID) {
	k := computeOf(id)
	u.is[id], u.of[k] = true, append(u.of[k], id)
	for len(u.is) > usedUpMax {
		most := k
		for o, ids := range u.of {
			if n := len(u.of[most]); len(ids) > n || len(ids) == n && o.compare(most) < 0 {
				most = o
			}
		}
		ids := u.of[most]
		n := min(1+len(ids)/16, usedUpDrop)
		dropped = append(dropped, ids[:n]...)
		if u.of[most] = ids[n:]; len(ids) == n {
			delete(u.of, most)
		}
		for _, old := range dropped {
			delete(u.is, old)
		}
	}
	return dropped
}

func (k serverCompute) compare(o serverCompute) int {
	return slices.Compare([]string{string(k.fleet), k.name}, []string{string(o.fleet), o.name})
}

// useUp remembers the id of a process that has ended.
func (gs *games) useUp(id messages.ProcessID) {
	if gs.servers.ended.has(id) {
		return
	}
	var changes []store.Change
	for _, old := range gs.servers.ended.add(id) {
		changes = append(changes, store.Delete(store.Process, processKey(old).ID))
	}
	if len(changes) > 0 {
		gs.ledger.CommitAsync(changes...)
	}
}

// endServers tells the processes to end for which which returns true.
func (gs *games) endServers(which func(p *server) bool) {
	var all []*server
	for _, p := range gs.servers.of {
		if which(p) {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b *server) int { return strings.Compare(a.id.String(), b.id.String()) })
	for _, p := range all {
		gs.carryOut(p, p.machine.Terminate(gs.context.Now(), serverprocess.Grace))
	}
}
