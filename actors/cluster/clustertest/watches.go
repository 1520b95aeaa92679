package clustertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"troupe/actors/cluster"
	"troupe/messages/coord"
)

func watchPast(p *Place) {
	before := p.read(p.A, coord.Query{Key: p.Prefix}).At
	p.put("k", "1")
	p.put("k", "2")
	p.commit(nil, coord.Delete(p.key("k")))
	next := p.follow(p.B.Watch(p.ctx, p.Prefix, before))
	p.want("the past", []string{next(), next(), next()}, "[k=1 k=2 -k]")
}

func watchOrder(p *Place) {
	next := p.follow(p.B.Watch(p.ctx, p.Prefix, p.put("k", "0")))
	at := p.put("k", "1")
	p.want("a change", next(), "k=1")
	p.commit(nil, coord.Delete(p.key("k")))
	p.want("an end", next(), "-k")
	p.put("k", "2")
	p.want("a new one", next(), "k=2")
	for b := range p.A.Watch(p.ctx, p.Prefix, at-1) {
		e := b.Events[0]
		if e.Changed != at || e.Created >= at || b.At < at {
			p.Fatalf("%+v up to %d: changed at %d", e, b.At, at)
		}
		break
	}
}

func watchWhole(p *Place) {
	before := p.read(p.A, coord.Query{Key: p.Prefix}).At
	const each = 90
	for i := range 20 {
		changes := make([]coord.Change, each)
		for j := range changes {
			changes[j] = coord.Put(p.key(fmt.Sprint(j)), []byte(fmt.Sprint(i)))
		}
		p.commit(nil, changes...)
	}
	total := 0
	for b := range p.B.Watch(p.ctx, p.Prefix, before) {
		if b.Err != nil || len(b.Events)%each != 0 {
			p.Fatalf("%d events, %v", len(b.Events), b.Err)
		}
		if total += len(b.Events); total == 20*each {
			return
		}
	}
}

func watchPrefix(p *Place) {
	next := p.follow(p.A.Watch(p.ctx, p.key("game/"), p.put("x", "")))
	p.put("game", "")
	p.put("game2/a", "")
	p.put("game/a", "1")
	p.put("gama", "")
	p.put("game/b", "2")
	p.want("events", []string{next(), next()}, "[game/a=1 game/b=2]")
}

func watchSame(p *Place) {
	at := p.put("k", "")
	one, two := p.follow(p.A.Watch(p.ctx, p.Prefix, at)), p.follow(p.B.Watch(p.ctx, p.Prefix, at))
	var all sync.WaitGroup
	for i, c := range []cluster.Coordinator{p.A, p.B} {
		all.Go(func() {
			for j := range 25 {
				if _, _, err := c.Commit(p.ctx, nil, []coord.Change{coord.Put(p.key("k"), fmt.Append(nil, i, j))}); err != nil {
					p.Errorf("Commit: %v", err)
				}
			}
		})
	}
	all.Wait()
	if p.Failed() {
		return
	}
	for range 50 {
		p.want("the other's event", two(), one())
	}
}

func watchEnds(p *Place) {
	ctx, cancel := context.WithCancel(p.ctx)
	batches := p.A.Watch(ctx, p.Prefix, p.put("k", ""))
	cancel()
	for b := range batches {
		if b.Err != nil {
			p.Fatalf("its last batch: %v", b.Err)
		}
	}
}

func watchCompacted(p *Place) {
	before := p.put("k", "1")
	p.put("k", "2")
	at := p.put("k", "3")
	p.compact(at)
	b := <-p.A.Watch(p.ctx, p.Prefix, before-1)
	p.wantErr("the watch", b.Err, coord.ErrCompacted)
	next := p.follow(p.A.Watch(p.ctx, p.Prefix, at))
	p.put("k", "4")
	p.want("after that revision", next(), "k=4")
}

func readCompacted(p *Place) {
	before := p.put("k", "1")
	at := p.put("k", "2")
	p.compact(at)
	_, err := p.B.Read(p.ctx, coord.Query{Key: p.key("k"), At: before})
	p.wantErr("Read", err, coord.ErrCompacted)
	p.compact(before)
	p.want("at the revision itself", string(p.read(p.B, coord.Query{Key: p.key("k"), At: at}).KVs[0].Value), "2")
}

