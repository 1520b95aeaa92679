package cluster

import (
	"slices"
	"time"

	"troupe/messages/coord"
)

// gamesMax is how many game sessions one transaction changes at most. The limits of package coord allow fewer for most changes.
const gamesMax = 50

// Transaction is what one Commit gets. Games are the tags of the game sessions that it is about.
type Transaction struct {
	When    []coord.Condition
	Changes []coord.Change
	Games   []coord.Tag
}

// Owner is a registered node that writes the directory records of its game sessions. Each of its transactions is refused if the node is not
// registered as this incarnation any more.
type Owner struct {
	Keys        coord.Keys
	Name        string
	Peers       string // its address, for a leader that does not know the node
	Incarnation int64
}

// here holds as long as the owner is registered.
func (o Owner) here() []coord.Condition {
	return []coord.Condition{coord.Incarnation(o.Keys.Node(o.Name), o.Incarnation)}
}

// Claim makes the owner that of a new game session. It is refused if another node has it, or if it has ended. After coord.ErrUnknown, and if
// it is refused, Has says whether an attempt has succeeded.
func (o Owner) Claim(g coord.Game) Transaction {
	tag := coord.TagOf(g.ARN)
	when := append(o.here(), coord.Absent(o.Keys.Game(tag)), coord.Absent(o.Keys.Gone(tag)))
	return Transaction{When: when, Changes: o.write(tag, g), Games: []coord.Tag{tag}}
}

// Has reports whether the record of a game session says that this owner runs it.
func (o Owner) Has(game coord.KV) bool {
	g, err := coord.Decode[coord.Game](game)
	return err == nil && g.Owner == o.Name && g.Incarnation == o.Incarnation
}

// write writes the record of a game session, and its index.
func (o Owner) write(tag coord.Tag, g coord.Game) []coord.Change {
	g.Owner, g.Incarnation = o.Name, o.Incarnation
	return []coord.Change{coord.Put(o.Keys.Game(tag), coord.Encode(g)), o.index(tag)}
}

func (o Owner) index(tag coord.Tag) coord.Change {
	return coord.Put(o.Keys.HostGame(o.Name, tag), coord.Encode(coord.HostGame{Incarnation: o.Incarnation, Peers: o.Peers}))
}

// Kept is a game session that an earlier incarnation of the owner has left in the directory.
type Kept struct {
	Tag   coord.Tag
	Entry int64       // the revision of its entry in the index
	Game  *coord.Game // nil: it died with the process
}

// Return takes over what an earlier incarnation has left: records of game sessions that run are written again, of others the entry alone. A
// transaction is refused if one of the entries was reaped meanwhile.
func (o Owner) Return(kept []Kept) []Transaction {
	parts := make([]Transaction, len(kept))
	for i, k := range kept {
		changes := []coord.Change{o.index(k.Tag)}
		if k.Game != nil {
			changes = o.write(k.Tag, *k.Game)
		}
		parts[i] = Transaction{[]coord.Condition{coord.Unchanged(o.Keys.HostGame(o.Name, k.Tag), k.Entry)}, changes, []coord.Tag{k.Tag}}
	}
	return pack(o.here(), parts)
}

// Ended is a game session that its owner has ended.
type Ended struct {
	Game   coord.Game
	Record int64 // the revision of its record, which must be the owner's; 0: there is none, only an entry
	At     time.Time
}

// End deletes what the directory has of game sessions, and keeps the tokens of those that have one. A transaction is refused if one of the
// records was changed meanwhile.
func (o Owner) End(ended []Ended) []Transaction {
	parts := make([]Transaction, len(ended))
	for i, e := range ended {
		tag := coord.TagOf(e.Game.ARN)
		parts[i] = remove(o.Keys, o.Name, tag, e.Record)
		if e.Game.Token != "" {
			parts[i].Changes = append(parts[i].Changes, coord.Put(o.Keys.Gone(tag), coord.Encode(coord.Gone{Game: e.Game, Ended: e.At})))
		}
	}
	return pack(o.here(), parts)
}

// remove deletes the record of a game session as it was at a revision, and its entry in the index of a node.
func remove(k coord.Keys, node string, tag coord.Tag, record int64) Transaction {
	return Transaction{
		[]coord.Condition{coord.Unchanged(k.Game(tag), record)},
		[]coord.Change{coord.Delete(k.Game(tag)), coord.Delete(k.HostGame(node, tag))},
		[]coord.Tag{tag},
	}
}

// Reaped is a game session of a lost node.
type Reaped struct {
	Tag    coord.Tag
	Record *coord.KV      // nil: the index alone has it
	Also   []coord.Change // in the same transaction, such as its event
}

// Reap ends what the directory has of a lost node, in a term of the leader. A transaction is refused if the term is over, if the node is
// registered, or if one of the records was changed meanwhile. A record of another owner stays.
func Reap(k coord.Keys, term int64, lost, text string, now time.Time, games []Reaped) []Transaction {
	when := []coord.Condition{coord.Incarnation(k.Lead(), term), coord.Absent(k.Node(lost))}
	parts := make([]Transaction, len(games))
	for i, r := range games {
		parts[i] = remove(k, lost, r.Tag, 0)
		if r.Record == nil {
			continue
		}
		parts[i].When[0].Revision = r.Record.Changed
		g, err := coord.Decode[coord.Game](*r.Record)
		if err == nil && g.Owner != lost {
			parts[i].Changes = parts[i].Changes[1:]
			continue
		}
		gone := coord.Encode(coord.Gone{Game: g, Ended: now, Text: text})
		parts[i].Changes = append(append(parts[i].Changes, coord.Put(k.Gone(r.Tag), gone)), r.Also...)
	}
	return pack(when, parts)
}

// pack joins transactions that each fit the limits alone, in their order, and gives each the same first conditions.
func pack(first []coord.Condition, parts []Transaction) (all []Transaction) {
	size := 0
	for _, p := range parts {
		more := 0
		for _, c := range p.Changes {
			more += len(c.Key) + len(c.Value)
		}
		last := len(all) - 1
		if last < 0 || len(all[last].Games) == gamesMax || size+more > coord.BytesMax ||
			len(all[last].When)+len(all[last].Changes)+len(p.When)+len(p.Changes) > coord.OpsMax {
			all = append(all, Transaction{When: slices.Clone(first)})
			size, last = 0, last+1
		}
		t := &all[last]
		t.When, t.Changes, t.Games = append(t.When, p.When...), append(t.Changes, p.Changes...), append(t.Games, p.Games...)
		size += more
	}
	return all
}
