package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	"troupe/messages"
	"troupe/messages/coord"
	"troupe/messages/counters"
)

// DirectoryOptions configure a Directory. All fields are required.
type DirectoryOptions struct {
	Coordinator Coordinator
	Keys        coord.Keys
	Node        string // name of this node
	Peers       string // address at which other nodes reach this node
	// Incarnation returns the incarnation of this node, or 0 while the node is not registered.
	Incarnation func() int64
	Count       *counters.Set
	// Lost is called once for each game session that was taken from this node because the node was declared lost. It
	// must not block.
	Lost func(id messages.GameSessionID)
}

// Directory records which node of a cluster runs a game session (cluster.md 6). It writes the records of this node's
// game sessions, and reads the records of other nodes' game sessions. Its methods may be called from any goroutine.
type Directory struct {
	o       DirectoryOptions
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	work    sync.WaitGroup
	claims  chan struct{} // limits the number of concurrent claims
	ended   chan struct{} // contains an element if a game session has ended
	mu      sync.Mutex
	own     map[coord.Tag]*ownGame
	waiting int // number of waiting claims
	owners  *Owners
}

// ownGame is a game session of this node. The Directory forgets it once its record has been deleted.
type ownGame struct {
	record  coord.Game
	state   claimState
	changed int64     // revision of the record, if state is claimed
	over    bool      // the game session has ended, so the record must be deleted
	refused bool      // its creation was refused: a caller may ask for it again
	since   time.Time // time of the last request without an answer; the request may take effect for unsureTime
}

type claimState uint8

const (
	claiming claimState = iota
	claimed
	unsure // the coordinator may have the record, or may still write it
)

const (
	claimTime  = 2 * time.Second  // maximum time of a claim (cluster.md 6.2)
	claimsMax  = 64               // maximum number of concurrent claims
	claimsWait = 10_000           // maximum number of waiting claims; more are refused
	groupMax   = 24               // maximum number of game sessions in one transaction; each uses up to 4 of its operations
	endPause   = time.Second      // pause between two attempts to delete records
	unsureTime = 10 * time.Second // time after which a request without an answer can no longer take effect
)

// NewDirectory returns a Directory that has no game sessions.
func NewDirectory(o DirectoryOptions) *Directory {
	d := &Directory{o: o, claims: make(chan struct{}, claimsMax), ended: make(chan struct{}, 1), own: make(map[coord.Tag]*ownGame), owners: NewOwners(o.Coordinator, o.Keys, o.Count)}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	d.work.Go(d.deleteEnded)
	return d
}

// Close ends all work. It keeps the records; the next process of this node deletes them.
func (d *Directory) Close() {
	d.cancel()
	d.work.Wait()
}

// Claim implements fleet.Directory.
func (d *Directory) Claim(g *messages.GameSession, fingerprint [32]byte, done func(error)) {
	tag := coord.TagOf(g.ID)
	own := &ownGame{record: gameOf(g, fingerprint)}
	own.record.Owner = d.o.Node
	d.mu.Lock()
	refused := ""
	switch {
	case d.own[tag] != nil: // an earlier game session with this id has ended, but its record is not deleted yet
		refused = "a game session with this id is ending: try again"
	case d.waiting >= claimsWait:
		refused = "too many game sessions wait for the cluster's coordinator"
	default:
		d.waiting++
		d.own[tag] = own
	}
	d.mu.Unlock()
	if refused != "" {
		done(messages.Errorf(messages.Internal, "%s", refused))
		return
	}
	d.work.Go(func() {
		incarnation, changed, err := d.claim(tag, own)
		d.mu.Lock()
		d.waiting--
		if own.changed, own.record.Incarnation = changed, incarnation; err == nil {
			own.state = claimed
		} else {
			own.state, own.over, own.refused, own.since = unsure, true, true, time.Now()
		}
		if own.over {
			d.tellEnded()
		}
		d.mu.Unlock()
		done(err)
		if now := d.o.Incarnation(); err == nil && now != incarnation {
			d.Registered(d.ctx, now) // the node has registered again during the claim
		}
	})
}

