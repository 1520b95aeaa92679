package clustertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors/cluster"
	"troupe/messages/coord"
)

// Place is the environment of one check.
type Place struct {
	*testing.T
	Prefix string              // only this check uses keys with this prefix
	A, B   cluster.Coordinator // two hosts' clients of one coordinator
	TTL    time.Duration       // the shortest lease that the coordinator supports
	ctx    context.Context
}

// Check checks one requirement on a coordinator.
type Check struct {
	Name    string
	Compact bool // the check compacts the history, which affects other users of the coordinator
	f       func(p *Place)
}

// Run runs the check.
func (c Check) Run(p *Place) {
	p.ctx = p.Context()
	c.f(p)
}

// Checks returns the checks that every coordinator must pass.
func Checks() []Check {
	return []Check{
		{"an absent key is not found", false, absentKey},
		{"a record is read as it was written", false, written},
		{"a record keeps its creation, and changes", false, rewritten},
		{"a deleted record is gone, and a new one is another", false, deleted},
		{"values may be empty, and any bytes", false, anyBytes},
		{"a prefix is a prefix", false, prefix},
		{"records are read in pages", false, pages},
		{"keys are read without values", false, keysOnly},
		{"pages at one revision do not move", false, pagesAtRevision},
		{"another client reads what was committed", false, othersRead},
		{"the condition Absent", false, conditionAbsent},
		{"the condition Unchanged", false, conditionUnchanged},
		{"the condition Incarnation", false, conditionIncarnation},
		{"the condition UnchangedBelow", false, conditionBelow},
		{"one condition that does not hold stops all changes", false, allConditions},
		{"all changes have one revision", false, oneRevision},
		{"a commit without changes only asks", false, onlyAsks},
		{"a read of one record or else another", false, readElse},
		{"deleting an absent record is no error", false, deleteAbsent},
		{"a record and its index change together", false, together},
		{"of two that claim a key one has it", false, race},
		{"increments are not lost", false, increments},
		{"what is too large is refused", false, tooLarge},
		{"what is just not too large is not", false, justLarge},
		{"a watch tells the past", false, watchPast},
		{"a watch tells changes and ends in order", false, watchOrder},
		{"a watch does not divide a revision", false, watchWhole},
		{"a watch tells its prefix only", false, watchPrefix},
		{"all watches tell the same", false, watchSame},
		{"a watch ends with its context", false, watchEnds},
		{"a watch of what is compacted ends", true, watchCompacted},
		{"a read of what is compacted fails", true, readCompacted},
		{"records outlive a compaction", true, outlive},
		{"a slow reader is told everything", false, watchSlow},
		{"a replica equals the records", false, replica},
		{"a compacted replica that reads anew equals the records", true, replicaCompacted},
		{"a lease holds its keys until it is revoked", false, leaseRevoked},
		{"the keys of a lease end in one revision", false, leaseWhole},
		{"a lease that is renewed holds", false, leaseRenewed},
		{"a lease that is not renewed ends, and not early", false, leaseExpires},
		{"a lease that is over is not renewed", false, leaseOver},
		{"a commit under a lease that is over is refused", false, leaseOverCommit},
		{"a record written without its lease stays", false, leaseLeft},
		{"a record moves to another lease", false, leaseMoved},
		{"a lease may be revoked twice", false, leaseTwice},
		{"a context that is over ends every call", false, contextOver},
	}
}

func (p *Place) key(name string) string { return p.Prefix + name }

// commit makes changes. The check fails unless the conditions hold.
func (p *Place) commit(when []coord.Condition, changes ...coord.Change) int64 {
	p.Helper()
	done, at := p.try(when, changes...)
	if !done {
		p.Fatalf("conditions %v do not hold", when)
	}
	return at
}

// try makes changes. It reports whether the conditions held.
func (p *Place) try(when []coord.Condition, changes ...coord.Change) (bool, int64) {
	p.Helper()
	done, at, err := p.A.Commit(p.ctx, when, changes)
	if err != nil {
		p.Fatalf("Commit: %v", err)
	}
	return done, at
}