func outlive(p *Place) {
	born := p.put("old", "1")
	p.put("gone", "1")
	p.commit(nil, coord.Delete(p.key("gone")))
	p.compact(p.put("k", "2"))
	p.want("the records", names(p, p.read(p.A, coord.Query{Key: p.Prefix, Prefix: true})), "[k old]")
	p.commit([]coord.Condition{coord.Incarnation(p.key("old"), born), coord.Absent(p.key("gone"))}, coord.Put(p.key("gone"), nil))
}

func watchSlow(p *Place) {
	batches := p.A.Watch(p.ctx, p.Prefix, p.put("k", ""))
	for i := range 300 {
		p.put("k", fmt.Sprint(i))
	}
	next := p.follow(batches)
	for i := range 300 {
		p.want("an event", next(), fmt.Sprint("k=", i))
	}
}

// watched is the state of the records, as the reader of a watch knows it.
type watched struct {
	kvs map[string]coord.KV
	at  int64
}

// list reads all records of a check, page by page.
func (p *Place) list(c cluster.Coordinator) watched {
	w := watched{kvs: map[string]coord.KV{}}
	q := coord.Query{Key: p.Prefix, Prefix: true, Most: 4}
	for {
		found := p.read(c, q)
		for _, kv := range found.KVs {
			w.kvs[kv.Key] = kv
		}
		if w.at, q.At = found.At, found.At; !found.More {
			return w
		}
		q.After = found.KVs[len(found.KVs)-1].Key
	}
}

func (w *watched) apply(b coord.Batch) {
	for _, e := range b.Events {
		if e.Deleted {
			delete(w.kvs, e.Key)
		} else {
			w.kvs[e.Key] = e.KV
		}
	}
	w.at = max(w.at, b.At)
}

// change makes random changes of a few keys.
func (p *Place) change(random *rand.Rand, times int) (at int64) {
	for range times {
		var changes []coord.Change
		for i := range 9 {
			switch k := p.key(fmt.Sprint(i)); random.IntN(9) {
			case 0, 1:
				changes = append(changes, coord.Put(k, fmt.Append(nil, random.Uint32())))
			case 2:
				changes = append(changes, coord.Delete(k))
			}
		}
		at = p.commit(nil, append(changes, coord.Put(p.key("last"), nil))...)
	}
	return at
}

func (p *Place) same(w watched) {
	p.Helper()
	if want := p.list(p.A); fmt.Sprint(w.kvs) != fmt.Sprint(want.kvs) {
		p.Fatalf("the replica has\n%v\nthe store\n%v", w.kvs, want.kvs)
	}
}

func replica(p *Place) {
	random := rand.New(rand.NewPCG(1, 2))
	p.change(random, 5)
	w := p.list(p.B)
	batches := p.B.Watch(p.ctx, p.Prefix, w.at)
	for range 10 {
		for at := p.change(random, 5); w.at < at; {
			w.apply(<-batches)
		}
		p.same(w)
	}
}

func replicaCompacted(p *Place) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 5 {
		p.change(random, 5)
		w := p.list(p.B)
		at := p.change(random, 5)
		p.compact(at)
		b := <-p.A.Watch(p.ctx, p.Prefix, w.at) // the member to which the other client is connected may not have compacted yet
		p.wantErr("the watch", b.Err, coord.ErrCompacted)
		w = p.list(p.B)
		batches := p.B.Watch(p.ctx, p.Prefix, w.at)
		for at = p.change(random, 5); w.at < at; {
			w.apply(<-batches)
		}
		p.same(w)
	}
}

func leaseRevoked(p *Place) {
	l := p.grant(time.Minute)
	at := p.commit(nil, coord.Change{Key: p.key("k"), Lease: l})
	p.want("the lease of the record", p.get("k").Lease, l)
	next := p.follow(p.B.Watch(p.ctx, p.Prefix, at))
	p.ok("Revoke", p.B.Revoke(p.ctx, l))
	p.want("the event", next(), "-k")
	p.want("the record", p.get("k").Key, "")
}

func leaseWhole(p *Place) {
	l := p.grant(time.Minute)
	at := p.commit(nil, coord.Change{Key: p.key("a"), Lease: l}, coord.Change{Key: p.key("b"), Lease: l}, coord.Put(p.key("c"), nil))
	batches := p.B.Watch(p.ctx, p.Prefix, at)
	p.ok("Revoke", p.A.Revoke(p.ctx, l))
	b := <-batches
	if len(b.Events) != 2 || b.Events[0].Changed != b.Events[1].Changed || !b.Events[0].Deleted || !b.Events[1].Deleted {
		p.Fatalf("%+v", b)
	}
}