// claim writes the record of a game session. An attempt without an answer may have succeeded.
func (d *Directory) claim(tag coord.Tag, own *ownGame) (incarnation, changed int64, err error) {
	record := own.record
	ctx, cancel := context.WithTimeout(d.ctx, claimTime)
	defer cancel()
	select {
	case d.claims <- struct{}{}:
		defer func() { <-d.claims }()
	case <-ctx.Done():
	}
	var p pause
	for ; ctx.Err() == nil; p.rest(ctx) {
		if record.Incarnation = d.o.Incarnation(); record.Incarnation == 0 {
			continue
		}
		done, at, err := d.commit(ctx, []coord.Condition{
			coord.Incarnation(d.o.Keys.Node(d.o.Node), record.Incarnation), coord.Absent(d.o.Keys.Game(tag)), coord.Absent(d.o.Keys.Gone(tag)),
		}, d.puts(tag, record))
		if err != nil {
			d.mu.Lock()
			own.since = time.Now()
			d.mu.Unlock()
			continue
		}
		if done {
			return record.Incarnation, at, nil
		}
		there, found, err := d.read(ctx, tag)
		if err == nil && !found {
			if gone, err := d.Gone(ctx, tag); err == nil && gone != nil {
				return 0, 0, messages.Errorf(messages.Conflict, "the game session has ended")
			}
		}
		switch {
		case err != nil || !found: // this node has another incarnation by now
		case there.record.Owner == d.o.Node && there.record.Incarnation == record.Incarnation && there.record.ARN == record.ARN:
			return record.Incarnation, there.changed, nil
		default:
			return 0, 0, messages.Errorf(messages.Conflict, "node %s has the game session", there.record.Owner)
		}
	}
	return 0, 0, messages.Errorf(messages.Internal, "the cluster's coordinator does not answer")
}

func (d *Directory) puts(tag coord.Tag, record coord.Game) []coord.Change {
	return []coord.Change{
		coord.Put(d.o.Keys.Game(tag), coord.Encode(record)),
		coord.Put(d.o.Keys.HostGame(record.Owner, tag), coord.Encode(coord.HostGame{Incarnation: record.Incarnation, Peers: d.o.Peers})),
	}
}

func (d *Directory) commit(ctx context.Context, when []coord.Condition, changes []coord.Change) (bool, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	return d.o.Coordinator.Commit(ctx, when, changes)
}

// read returns the current record of a game session from the coordinator.
func (d *Directory) read(ctx context.Context, tag coord.Tag) (g ownGame, found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	answer, err := d.o.Coordinator.Read(ctx, coord.Query{Key: d.o.Keys.Game(tag)})
	if err != nil || len(answer.KVs) == 0 {
		return g, false, err
	}
	g.changed = answer.KVs[0].Changed
	g.record, err = coord.Decode[coord.Game](answer.KVs[0])
	return g, err == nil, err
}

// End implements fleet.Directory.
func (d *Directory) End(id messages.GameSessionID, created bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if own := d.own[coord.TagOf(id)]; own != nil && !own.over {
		own.over, own.refused = true, !created
		d.tellEnded()
	}
}

func (d *Directory) tellEnded() {
	select {
	case d.ended <- struct{}{}:
	default:
	}
}

// deleteEnded deletes the records of ended game sessions in groups, until the Directory is closed.
func (d *Directory) deleteEnded() {
	for {
		select {
		case <-d.ended:
		case <-d.ctx.Done():
			return
		}
		for group := d.endedGroup(); len(group) > 0; group = d.endedGroup() {
			if !d.deleteGroup(group) && !Sleep(d.ctx, endPause) {
				return
			}
		}
	}
}

// endedGroup returns some game sessions that have ended and whose claims have been answered.
func (d *Directory) endedGroup() map[coord.Tag]ownGame {
	d.mu.Lock()
	defer d.mu.Unlock()
	group := make(map[coord.Tag]ownGame)
	for tag, own := range d.own {
		if own.over && own.state != claiming && len(group) < groupMax {
			group[tag] = *own
		}
	}
	return group
}

// deleteGroup deletes the records of game sessions. It reports whether the coordinator has answered for all of them.
func (d *Directory) deleteGroup(group map[coord.Tag]ownGame) bool {
	var when []coord.Condition
	var changes []coord.Change
	all := true
	for tag, own := range group {
		if own.state == unsure {
			all = d.lookUp(tag, own) && all
			continue
		}
		when = append(when, coord.Unchanged(d.o.Keys.Game(tag), own.changed))
		changes = append(changes, coord.Delete(d.o.Keys.Game(tag)), coord.Delete(d.o.Keys.HostGame(d.o.Node, tag)))
		if !own.refused {
			changes = append(changes, coord.Put(d.o.Keys.Gone(tag), coord.Encode(coord.Gone{Game: own.record, Ended: time.Now()})))
		}
	}
	if len(when) == 0 {
		return all
	}
	done, _, err := d.commit(d.ctx, when, changes)
	d.mu.Lock()
	defer d.mu.Unlock()
	for tag, own := range group {
		switch now := d.own[tag]; {
		case own.state == unsure || now == nil:
		case err == nil && done && time.Since(now.since) > unsureTime:
			delete(d.own, tag)
		case err == nil && done:
			now.state, all = unsure, false
		default: // another node has changed a record, or an attempt without an answer has deleted the records
			now.state, now.since = unsure, time.Now()
		}
	}
	return err == nil && all
}