func (p *Place) put(name, value string) int64 {
	p.Helper()
	return p.commit(nil, coord.Put(p.key(name), []byte(value)))
}

func (p *Place) read(c cluster.Coordinator, q coord.Query) coord.Found {
	p.Helper()
	found, err := c.Read(p.ctx, q)
	if err != nil {
		p.Fatalf("Read %+v: %v", q, err)
	}
	return found
}

// get returns a record, or the zero value if it does not exist.
func (p *Place) get(name string) (kv coord.KV) {
	p.Helper()
	if found := p.read(p.A, coord.Query{Key: p.key(name)}); len(found.KVs) > 0 {
		kv = found.KVs[0]
	}
	return kv
}

func (p *Place) grant(ttl time.Duration) coord.Lease {
	p.Helper()
	l, err := p.A.Grant(p.ctx, ttl)
	if err != nil {
		p.Fatalf("Grant: %v", err)
	}
	return l
}

func (p *Place) compact(revision int64) {
	p.Helper()
	p.ok("Compact", p.A.Compact(p.ctx, revision))
}

func (p *Place) ok(what string, err error) {
	p.Helper()
	if err != nil {
		p.Fatalf("%s: %v", what, err)
	}
}

func (p *Place) want(what string, got, want any) {
	p.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		p.Fatalf("%s: %v, want %v", what, got, want)
	}
}

func (p *Place) wantErr(what string, err, want error) {
	p.Helper()
	if !errors.Is(err, want) {
		p.Fatalf("%s: %v, want %v", what, err, want)
	}
}

// follow returns a function that returns the next event of a watch as text: key=value@created/changed, or -key.
func (p *Place) follow(batches <-chan coord.Batch) func() string {
	var events []coord.Event
	last := int64(0)
	return func() string {
		p.Helper()
		for len(events) == 0 {
			b, open := <-batches
			if !open || b.Err != nil {
				p.Fatalf("the watch ended: %v", b.Err)
			}
			events = b.Events
		}
		e := events[0]
		events = events[1:]
		if e.Changed < last {
			p.Fatalf("revision %d after %d", e.Changed, last)
		}
		last = e.Changed
		if e.Deleted {
			return "-" + strings.TrimPrefix(e.Key, p.Prefix)
		}
		return strings.TrimPrefix(e.Key, p.Prefix) + "=" + string(e.Value)
	}
}

func names(p *Place, found coord.Found) (all []string) {
	for _, kv := range found.KVs {
		all = append(all, strings.TrimPrefix(kv.Key, p.Prefix))
	}
	return all
}

func absentKey(p *Place) {
	at := p.put("other", "1")
	found := p.read(p.A, coord.Query{Key: p.key("k")})
	if len(found.KVs) != 0 || found.More || found.At < at {
		p.Fatalf("found %+v at or after %d", found, at)
	}
}

func written(p *Place) {
	at := p.put("k", "v")
	p.want("the record", fmt.Sprintf("%+v", p.get("k")), fmt.Sprintf("%+v", coord.KV{Key: p.key("k"), Value: []byte("v"), Created: at, Changed: at}))
}

func rewritten(p *Place) {
	first := p.put("k", "1")
	second := p.put("k", "2")
	kv := p.get("k")
	if kv.Created != first || kv.Changed != second || second <= first || string(kv.Value) != "2" {
		p.Fatalf("%+v, created at %d, changed at %d", kv, first, second)
	}
}

func deleted(p *Place) {
	first := p.put("k", "1")
	p.commit(nil, coord.Delete(p.key("k")))
	p.want("what is left", p.get("k").Key, "")
	if again := p.put("k", "2"); again <= first || p.get("k").Created != again {
		p.Fatalf("created at %d, then at %d: %+v", first, again, p.get("k"))
	}
}