// leaseRenewed renews a lease for longer than the lease's time. If the machine is busy and a renewal comes late, the
// result proves nothing; the check then tries another lease.
func leaseRenewed(p *Place) {
	for {
		asked := time.Now()
		l, late := p.grant(p.TTL), false
		p.commit(nil, coord.Change{Key: p.key("k"), Lease: l})
		for begin := time.Now(); time.Since(begin) < p.TTL*3/2 && !late; {
			time.Sleep(p.TTL / 8)
			next := time.Now()
			err := p.A.Renew(p.ctx, l)
			if late = time.Since(asked) >= p.TTL; !late {
				p.ok("Renew", err)
			}
			asked = next
		}
		kv := p.get("k")
		if late = late || time.Since(asked) >= p.TTL; !late {
			p.want("the record", kv.Key, p.key("k"))
			p.ok("Revoke", p.A.Revoke(p.ctx, l))
			return
		}
	}
}

func leaseExpires(p *Place) {
	begin := time.Now()
	l := p.grant(p.TTL)
	next := p.follow(p.B.Watch(p.ctx, p.Prefix, p.commit(nil, coord.Change{Key: p.key("k"), Lease: l})))
	p.want("the event", next(), "-k")
	if lasted := time.Since(begin); lasted < p.TTL {
		p.Fatalf("a lease of %v lasted %v", p.TTL, lasted)
	}
}

func leaseOver(p *Place) {
	l := p.grant(time.Minute)
	p.ok("Revoke", p.A.Revoke(p.ctx, l))
	p.wantErr("Renew", p.A.Renew(p.ctx, l), coord.ErrGone)
	p.wantErr("Renew of one that never was", p.A.Renew(p.ctx, 1<<40+7), coord.ErrGone)
}

func leaseOverCommit(p *Place) {
	l := p.grant(time.Minute)
	p.ok("Revoke", p.A.Revoke(p.ctx, l))
	_, _, err := p.A.Commit(p.ctx, nil, []coord.Change{coord.Put(p.key("a"), nil), {Key: p.key("b"), Lease: l}})
	p.wantErr("Commit", err, coord.ErrGone)
	p.want("the records", names(p, p.read(p.A, coord.Query{Key: p.Prefix, Prefix: true})), "[]")
}

func leaseLeft(p *Place) {
	l := p.grant(time.Minute)
	p.commit(nil, coord.Change{Key: p.key("k"), Lease: l})
	p.put("k", "mine")
	p.ok("Revoke", p.A.Revoke(p.ctx, l))
	p.want("the record", string(p.get("k").Value), "mine")
	p.want("its lease", p.get("k").Lease, 0)
}

func leaseMoved(p *Place) {
	one, two := p.grant(time.Minute), p.grant(time.Minute)
	p.commit(nil, coord.Change{Key: p.key("k"), Lease: one})
	p.commit(nil, coord.Change{Key: p.key("k"), Lease: two})
	p.ok("Revoke", p.A.Revoke(p.ctx, one))
	p.want("its lease", p.get("k").Lease, two)
	p.ok("Revoke", p.A.Revoke(p.ctx, two))
	p.want("the record", p.get("k").Key, "")
}

func leaseTwice(p *Place) {
	l := p.grant(time.Minute)
	p.ok("Revoke", p.A.Revoke(p.ctx, l))
	p.ok("Revoke", p.B.Revoke(p.ctx, l))
}

func contextOver(p *Place) {
	l := p.grant(time.Minute)
	ctx, cancel := context.WithCancel(p.ctx)
	cancel()
	_, err := p.A.Read(ctx, coord.Query{Key: p.Prefix})
	_, _, committed := p.A.Commit(ctx, nil, []coord.Change{coord.Put(p.key("k"), nil)})
	_, granted := p.A.Grant(ctx, time.Minute)
	errs := []error{err, committed, granted, p.A.Renew(ctx, l), p.A.Revoke(ctx, l)}
	if slices.Contains(errs, nil) {
		p.Fatalf("%v", errs)
	}
	p.wantErr("Commit", committed, coord.ErrUnknown)
}