// lookUp checks whether the coordinator still has the record of an ended game session.
func (d *Directory) lookUp(tag coord.Tag, own ownGame) (answered bool) {
	there, found, err := d.read(d.ctx, tag)
	if err != nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.own[tag]
	switch {
	case now == nil:
	case found && there.record.Owner == d.o.Node && there.record.ARN == own.record.ARN:
		now.state, now.changed = claimed, there.changed
	case time.Since(now.since) > unsureTime:
		delete(d.own, tag)
	default:
		return false // the record may still be written
	}
	return true
}

// Registered is called when this node has registered under another incarnation. It writes the records of all game
// sessions of this node again. Game sessions that were taken from the node are lost. If the coordinator was restored
// from a backup, Registered recreates missing records.
func (d *Directory) Registered(ctx context.Context, incarnation int64) {
	d.mu.Lock()
	games := make(map[coord.Tag]ownGame)
	for tag, own := range d.own {
		if !own.over && own.state == claimed && own.record.Incarnation != incarnation {
			games[tag] = *own
		}
	}
	d.mu.Unlock()
	for tag, own := range games {
		var p pause
		for tried := false; d.runs(tag, own, tried) && ctx.Err() == nil && d.o.Incarnation() == incarnation; tried = true {
			if d.renew(ctx, tag, own, incarnation) {
				break
			}
			p.rest(ctx)
		}
	}
}

// renew writes the record of a game session with another incarnation. It reports whether the coordinator has answered.
func (d *Directory) renew(ctx context.Context, tag coord.Tag, own ownGame, incarnation int64) bool {
	there, found, err := d.read(ctx, tag)
	if err != nil {
		return false
	}
	when := []coord.Condition{coord.Incarnation(d.o.Keys.Node(d.o.Node), incarnation)}
	switch {
	case found && there.record.Owner == d.o.Node && there.record.ARN == own.record.ARN:
		when = append(when, coord.Unchanged(d.o.Keys.Game(tag), there.changed))
	case found:
		d.lose(tag)
		return true
	default:
		gone, err := d.Gone(ctx, tag)
		if err != nil {
			return false
		}
		if gone != nil {
			d.lose(tag)
			return true
		}
		when = append(when, coord.Absent(d.o.Keys.Game(tag)), coord.Absent(d.o.Keys.Gone(tag)))
	}
	own.record.Incarnation = incarnation
	done, at, err := d.commit(ctx, when, d.puts(tag, own.record))
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.own[tag]
	if now != nil && err != nil {
		now.since = time.Now()
	}
	if err != nil || !done {
		return false
	}
	if now != nil {
		now.record.Incarnation, now.changed = incarnation, at
		d.o.Count.Returned.Add(1)
	} else { // the game session has ended in the meantime, and its record was deleted before this write
		own.state, own.changed, own.over = claimed, at, true
		d.own[tag] = &own
		d.tellEnded()
	}
	return true
}

// runs reports whether a game session of this node is still running. If it has ended, runs marks the record that a
// renewal may have written for deletion.
func (d *Directory) runs(tag coord.Tag, own ownGame, tried bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.own[tag]
	if now == nil && tried {
		own.state, own.over, own.since = unsure, true, time.Now()
		d.own[tag] = &own
		d.tellEnded()
	}
	return now != nil && !now.over
}

// lose forgets a game session that this node no longer runs.
func (d *Directory) lose(tag coord.Tag) {
	d.mu.Lock()
	own := d.own[tag]
	delete(d.own, tag)
	d.mu.Unlock()
	if own != nil && !own.over {
		d.o.Lost(own.record.ARN)
	}
}

// Gone returns the remaining record of a game session that has ended, or nil if there is no such record.
func (d *Directory) Gone(ctx context.Context, tag coord.Tag) (*coord.Gone, error) {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	answer, err := d.o.Coordinator.Read(ctx, coord.Query{Key: d.o.Keys.Gone(tag)})
	if err != nil || len(answer.KVs) == 0 {
		return nil, err
	}
	gone, err := coord.Decode[coord.Gone](answer.KVs[0])
	return &gone, err
}

// Owner returns the name of the node that runs a game session, or "" if no node runs it. Unless fresh is set, the answer
// may come from a cache.
func (d *Directory) Owner(ctx context.Context, tag coord.Tag, fresh bool) (string, error) {
	w, err := d.find(ctx, tag, fresh, false)
	return w.Owner, err
}