func anyBytes(p *Place) {
	p.put("empty", "")
	p.want("its key", p.get("empty").Key, p.key("empty"))
	value := make([]byte, 256)
	for i := range value {
		value[i] = byte(i)
	}
	p.commit(nil, coord.Put(p.key("bytes"), value))
	if got := p.get("bytes").Value; !bytes.Equal(got, value) {
		p.Fatalf("%x", got)
	}
}

func prefix(p *Place) {
	for _, name := range []string{"game/b", "game2/a", "game", "game/", "gam", "game/a", "game0"} {
		p.put(name, "")
	}
	p.want("below game/", names(p, p.read(p.A, coord.Query{Key: p.key("game/"), Prefix: true})), "[game/ game/a game/b]")
	p.want("below nothing", names(p, p.read(p.A, coord.Query{Key: p.key("nothing/"), Prefix: true})), "[]")
}

func pages(p *Place) {
	for i := range 7 {
		p.put(fmt.Sprintf("k%d", i), "")
	}
	q := coord.Query{Key: p.key("k"), Prefix: true, Most: 3}
	for _, want := range []string{"[k0 k1 k2] true", "[k3 k4 k5] true", "[k6] false"} {
		found := p.read(p.B, q)
		p.want("a page", fmt.Sprint(names(p, found), " ", found.More), want)
		q.After = found.KVs[len(found.KVs)-1].Key
	}
	p.want("after the last", names(p, p.read(p.A, q)), "[]")
	q.After, q.Most = "", 7
	p.want("more than all", p.read(p.A, q).More, false)
}

func keysOnly(p *Place) {
	at := p.put("k", "v")
	found := p.read(p.A, coord.Query{Key: p.Prefix, Prefix: true, Keys: true})
	if len(found.KVs) != 1 || found.KVs[0].Key != p.key("k") || len(found.KVs[0].Value) != 0 || found.KVs[0].Changed != at {
		p.Fatalf("%+v", found)
	}
}

func pagesAtRevision(p *Place) {
	for i := range 4 {
		p.put(fmt.Sprintf("k%d", i), "old")
	}
	q := coord.Query{Key: p.key("k"), Prefix: true, Most: 2}
	found := p.read(p.A, q)
	p.commit(nil, coord.Put(p.key("k2"), []byte("new")), coord.Delete(p.key("k3")), coord.Put(p.key("k4"), nil))
	q.At, q.After = found.At, p.key("k1")
	found = p.read(p.B, q)
	p.want("the second page", fmt.Sprint(names(p, found), string(found.KVs[0].Value), found.More), "[k2 k3]oldfalse")
}

func othersRead(p *Place) {
	for i := range 50 {
		value := fmt.Sprint(i)
		p.put("k", value)
		p.want("the other's record", string(p.read(p.B, coord.Query{Key: p.key("k")}).KVs[0].Value), value)
	}
}

func readElse(p *Place) {
	q := coord.Query{Key: p.key("k"), Else: p.key("else")}
	p.want("neither", len(p.read(p.A, q).KVs), 0)
	at := p.put("else", "2")
	found := p.read(p.A, q)
	p.want("the other", fmt.Sprint(len(found.KVs), string(found.KVs[0].Value), found.KVs[0].Changed), fmt.Sprint(1, "2", at))
	at = p.put("k", "1")
	found = p.read(p.B, q)
	p.want("the first", fmt.Sprint(len(found.KVs), string(found.KVs[0].Value), found.KVs[0].Created), fmt.Sprint(1, "1", at))
	if found.At < at {
		p.Fatalf("the revision is %d, want %d or higher", found.At, at)
	}
	p.commit(nil, coord.Delete(p.key("k")))
	p.want("the other again", string(p.read(p.B, q).KVs[0].Value), "2")
}

