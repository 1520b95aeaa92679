package cluster

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"troupe/messages/coord"
)

// State is the state of a node, as another node sees it.
type State uint8

// States of a node. A node learns Adrift and Suspect by asking the node in question. Only the leader that has declared a
// node lost knows Lost; for other nodes that node is Suspect.
const (
	Live    State = iota + 1 // registered
	Adrift                   // not registered, but answers
	Suspect                  // not registered, and does not answer
	Lost                     // declared lost: its game sessions are being reaped
)

var stateNames = [...]string{"", "live", "adrift", "suspect", "lost"}

// String returns the name of the state.
func (s State) String() string { return stateNames[s] }

// Member is a node, as another node knows it.
type Member struct {
	coord.Node
	State State
	Since time.Time // when this node learned the State
	Load  coord.Load
}

// Takes reports whether the node may be given new work.
func (m *Member) Takes() bool { return m.State == Live && !m.Draining }

// View is what a node knows about its cluster at one moment. It is immutable.
type View struct {
	Members  []Member // this node and the nodes known in the last ten minutes, by name
	Leader   string   // name of the leader; "" if none is known
	Term     int64    // term of the leader; 0 if none is known
	Self     coord.Node
	Draining bool  // this node is draining
	Leads    bool  // this node is the leader
	Revision int64 // the view contains all changes of registrations up to this revision

	vacant   bool // the key lead does not exist
	replaced chan struct{}
}

// Replaced returns a channel that is closed when there is a newer view.
func (v *View) Replaced() <-chan struct{} { return v.replaced }

// Member returns the member with a name, or nil if it is unknown.
func (v *View) Member(name string) *Member {
	i, there := slices.BinarySearchFunc(v.Members, name, func(m Member, name string) int { return strings.Compare(m.Name, name) })
	if !there {
		return nil
	}
	return &v.Members[i]
}

// rememberFor is how long a node remembers a former member.
const rememberFor = 10 * time.Minute

// roster contains what a node knows about all nodes. It is not safe for concurrent use.
type roster struct {
	reapAfter time.Duration
	members   map[string]*known
	loads     map[string]coord.Load // includes nodes whose registrations this node has not received yet
	lead      coord.Lead
	term      int64 // 0 if the key lead does not exist
	revision  int64
}

// known is a Member with further knowledge.
type known struct {
	Member
	before int64     // the previous incarnation
	heard  time.Time // when the node last gave a sign of life
	forget bool      // an operator has asked to reap the node
}

// applyNodes applies changes of registrations.
func (r *roster) applyNodes(k coord.Keys, c Changes, now time.Time) {
	r.revision = c.At
	for _, e := range c.Events {
		name := strings.TrimPrefix(e.Key, k.Nodes())
		m := r.members[name]
		if e.Deleted {
			if m != nil && m.State == Live {
				m.State, m.Since, m.heard = Suspect, now, now
			}
			continue
		}
		n, err := coord.DecodeNode(e.KV)
		if n.Name = name; err != nil {
			n = coord.Node{Name: name, Incarnation: e.Created} // the record has another version's format, so the address of the node is unknown
		}
		if m == nil {
			m = &known{}
			r.members[name] = m
		}
		if m.State != Live || m.Incarnation != n.Incarnation {
			m.before, m.State, m.Since, m.forget = m.Incarnation, Live, now, false
		}
		m.Node = n
	}
}

// applyLoads applies changes of loads.
func (r *roster) applyLoads(k coord.Keys, events []coord.Event) {
	for _, e := range events {
		name := strings.TrimPrefix(e.Key, k.Loads())
		if delete(r.loads, name); !e.Deleted {
			r.loads[name], _ = coord.Decode[coord.Load](e.KV)
		}
	}
}

// applyLead applies changes of the key lead.
func (r *roster) applyLead(k coord.Keys, events []coord.Event) {
	for _, e := range events {
		if e.Key == k.Lead() {
			r.lead, r.term = coord.Lead{}, 0
			if lead, err := coord.Decode[coord.Lead](e.KV); err == nil && !e.Deleted {
				r.lead = lead
			}
			if !e.Deleted {
				r.term = e.Created
			}
		}
	}
}

// addOrphan adds a node that has game sessions but is unknown, or that was reaped before the coordinator was restored
// from a backup.
func (r *roster) addOrphan(n coord.Node, now time.Time) {
	if m := r.members[n.Name]; m == nil || m.State == Lost {
		r.members[n.Name] = &known{Member: Member{Node: n, State: Suspect, Since: now}, heard: now}
	}
}

// beginTerm begins a term of this node. For every node, the time of silence starts again, because this node measured it alone before.
func (r *roster) beginTerm(now time.Time) {
	for _, m := range r.members {
		m.heard = now
	}
}

// note records the verdict on a node that is not registered. It reports whether the node must be reaped.
func (r *roster) note(n coord.Node, v verdict, leads bool, now time.Time) (reap bool) {
	m := r.missing(n)
	if m == nil {
		return false
	}
	state := Suspect
	if v == adrift {
		state, m.heard = Adrift, now
	}
	if m.State != state {
		m.State, m.Since = state, now
	}
	return leads && (m.forget || v == gone || v == silent && now.Sub(m.heard) >= r.reapAfter)
}

// missing returns a node if it is still neither registered nor lost. Otherwise it returns nil.
func (r *roster) missing(n coord.Node) *known {
	m := r.members[n.Name]
	if m == nil || m.Incarnation != n.Incarnation || m.State == Live || m.State == Lost {
		return nil
	}
	return m
}

// learn records a later incarnation of a node that is not registered.
func (r *roster) learn(n coord.Node, later coord.HostGame) {
	if m := r.missing(n); m != nil {
		m.before, m.Incarnation, m.Peers = m.Incarnation, later.Incarnation, cmp.Or(later.Peers, m.Peers)
	}
}

// reaped records that the game sessions of a node have been reaped.
func (r *roster) reaped(n coord.Node, now time.Time) {
	if m := r.missing(n); m != nil {
		m.State, m.Since = Lost, now
	}
}

// view returns the view of a node. It removes members that have been gone for rememberFor.
func (r *roster) view(self coord.Node, now time.Time) *View {
	for name, m := range r.members {
		if (m.State == Suspect || m.State == Lost) && now.Sub(m.Since) >= rememberFor {
			delete(r.members, name)
		}
	}
	names := slices.Sorted(maps.Keys(r.members))
	v := &View{
		Members: make([]Member, len(names)), Self: self, Term: r.term, Revision: r.revision, vacant: r.term == 0, replaced: make(chan struct{}),
	}
	for i, name := range names {
		v.Members[i] = r.members[name].Member
		if v.Members[i].State == Live {
			v.Members[i].Load = r.loads[name]
		}
	}
	if m := v.Member(r.lead.Node); m != nil && m.State == Live && m.Incarnation == r.lead.Incarnation {
		v.Leader, v.Leads = m.Name, r.lead == coord.Lead{Node: self.Name, Incarnation: self.Incarnation}
	} else {
		v.Term = 0
	}
	return v
}