// ForLogin returns where the game session of a player is. Unless fresh is set, the answer may come from a cache. It
// returns ErrTooManyReads if logins have caused too many reads.
func (d *Directory) ForLogin(ctx context.Context, tag coord.Tag, fresh bool) (Whereabouts, error) {
	return d.find(ctx, tag, fresh, true)
}

func (d *Directory) find(ctx context.Context, tag coord.Tag, fresh, login bool) (Whereabouts, error) {
	d.mu.Lock()
	own := d.own[tag]
	here := own != nil && own.state == claimed && !own.over
	d.mu.Unlock()
	if here {
		return Whereabouts{Owner: d.o.Node}, nil
	}
	return d.owners.Find(ctx, tag, fresh, login)
}

// Clear deletes the records of an earlier process of this node. It must be called before the first Claim of this
// process.
func (d *Directory) Clear(ctx context.Context) error {
	return d.take(ctx, d.o.Node, []coord.Condition{coord.Incarnation(d.o.Keys.Node(d.o.Node), d.o.Incarnation())}, "")
}

// Reap deletes the records of the game sessions of a lost node, and records that these game sessions are TERMINATED. The
// condition leads holds as long as this node leads.
func (d *Directory) Reap(ctx context.Context, node string, leads coord.Condition) error {
	return d.take(ctx, node, []coord.Condition{leads, coord.Absent(d.o.Keys.Node(node))}, "its host was lost")
}

// ErrTaken is returned by Clear and Reap if a condition no longer holds.
var ErrTaken = errors.New("cluster: the node or the leader has changed meanwhile")

// take deletes the records of a node's game sessions, in groups.
func (d *Directory) take(ctx context.Context, node string, when []coord.Condition, text string) error {
	for {
		found, err := d.o.Coordinator.Read(ctx, coord.Query{Key: d.o.Keys.Host(node), Prefix: true, Most: groupMax, Keys: true})
		if err != nil || len(found.KVs) == 0 {
			return err
		}
		conditions := append([]coord.Condition(nil), when...)
		var changes []coord.Change
		for _, kv := range found.KVs {
			tag := coord.Tag(kv.Key[len(d.o.Keys.Host(node)):])
			there, isThere, err := d.read(ctx, tag)
			if err != nil {
				return err
			}
			changes = append(changes, coord.Delete(kv.Key))
			if !isThere || there.record.Owner != node {
				continue
			}
			conditions = append(conditions, coord.Unchanged(d.o.Keys.Game(tag), there.changed))
			gone := coord.Gone{Game: there.record, Ended: time.Now(), Text: text}
			changes = append(changes, coord.Delete(d.o.Keys.Game(tag)), coord.Put(d.o.Keys.Gone(tag), coord.Encode(gone)))
		}
		done, _, err := d.commit(ctx, conditions, changes)
		if err != nil {
			return err
		}
		if !done && d.holds(ctx, when) != nil {
			return ErrTaken
		}
		if done && text != "" {
			d.o.Count.Reaped.Add(int64(len(found.KVs)))
		}
	}
}

// holds returns an error unless all conditions hold now.
func (d *Directory) holds(ctx context.Context, when []coord.Condition) error {
	done, _, err := d.commit(ctx, when, nil)
	if err == nil && !done {
		err = ErrTaken
	}
	return err
}

// gameOf returns the directory's record of a game session.
func gameOf(g *messages.GameSession, fingerprint [32]byte) coord.Game {
	record := coord.Game{
		ARN: g.ID, Fleet: g.FleetID, Location: g.Location, Name: g.Name, Creator: g.CreatorID, Properties: g.Properties, PlayersMax: g.MaxPlayers,
		Created: g.Created, IPAddress: g.IPAddress, DNSName: g.DNSName, Port: g.Port, ScriptVersion: g.ScriptVersion, Token: g.IdempotencyToken,
	}
	if fingerprint != [32]byte{} {
		record.Fingerprint = fingerprint[:]
	}
	return record
}

// Session returns the game session that a Gone record describes.
func Session(g *coord.Gone) *messages.GameSession {
	return &messages.GameSession{
		ID: g.ARN, FleetID: g.Fleet, Location: g.Location, Name: g.Name, CreatorID: g.Creator, Properties: g.Properties, MaxPlayers: g.PlayersMax,
		Status: messages.GameSessionTerminated, IdempotencyToken: g.Token, Created: g.Created, Terminated: g.Ended, EndText: g.Text,
		ScriptVersion: g.ScriptVersion, IPAddress: g.IPAddress, DNSName: g.DNSName, Port: g.Port, Node: g.Owner,
	}
}