func conditionAbsent(p *Place) {
	k := p.key("k")
	done, _ := p.try([]coord.Condition{coord.Absent(k)}, coord.Put(k, []byte("1")))
	p.want("the first", done, true)
	done, _ = p.try([]coord.Condition{coord.Absent(k)}, coord.Put(k, []byte("2")))
	p.want("the second", done, false)
	p.want("the record", string(p.get("k").Value), "1")
	p.commit(nil, coord.Delete(k))
	p.commit([]coord.Condition{coord.Absent(k)}, coord.Put(k, nil))
}

func conditionUnchanged(p *Place) {
	k := p.key("k")
	first := p.put("k", "1")
	second := p.commit([]coord.Condition{coord.Unchanged(k, first)}, coord.Put(k, []byte("2")))
	done, at := p.try([]coord.Condition{coord.Unchanged(k, first)}, coord.Put(k, []byte("3")))
	if done || at < second || string(p.get("k").Value) != "2" {
		p.Fatalf("done %v at %d: %s", done, at, p.get("k").Value)
	}
	done, _ = p.try([]coord.Condition{coord.Unchanged(p.key("absent"), first)}, coord.Put(k, []byte("3")))
	p.want("an absent key", done, false)
}

func conditionIncarnation(p *Place) {
	k, side := p.key("k"), p.key("side")
	born := p.put("k", "1")
	p.put("k", "2")
	p.commit([]coord.Condition{coord.Incarnation(k, born)}, coord.Put(side, nil))
	p.commit(nil, coord.Delete(k))
	done, _ := p.try([]coord.Condition{coord.Incarnation(k, born)}, coord.Put(side, nil))
	p.want("a dead one", done, false)
	p.put("k", "3")
	done, _ = p.try([]coord.Condition{coord.Incarnation(k, born)}, coord.Put(side, nil))
	p.want("another one", done, false)
}

func conditionBelow(p *Place) {
	side := p.key("side")
	try := func(what string, at int64, want bool) {
		p.Helper()
		done, _ := p.try([]coord.Condition{coord.UnchangedBelow(p.key("n/"), at)}, coord.Put(side, nil))
		p.want(what, done, want)
	}
	before := p.put("n", "not below")
	try("no record", 0, true)
	first := p.put("n/b", "1")
	try("a new record", before, false)
	try("a known record", first, true)
	second := p.put("n/a", "1")
	p.put("n0", "beside")
	try("another record", first, false)
	try("both", second, true)
	p.put("n/b", "2")
	try("a changed record", second, false)
	p.commit(nil, coord.Delete(p.key("n/b")))
	try("a deleted record", second, true)
}

func allConditions(p *Place) {
	a := p.put("a", "1")
	done, _ := p.try([]coord.Condition{coord.Unchanged(p.key("a"), a), coord.Absent(p.key("b")), coord.Absent(p.key("a"))},
		coord.Put(p.key("b"), nil), coord.Delete(p.key("a")))
	p.want("done", done, false)
	p.want("the records", names(p, p.read(p.A, coord.Query{Key: p.Prefix, Prefix: true})), "[a]")
}

func oneRevision(p *Place) {
	at := p.commit(nil, coord.Put(p.key("a"), nil), coord.Put(p.key("b"), nil), coord.Put(p.key("c"), nil))
	for _, kv := range p.read(p.A, coord.Query{Key: p.Prefix, Prefix: true}).KVs {
		p.want(kv.Key, kv.Changed, at)
	}
}

func onlyAsks(p *Place) {
	at := p.put("k", "1")
	done, _ := p.try([]coord.Condition{coord.Unchanged(p.key("k"), at)})
	p.want("so it is", done, true)
	done, _ = p.try([]coord.Condition{coord.Absent(p.key("k"))})
	p.want("so it is not", done, false)
	p.want("the record", p.get("k").Changed, at)
}

func deleteAbsent(p *Place) {
	p.commit(nil, coord.Delete(p.key("k")), coord.Put(p.key("l"), nil))
	p.want("the records", names(p, p.read(p.A, coord.Query{Key: p.Prefix, Prefix: true})), "[l]")
}

