package group

import (
	"slices"
	"sync/atomic"

	"troupe/actors/player"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/wire"
)

// Snapshot is an immutable list of a group's members, in the order in which they joined.
type Snapshot []*player.Handle

// Has reports whether p is a member.
func (s Snapshot) Has(p *player.Handle) bool { return slices.Contains(s, p) }

// Peers returns the members' peer ids in the type that package wire uses.
func (s Snapshot) Peers() []int32 {
	ids := make([]int32, len(s))
	for i, m := range s {
		ids[i] = int32(m.Peer)
	}
	return ids
}

// Handle gives the game session access to a group's actor and members.
type Handle struct {
	ID      messages.GroupID
	Ref     *stage.Ref
	members atomic.Pointer[Snapshot]
}

// Members returns the current members. Any goroutine may call it.
func (h *Handle) Members() Snapshot {
	if s := h.members.Load(); s != nil {
		return *s
	}
	return nil
}

// Messages to a group.
type (
	// Join adds a player. The group answers with Changed.
	Join struct{ Player *player.Handle }
	// Leave removes a player. The group answers with Changed. Gone says that the player has left the game and gets no
	// update.
	Leave struct {
		Player *player.Handle
		Gone   bool
	}
)

// Changed tells the game session that a Join or Leave has been handled.
type Changed struct {
	Group  *Handle
	Player *player.Handle
	Joined bool
	Gone   bool
}

// Actor owns the membership of one group.
type Actor struct {
	handle  *Handle
	session *stage.Ref
	members Snapshot // published, so never modified in place
}

// New returns the actor of h. members may be nil. After a crash it holds the predecessor's members.
func New(h *Handle, session *stage.Ref, members Snapshot) *Actor {
	a := &Actor{handle: h, session: session}
	a.publish(members)
	return a
}

// Started implements stage.Actor.
func (a *Actor) Started(*stage.Context) {}

// Stopped implements stage.Actor. The last snapshot remains readable.
func (a *Actor) Stopped(*stage.Context) {}

// Receive implements stage.Actor.
func (a *Actor) Receive(c *stage.Context, msg any) {
	switch m := msg.(type) {
	case Join:
		a.onJoin(c, m)
	case Leave:
		a.onLeave(c, m)
	default:
		c.Unknown(msg)
	}
}

// onJoin adds a player and sends an update to all members. If the player is already a member, only that player gets an
// update.
func (a *Actor) onJoin(c *stage.Context, m Join) {
	if a.members.Has(m.Player) {
		a.tell(c, m.Player)
	} else {
		a.publish(slices.Concat(a.members, Snapshot{m.Player}))
		a.tellAll(c)
	}
	a.session.Tell(Changed{Group: a.handle, Player: m.Player, Joined: true})
}

// onLeave removes a player and sends an update to the remaining members. If the player is not a member, only that
// player gets an update, unless it has left the game.
func (a *Actor) onLeave(c *stage.Context, m Leave) {
	if a.members.Has(m.Player) {
		a.publish(slices.DeleteFunc(slices.Clone(a.members), func(p *player.Handle) bool { return p == m.Player }))
		a.tellAll(c)
	} else if !m.Gone {
		a.tell(c, m.Player)
	}
	a.session.Tell(Changed{Group: a.handle, Player: m.Player, Gone: m.Gone})
}

func (a *Actor) publish(members Snapshot) {
	a.members = members
	a.handle.members.Store(&members)
}

func (a *Actor) tellAll(c *stage.Context) {
	peers := a.members.Peers()
	for _, p := range a.members {
		p.Give(c, Update(p, messages.ServerPeer, a.handle.ID, peers))
	}
}

func (a *Actor) tell(c *stage.Context, p *player.Handle) {
	p.Give(c, Update(p, messages.ServerPeer, a.handle.ID, a.members.Peers()))
}

// Update builds the GROUP_MEMBERSHIP_UPDATE of a group for one recipient.
func Update(to *player.Handle, sender messages.PeerID, group messages.GroupID, peers []int32) *wire.Frame {
	return wire.NewMembershipUpdate(int32(to.Peer), int32(sender), int32(group), peers)
}