func together(p *Place) {
	at := p.commit(nil, coord.Put(p.key("game/1"), []byte("A")), coord.Put(p.key("host/A/1"), nil))
	p.commit([]coord.Condition{coord.Unchanged(p.key("game/1"), at)},
		coord.Put(p.key("game/1"), []byte("B")), coord.Delete(p.key("host/A/1")), coord.Put(p.key("host/B/1"), nil))
	p.want("the records", names(p, p.read(p.B, coord.Query{Key: p.Prefix, Prefix: true})), "[game/1 host/B/1]")
}

func race(p *Place) {
	for i := range 30 {
		k := p.key(fmt.Sprint(i))
		var won atomic.Int32
		var all sync.WaitGroup
		for _, c := range []cluster.Coordinator{p.A, p.B, p.A, p.B} {
			all.Go(func() {
				done, _, err := c.Commit(p.ctx, []coord.Condition{coord.Absent(k)}, []coord.Change{coord.Put(k, nil)})
				if err != nil {
					p.Errorf("Commit: %v", err)
				} else if done {
					won.Add(1)
				}
			})
		}
		all.Wait()
		p.want("those that have it", won.Load(), 1)
	}
}

func increments(p *Place) {
	const each = 15
	k := p.key("n")
	p.put("n", "")
	var all sync.WaitGroup
	for _, c := range []cluster.Coordinator{p.A, p.B, p.A} {
		all.Go(func() {
			for n := 0; n < each; {
				found, err := c.Read(p.ctx, coord.Query{Key: k})
				if err != nil {
					p.Errorf("Read: %v", err)
					return
				}
				kv := found.KVs[0]
				done, _, err := c.Commit(p.ctx, []coord.Condition{coord.Unchanged(k, kv.Changed)}, []coord.Change{coord.Put(k, append(slices.Clone(kv.Value), 'x'))})
				if err != nil {
					p.Errorf("Commit: %v", err)
					return
				}
				if done {
					n++
				}
			}
		})
	}
	all.Wait()
	p.want("increments", len(p.get("n").Value), 3*each)
}

func tooLarge(p *Place) {
	big := make([]byte, coord.ValueMax)
	many := make([]coord.Change, coord.OpsMax+1)
	for i := range many {
		many[i] = coord.Put(p.key(fmt.Sprint(i)), nil)
	}
	for what, changes := range map[string][]coord.Change{
		"a value":       {coord.Put(p.key("k"), make([]byte, coord.ValueMax+1))},
		"a key":         {coord.Put(p.key(strings.Repeat("k", coord.KeyMax)), nil)},
		"no key":        {coord.Put("", nil)},
		"all values":    {coord.Put(p.key("a"), big), coord.Put(p.key("b"), big)},
		"changes":       many,
		"changed twice": {coord.Put(p.key("a"), nil), coord.Delete(p.key("a"))},
	} {
		_, _, err := p.A.Commit(p.ctx, nil, changes)
		p.wantErr(what, err, coord.ErrTooLarge)
	}
	_, _, err := p.A.Commit(p.ctx, make([]coord.Condition, coord.OpsMax), many[:1])
	p.wantErr("conditions", err, coord.ErrTooLarge)
	p.want("the records", names(p, p.read(p.A, coord.Query{Key: p.Prefix, Prefix: true})), "[]")
}

func justLarge(p *Place) {
	many := make([]coord.Change, coord.OpsMax-1)
	for i := range many {
		many[i] = coord.Put(p.key(fmt.Sprint(i)), nil)
	}
	p.commit([]coord.Condition{coord.Absent(p.key("0"))}, many...)
	big := make([]byte, coord.ValueMax)
	p.commit(nil, coord.Put(p.key("a"), big), coord.Put(p.key("b"), big[:coord.BytesMax-coord.ValueMax-len(p.key("a"))-len(p.key("b"))]))
	p.want("the value", len(p.get("a").Value), len(big))
}
